import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Leases begin anew with each timeline, while handlers of the one that was left may still run.
@Suite struct WorkerTimelineTests {
    private typealias Worker = WorkerMachineTests

    /// Came to another timeline with the jobs 1 and 2 in two of three slots; neither has ended yet.
    private static func abroadWithOldJobs() -> WorkerMachine {
        var machine = Worker.welcomed(slots: 3, readAhead: 2)
        _ = machine.received(Worker.tasks([1, 2], number: 2), now: at(0))
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        _ = machine.received(Worker.welcome(of: abroad), now: at(1))
        _ = machine.flush(now: at(1))
        return machine
    }

    private static func tasks(_ numbers: [Int], number: Int) -> Envelope {
        Envelope(.task(numbers.map { Worker.task($0) }, number: number), timeline: abroad)
    }

    @Test func `A task waits for the older job of its lease to end, and others pass it`() {
        var machine = Self.abroadWithOldJobs()
        let came = machine.received(Self.tasks([1, 3], number: 2), now: at(1))
        let ended = machine.finished(Worker.lease(1), .done([]), now: at(2))
        #expect(came == [.start(Worker.task(3), in: abroad)])
        #expect(ended == [.start(Worker.task(1), in: abroad)])
    }

    @Test func `A start names the timeline of its task, whatever the machine has heard of meanwhile`() {
        var machine = Worker.welcomed()
        let came = machine.received(Worker.tasks([1], number: 1), now: at(0))
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(1))
        let heard = machine.received(Worker.welcome(of: abroad), now: at(1))
        #expect(came == [.start(Worker.task(1), in: home)])
        #expect(heard.last == .cancel(Worker.lease(1)))
        #expect(machine.timeline == abroad)
    }

    @Test func `A task that waits for an older job is held, and answered once`() {
        var machine = Self.abroadWithOldJobs()
        _ = machine.received(Self.tasks([1], number: 1), now: at(1))
        _ = machine.disconnected(now: at(2))
        let greeting = machine.ticked(now: at(2))
        _ = machine.received(Worker.welcome(of: abroad), now: at(2))
        _ = machine.flush(now: at(2))
        let again = machine.received(Self.tasks([1], number: 1), now: at(2))
        _ = machine.finished(Worker.lease(1), .done([]), now: at(3))
        _ = machine.finished(Worker.lease(1), .done([]), now: at(4))
        let flushed = machine.flush(now: at(4))
        #expect(greeting == [.connect, Worker.hello([1], witness: 9, epoch: 3, of: abroad, slots: 3)])
        #expect(again == [])
        #expect(flushed == [.send(Envelope(.result([Worker.result(1, .done([]))], credit: 5), timeline: abroad))])
    }

    @Test func `A cancelled task is not started when the older job of its lease ends`() {
        var machine = Self.abroadWithOldJobs()
        _ = machine.received(Self.tasks([1], number: 1), now: at(1))
        let cancelled = machine.received(Envelope(.cancel([Worker.lease(1)], number: 1), timeline: abroad), now: at(1))
        let ended = machine.finished(Worker.lease(1), .done([]), now: at(2))
        #expect(cancelled == [])
        #expect(ended == [])
    }
}
