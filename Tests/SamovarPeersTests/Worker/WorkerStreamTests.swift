import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// What a worker does with what its jobs say before their end.
@Suite struct WorkerStreamTests {
    typealias Base = WorkerMachineTests

    /// A machine that runs job 1.
    static func running(slots: Int = 1, _ tasks: [Int] = [1]) -> WorkerMachine {
        var machine = Base.welcomed(slots: slots)
        _ = machine.received(Base.tasks(tasks, number: tasks.count), now: at(0))
        _ = machine.flush(now: at(0))
        return machine
    }

    static func streamed(_ number: Int, _ index: Int, checkpoint: [UInt8]? = nil) -> JobResult {
        Base.result(number, .streamed(index: index, message: [UInt8(index)], checkpoint: checkpoint))
    }

    static func mark(_ number: Int, _ index: Int) -> StreamMark { StreamMark(lease: Base.lease(number), index: index) }

    @Test func `A streamed message is sent at once and kept until it is acknowledged`() {
        var machine = Self.running()
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        let sent = machine.flush(now: at(0))
        #expect(sent == [Base.results([Self.streamed(1, 1)], credit: 2)])
        machine.streamed(Base.lease(1), index: 2, message: [2], checkpoint: [9])
        _ = machine.flush(now: at(0))
        let acknowledged = machine.received(Envelope(.streamed([Self.mark(1, 1)]), timeline: home), now: at(1))
        #expect(acknowledged == [.acknowledged(Self.mark(1, 1))])
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(2))
        _ = machine.received(Base.welcome(), now: at(2))
        let again = machine.flush(now: at(2))
        #expect(again.first == Base.results([Self.streamed(1, 2, checkpoint: [9])], credit: 1))
    }

    @Test func `After a reconnect messages come again in order and before their job's answer`() {
        var machine = Self.running(slots: 2, [1, 2])
        machine.streamed(Base.lease(2), index: 1, message: [1], checkpoint: nil)
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        machine.streamed(Base.lease(1), index: 2, message: [2], checkpoint: nil)
        _ = machine.finished(Base.lease(1), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(2))
        _ = machine.received(Base.welcome(), now: at(2))
        let again = machine.flush(now: at(2))
        let results = [Self.streamed(1, 1), Self.streamed(1, 2), Base.result(1, .done([])), Self.streamed(2, 1)]
        guard case .send(let envelope)? = again.first, case .result(let sent, _) = envelope.frame else {
            Issue.record("\(again)")
            return
        }
        #expect(Array(sent) == results)
    }

    @Test func `A message that nobody acknowledged is sent again after the silence, whatever comes of answers before it`() {
        var machine = Self.running(slots: 3, [1, 2, 3])
        _ = machine.finished(Base.lease(2), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        _ = machine.finished(Base.lease(3), .done([]), now: at(5))
        _ = machine.flush(now: at(5))
        _ = machine.received(Envelope(.acknowledge([Base.lease(2)]), timeline: home), now: at(5))
        // It comes just before the next look at what waits.
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = machine.ticked(now: at(6))
        let sent = machine.flush(now: at(6))
        _ = machine.received(Envelope(.acknowledge([Base.lease(3)]), timeline: home), now: at(7))
        _ = machine.ticked(now: at(12))
        let again = machine.flush(now: at(12))
        #expect(sent == [Base.results([Self.streamed(1, 1)], credit: 6)])
        #expect(again == sent)
    }

    @Test func `HELLO claims a job that has streamed once`() {
        var machine = Self.running()
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = machine.disconnected(now: at(1))
        let hello = machine.ticked(now: at(2))
        #expect(hello == [.connect, Base.hello([1], witness: 9, epoch: 2)])
    }

    @Test func `The answer's acknowledgement covers what was streamed before it`() {
        var machine = Self.running()
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = machine.finished(Base.lease(1), .done([]), now: at(0))
        _ = machine.flush(now: at(0))
        _ = machine.received(Envelope(.acknowledge([Base.lease(1)]), timeline: home), now: at(1))
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(2))
        _ = machine.received(Base.welcome(), now: at(2))
        let again = machine.flush(now: at(2))
        #expect(!again.contains { if case .send(let envelope) = $0 { envelope.frame.kind == .result } else { false } })
    }

    @Test func `A cancelled job streams nothing more`() {
        var machine = Self.running()
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = machine.received(Envelope(.cancel([Base.lease(1)], number: 1), timeline: home), now: at(0))
        machine.streamed(Base.lease(1), index: 2, message: [2], checkpoint: nil)
        let sent = machine.flush(now: at(0))
        #expect(sent == [])
    }

    @Test func `A drain gives back at once what can go on from a checkpoint, and lets the rest finish`() {
        var machine = Self.running(slots: 2, [1, 2])
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: [7])
        machine.streamed(Base.lease(2), index: 1, message: [1], checkpoint: nil)
        _ = machine.flush(now: at(0))
        let drained = machine.drain(now: at(1))
        #expect(drained == [Base.send(.drain), .cancel(Base.lease(1))])
        let sent = machine.flush(now: at(1))
        #expect(sent == [Base.results([Base.result(1, .returned)], credit: 3)])
    }

    @Test func `A worker that drains gives a job back when it comes to a checkpoint`() {
        var machine = Self.running()
        machine.streamed(Base.lease(1), index: 1, message: [1], checkpoint: nil)
        _ = machine.flush(now: at(0))
        _ = machine.drain(now: at(0.5))
        let before = machine.ticked(now: at(0.5))
        #expect(before == [])
        machine.streamed(Base.lease(1), index: 2, message: [2], checkpoint: [7])
        let ticked = machine.ticked(now: at(0.5))
        #expect(ticked == [.cancel(Base.lease(1))])
        machine.streamed(Base.lease(1), index: 3, message: [3], checkpoint: nil)
        let sent = machine.flush(now: at(0.5))
        #expect(sent == [Base.results([Self.streamed(1, 2, checkpoint: [7]), Base.result(1, .returned)], credit: 2)])
    }

    @Test func `Progress is sent now and then, only the newest, and not that of jobs that have ended`() {
        var machine = Self.running(slots: 2, [1, 2])
        machine.progressed(Base.lease(1), JobProgress(fraction: 0.1))
        machine.progressed(Base.lease(1), JobProgress(fraction: 0.2))
        let first = machine.flush(now: at(0))
        let report = ProgressReport(
            effect: EffectID(turn: 1, ordinal: 0), lease: Base.lease(1), progress: JobProgress(fraction: 0.2))
        #expect(first == [Base.send(.progress([report]))])
        machine.progressed(Base.lease(1), JobProgress(fraction: 0.3))
        machine.progressed(Base.lease(2), JobProgress(text: "two"))
        let tooEarly = machine.flush(now: at(0.1))
        #expect(tooEarly == [])
        #expect(machine.deadline == at(0.25))
        _ = machine.finished(Base.lease(1), .returned, now: at(0.2))
        let second = machine.flush(now: at(0.3))
        #expect(
            second.last
                == Base.send(
                    .progress([
                        ProgressReport(
                            effect: EffectID(turn: 2, ordinal: 0), lease: Base.lease(2), progress: JobProgress(text: "two"))
                    ])))
    }

    @Test func `A worker that tells of progress all the time says PING, and what answers that keeps its connection`() {
        var machine = Self.running()
        var reports = 0
        var pings = 0
        for quarter in 1...48 {
            let now = at(Double(quarter) / 4)
            machine.progressed(Base.lease(1), JobProgress(fraction: 0.5))
            for case .send(let envelope) in machine.ticked(now: now) + machine.flush(now: now) {
                if envelope.frame.kind == .progress { reports += 1 }
                guard envelope.frame.kind == .ping else { continue }
                pings += 1
                _ = machine.received(Envelope(.pong(1), timeline: home), now: now)
            }
        }
        let isConnected = machine.isConnected
        #expect(isConnected && reports == 48 && pings == 12)
    }

    @Test func `No part of what tells of progress is larger than a MiB, however many jobs there are`() throws {
        let jobs = 10_000
        var machine = Self.running(slots: jobs, Array(1...jobs))
        let text = String(repeating: "🫖", count: JobProgress.textLimit)
        for number in 1...jobs { machine.progressed(Base.lease(number), JobProgress(text: text)) }
        let sent = machine.flush(now: at(0))
        var told: [Lease] = []
        for case .send(let envelope) in sent {
            #expect(envelope.parts.allSatisfy { $0.count <= 1 << 20 })
            guard case .progress(let reports) = envelope.frame else { continue }
            told += reports.map(\.lease)
        }
        #expect(told == (1...jobs).map(Base.lease))
    }

    // MARK: The window

    @Test func `A window gives numbers after those of earlier attempts, and no more than its limit at once`() {
        var window = StreamWindow(after: StreamPlace(index: 10))
        let numbers = (0..<100).compactMap { _ in window.next(size: 1) }
        #expect(numbers == Array(11...(10 + StreamWindow.limit)))
        window.acknowledged(through: 12)
        #expect(window.next(size: 1) == 75)
        #expect(window.next(size: 1) == 76)
        #expect(window.next(size: 1) == nil)
    }

    @Test func `A window limits bytes, but lets any single message through`() {
        var window = StreamWindow(after: nil)
        #expect(window.next(size: StreamWindow.byteLimit + 1) == 1)
        #expect(window.next(size: 1) == nil)
        window.acknowledged(through: 1)
        #expect(window.next(size: StreamWindow.byteLimit - 1) == 2)
        #expect(window.next(size: 2) == nil)
        #expect(window.next(size: 1) == 3)
    }
}
