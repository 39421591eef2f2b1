import SamovarCore
import Testing

@testable import SamovarProtocol

/// When an open effect waits for a worker, and what is overdue.
@Suite struct EffectSchedulerTests {
    private var ledger = EffectLedger()

    private mutating func order(_ turn: Int, _ options: RunOptions = .default) -> OpenEffect {
        let effect = OpenEffect(id: EffectID(turn: turn, ordinal: 0), root: turn, options: options, payload: [0], now: at(0))
        ledger.order(effect)
        return effect
    }

    @Test mutating func `What may be running unseen is held, whatever offers it, and let go once`() {
        let (first, second) = (order(1), order(2))
        var scheduler = EffectScheduler(start: 2, suspectDeaths: 2, awaiting: [workerID(1)], effects: [first.id])
        #expect(
            scheduler.offer(usual: second.id, now: at(0)) && scheduler.dispatcher.waits(second.id) == at(0), "it is of this start")
        scheduler = EffectScheduler(start: 2, suspectDeaths: 2, awaiting: [workerID(1)], effects: [first.id])
        for effect in [first, second] { scheduler.offer(effect, in: ledger, now: at(1)) }
        #expect(scheduler.dispatcher.waits(first.id) == nil && scheduler.dispatcher.waits(second.id) == at(1))
        #expect(scheduler.heard(workerID(1)) && !scheduler.heard(workerID(1)))
        #expect(scheduler.release().effects == [first.id])
        scheduler.offer(first.id, in: ledger, now: at(2))
        #expect(scheduler.dispatcher.waits(first.id) == at(2))
    }

    @Test mutating func `One too many with its label fails without waiting`() {
        _ = order(1, RunOptions(id: "a", policy: .serial(limit: 1)))
        let crowded = order(2, RunOptions(id: "a", policy: .serial(limit: 1)))
        var scheduler = EffectScheduler(start: 1, suspectDeaths: 2)
        #expect(!scheduler.hasOverLimit)
        scheduler.offer(crowded.id, in: ledger, now: at(0))
        #expect(scheduler.hasOverLimit && scheduler.dispatcher.waits(crowded.id) == nil)
        #expect(scheduler.popOverLimit() == crowded.id && scheduler.popOverLimit() == nil)
    }

    @Test mutating func `What was closed is not offered`() {
        let effect = order(1)
        ledger.close(effect.id)
        var scheduler = EffectScheduler(start: 1, suspectDeaths: 2)
        scheduler.offer(effect.id, in: ledger, now: at(0))
        #expect(!scheduler.dispatcher.hasWaiting)
    }

    @Test mutating func `A limit of waiting is met by a worker, and that of all attempts is not`() throws {
        let effect = order(1, RunOptions(limits: RunLimits(waiting: .seconds(2), total: .seconds(3))))
        var scheduler = EffectScheduler(start: 1, suspectDeaths: 2)
        let open = try #require(ledger.open[effect.id])
        scheduler.limit(open)
        scheduler.offer(open, in: ledger, now: at(0))
        #expect(scheduler.nextOverdue == at(2))
        scheduler.findOverdue(now: at(1.9))
        #expect(!scheduler.isOverdue)
        scheduler.findOverdue(now: at(2))
        #expect(scheduler.isOverdue)
        #expect(scheduler.overrun(open, .waiting, now: at(2)) == "no worker took it within \(Duration.seconds(2))")
        scheduler.join(WorkerOffer(id: workerID(1), slots: 1, queues: [.default]), takesProofs: false, at: worker(1), now: at(2))
        scheduler.dispatcher.heard(workerID(1), credit: 1, now: at(2))
        let context = AssignmentContext(floor: 0, grace: .zero, frameBytes: 1_000, proof: JobProof(home, workshopSecret))
        _ = scheduler.dispatcher.assign(from: ledger, context)
        #expect(scheduler.overrun(open, .waiting, now: at(2)) == nil, "a worker has it now")
        guard case .effect(effect.id, .waiting)? = scheduler.popOverdue(now: at(2)) else { return #expect(Bool(false)) }
        #expect(scheduler.popOverdue(now: at(2)) == nil && scheduler.nextOverdue == at(3))
        #expect(scheduler.overrun(open, .total, now: at(3)) == "not done within \(Duration.seconds(3))")
    }

    @Test mutating func `Silent workers are found once, in order, and looked for again when all of them were taken`() {
        var scheduler = EffectScheduler(start: 1, suspectDeaths: 2)
        for number in [2, 1] as [UInt8] {
            let offer = WorkerOffer(id: workerID(number), slots: 1, queues: [.default])
            scheduler.join(offer, takesProofs: false, at: worker(number), now: at(0))
        }
        scheduler.findSilent(for: .seconds(5), now: at(5))
        scheduler.findOverdue(now: at(5))
        #expect(!scheduler.isOverdue)
        for _ in 1...2 { scheduler.findSilent(for: .seconds(5), now: at(6)) }
        scheduler.findOverdue(now: at(6))
        #expect(scheduler.isOverdue)
        guard case .worker(workerID(1))? = scheduler.popOverdue(now: at(6)) else { return #expect(Bool(false)) }
        guard case .worker(workerID(2))? = scheduler.popOverdue(now: at(6)) else { return #expect(Bool(false)) }
        #expect(scheduler.popOverdue(now: at(6)) == nil)
    }

    @Test mutating func `A queue that nobody serves is told of once, until a worker has served it`() {
        let effect = order(1, RunOptions(queue: "paint"))
        var scheduler = EffectScheduler(start: 1, suspectDeaths: 2)
        scheduler.offer(effect, in: ledger, now: at(0))
        func unserved(at seconds: Double) -> [Queue] {
            scheduler.findUnserved(in: ledger, now: at(seconds), after: .seconds(2))
        }
        #expect(unserved(at: 1).isEmpty && unserved(at: 2.9).isEmpty)
        #expect(unserved(at: 3) == ["paint"] && unserved(at: 9).isEmpty)
        scheduler.join(WorkerOffer(id: workerID(1), slots: 1, queues: ["paint"]), takesProofs: false, at: worker(1), now: at(9))
        #expect(unserved(at: 10).isEmpty)
        _ = scheduler.dispatcher.leave(workerID(1))
        #expect(unserved(at: 11).isEmpty && unserved(at: 13) == ["paint"])
    }
}
