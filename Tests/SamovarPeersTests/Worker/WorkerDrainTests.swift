import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// How a worker leaves: the columns draining, leaving and stopped of the table of `WorkerMachine`.
@Suite struct WorkerDrainTests {
    private typealias Worker = WorkerMachineTests

    /// A machine that runs job 1, and holds task 2 beside it.
    private func busy() -> WorkerMachine {
        var machine = Worker.welcomed()
        _ = machine.received(Worker.tasks([1, 2], number: 2), now: at(0))
        return machine
    }

    private let waits = WorkerMachine.Action.note("this worker leaves; it waits for the handler told to stop, and ends")

    private func acknowledge(_ numbers: Int...) -> Envelope {
        Envelope(.acknowledge(numbers.map(Worker.lease)), timeline: home)
    }

    @Test func `Without jobs it leaves at once`() {
        var machine = Worker.welcomed()
        let actions = machine.drain(now: at(0))
        let deadline = machine.deadline
        #expect(actions == [Worker.send(.drain), Worker.send(.goodbye), .stop])
        #expect(deadline == nil)
    }

    @Test func `Before it is connected it just stops`() {
        var machine = Worker.machine()
        let actions = machine.drain(now: at(0))
        #expect(actions == [.stop])
    }

    @Test func `Waiting tasks are given back at once`() {
        var machine = busy()
        let drained = machine.drain(now: at(0))
        let flushed = machine.flush(now: at(0))
        let state = machine.state
        #expect(drained == [Worker.send(.drain)])
        #expect(flushed == [Worker.results([Worker.result(2, .returned)], credit: 2)])
        #expect(state == .draining(until: at(5)))
    }

    @Test func `Running jobs may finish`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.flush(now: at(0))
        let finished = machine.finished(Worker.lease(1), .done([]), now: at(3))
        let flushed = machine.flush(now: at(3))
        let first = machine.received(acknowledge(2), now: at(3))
        let last = machine.received(acknowledge(1), now: at(3))
        #expect(finished == [])
        #expect(flushed == [Worker.results([Worker.result(1, .done([]))], credit: 2)])
        #expect(first == [])
        #expect(last == [Worker.send(.goodbye), .stop])
    }

    @Test(arguments: [false, true])
    func `It stays until its last answer is acknowledged, also if that could not be sent yet`(isLost: Bool) {
        var machine = Worker.welcomed()
        _ = machine.received(Worker.tasks([1], number: 1), now: at(0))
        _ = machine.drain(now: at(0))
        if isLost { _ = machine.disconnected(now: at(0)) }
        let finished = machine.finished(Worker.lease(1), .done([]), now: at(0))
        if isLost {
            _ = machine.ticked(now: at(0))
            _ = machine.received(Worker.welcome(), now: at(0))
        }
        let flushed = machine.flush(now: at(0))
        let last = machine.received(acknowledge(1), now: at(0))
        #expect(finished == [])
        #expect(flushed == [Worker.results([Worker.result(1, .done([]))], credit: isLost ? 0 : 2)])
        #expect(last == [Worker.send(.goodbye), .stop])
    }

    @Test func `Tasks that were under way are given back`() {
        var machine = Worker.welcomed()
        _ = machine.received(Worker.tasks([1], number: 1), now: at(0))
        _ = machine.drain(now: at(0))
        let received = machine.received(Worker.tasks([2], number: 2), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(received == [])
        #expect(flushed == [Worker.results([Worker.result(2, .returned)], credit: 2)])
    }

    @Test func `At the deadline running jobs are given back`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.received(acknowledge(2), now: at(0))
        let due = machine.ticked(now: at(5))
        let state = machine.state
        let flushed = machine.flush(now: at(5))
        let acknowledged = machine.received(acknowledge(1), now: at(5))
        let ended = machine.finished(Worker.lease(1), .done([]), now: at(5))
        #expect(due == [.cancel(Worker.lease(1)), Worker.send(.ping(2))])
        #expect(state == .leaving(until: at(6)))
        #expect(flushed == [Worker.results([Worker.result(1, .returned)], credit: 2)])
        #expect(acknowledged == [])
        #expect(ended == [Worker.send(.goodbye), .stop])
    }

    @Test func `Until the time of its drain is over jobs go on, and until that of its farewell is over it stays`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.flush(now: at(0))
        let draining = machine.ticked(now: at(4.9))
        var state = machine.state
        #expect(!draining.contains(.cancel(Worker.lease(1))) && state == .draining(until: at(5)))
        _ = machine.ticked(now: at(5))
        let leaving = machine.ticked(now: at(5.9))
        state = machine.state
        #expect(!leaving.contains(.stop) && state == .leaving(until: at(6)))
    }

    @Test func `While it drains it tells of a handler that goes on, and not of tasks, of which it takes none anyway`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.received(Worker.cancel(1, number: 1), now: at(0))
        let told = machine.ticked(now: at(3)).filter { if case .note = $0 { true } else { false } }
        #expect(told == [.note("the handler of effect 1/0 goes on 3 s after it was told to stop, and keeps its slot")])
    }

    @Test func `No handler and no store can keep it for ever`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.flush(now: at(0))
        _ = machine.ticked(now: at(5))
        _ = machine.flush(now: at(5))
        let last = machine.ticked(now: at(6))
        let after = machine.finished(Worker.lease(1), .done([]), now: at(7))
        #expect(last == [Worker.send(.goodbye), waits, .stop])
        #expect(after == [])
    }

    @Test func `A worker that leaves says for how many handlers it waits, and nothing if all have ended`() {
        let ends: [(ended: [Int], waits: String?)] = [([], "2 handlers"), ([1], "the handler"), ([1, 2], nil)]
        for (ended, waits) in ends {
            var machine = Worker.welcomed(slots: 2)
            _ = machine.received(Worker.tasks([1, 2], number: 2), now: at(0))
            _ = machine.drain(now: at(0))
            _ = machine.ticked(now: at(5))
            _ = machine.flush(now: at(5))
            for number in ended { _ = machine.finished(Worker.lease(number), .done([]), now: at(5)) }
            var expected = [Worker.send(.goodbye)]
            if let waits { expected.append(.note("this worker leaves; it waits for \(waits) told to stop, and ends")) }
            #expect(machine.ticked(now: at(6)) == expected + [.stop])
        }
    }

    @Test func `What was not flushed goes before the goodbye`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.ticked(now: at(5))
        let last = machine.ticked(now: at(6))
        #expect(
            last == [
                Worker.results([Worker.result(2, .returned), Worker.result(1, .returned)], credit: 2), Worker.send(.goodbye),
                waits, .stop,
            ])
    }

    @Test func `A second drain changes nothing`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        let again = machine.drain(now: at(2))
        let state = machine.state
        #expect(again == [])
        #expect(state == .draining(until: at(5)))
    }

    @Test func `After a lost connection it says what it still holds`() {
        var machine = busy()
        _ = machine.drain(now: at(0))
        _ = machine.flush(now: at(0))
        let hello = Worker.reconnected(&machine)
        _ = machine.received(Worker.welcome(), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(hello == [.connect, Worker.hello([1, 2], witness: 9, epoch: 2)])
        // No credit: it takes nothing new.
        #expect(flushed == [Worker.results([Worker.result(2, .returned)], credit: 0)])
    }
}
