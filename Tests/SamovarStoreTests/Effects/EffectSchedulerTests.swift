import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// When an open effect waits for a worker, and what is overdue.
@Suite struct EffectSchedulerTests {
    private var ledger = EffectLedger()

    private mutating func order(_ turn: Int, _ options: RunOptions = .default) -> OpenEffect {
        let effect = OpenEffect(id: EffectID(turn: turn, ordinal: 0), root: turn, options: options, payload: [0], now: at(0))
        ledger.order(effect)
        return effect
    }

    @Test mutating func `What may be running unseen is held, whatever offers it, and let go once`() throws {
        let (first, second) = (order(1), order(2))
        var scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(1)], effects: [first.id])
        #expect(
            scheduler.offer(usual: second.id, now: at(0)) && scheduler.dispatcher.waits(second.id) == at(0), "it is of this start")
        scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(1)], effects: [first.id])
        for effect in [first, second] { scheduler.offer(effect, in: ledger, now: at(1)) }
        #expect(scheduler.dispatcher.waits(first.id) == nil && scheduler.dispatcher.waits(second.id) == at(1))
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(1), workerID(2)], effects: [open])
        scheduler.begin(bench.turns.state.ledger, now: at(1))
        func isReleased(by number: UInt8, now: Timestamp) -> Bool {
            scheduler.noLongerAwaits(workerID(number))
                && scheduler.releaseHeld(in: bench.turns.state, isHeldUp: false, now: now).isEmpty
        }
        #expect(isReleased(by: 1, now: at(2)) && !isReleased(by: 1, now: at(2)))
        #expect(scheduler.dispatcher.waits(open) == nil && scheduler.heldUntil([workerID(2): at(0)]) == at(6))
        #expect(isReleased(by: 2, now: at(3)))
        #expect(scheduler.dispatcher.waits(open) == at(3) && scheduler.heldUntil([:]) == nil)
    }

    @Test func `Without a worker of before, nothing is held, and those who are missing for too long are named in order`() throws {
        var bench = try PartBench()
        let open = try #require(try bench.order(job("a")))
        var scheduler = EffectScheduler(StoreSettings(), start: 2, effects: [open])
        #expect(scheduler.heldUntil([:]) == nil)
        scheduler = EffectScheduler(StoreSettings(), start: 2, awaiting: [workerID(2), workerID(1), workerID(3)], effects: [open])
        scheduler.begin(bench.turns.state.ledger, now: at(1))
        #expect(scheduler.noLongerAwaits(workerID(2)) && scheduler.awaited == [workerID(1), workerID(3)])
        let early = scheduler.releaseHeld(in: bench.turns.state, isHeldUp: false, now: at(6.9))
        #expect(early.isEmpty && scheduler.dispatcher.waits(open) == nil)
        let missing = scheduler.releaseHeld(in: bench.turns.state, isHeldUp: false, now: at(7))
        #expect(missing == [workerID(1), workerID(3)] && scheduler.dispatcher.waits(open) == at(7))
        #expect(scheduler.awaited.isEmpty && scheduler.heldUntil([:]) == nil)
    }

    @Test mutating func `One too many with its label fails without waiting`() throws {
        _ = order(1, RunOptions(id: "a", policy: .serial(limit: 1)))
        let crowded = order(2, RunOptions(id: "a", policy: .serial(limit: 1)))
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        #expect(scheduler.overLimit.isEmpty)
        scheduler.offer(crowded.id, in: ledger, now: at(0))
        #expect(scheduler.overLimit.first == crowded.id && scheduler.dispatcher.waits(crowded.id) == nil)
        var bench = try PartBench()
        let head = bench.turns.head
        try scheduler.failOverLimit(now: at(0), &bench.turns, &bench.out)
        #expect(scheduler.overLimit.isEmpty && bench.turns.head == head, "of the bench it is not open")
    }

    @Test func `One too many that has died and was requeued before its turn to fail is open like any other`() throws {
        var bench = try PartBench()
        try bench.order(
            Shop.Job(name: "first", id: "a", policy: "serial", limit: 1),
            Shop.Job(name: "crowded", diesSilently: true, id: "a", policy: "serial", limit: 1, total: 1))
        let waiting = bench.scheduler.overLimit
        let crowded = try #require(waiting.first)
        _ = try bench.scheduler.takeOverdue(now: at(1), &bench.turns, &bench.out)
        let isDead = bench.turns.state.ledger.dead[crowded] != nil
        #expect(isDead && Array(waiting) == [crowded], "its time was over")
        bench.turns.write(.requeued(crowded), origin: .operator, now: at(2))
        bench.scheduler.follow(now: at(2), &bench.turns)
        let head = bench.turns.head
        try bench.scheduler.failOverLimit(now: at(2), &bench.turns, &bench.out)
        let (isOpen, isLeft) = (bench.turns.state.ledger.open[crowded] != nil, !bench.scheduler.overLimit.isEmpty)
        let newHead = bench.turns.head
        #expect(isOpen && !isLeft && newHead == head)
    }

    @Test func `Failures of suspects wait in their order until each can be alone`() throws {
        let page = UnsafeMutableRawPointer.allocate(byteCount: TrapMarker.byteCount, alignment: 8)
        defer { page.deallocate() }
        page.initializeMemory(as: UInt8.self, repeating: 0, count: TrapMarker.byteCount)
        let effects = [EffectID(turn: 2, ordinal: 1), EffectID(turn: 2, ordinal: 0)]
        let before = TrapMarker(page)
        _ = before.take(timeline: home, build: KeyedHash.of(Array("test".utf8)))
        before.write(effects.map { Suspicion.Suspect(call: .failure($0), kills: 1) })
        var bench = try PartBench(marker: TrapMarker(page))
        try bench.order(job("a"), job("b"))
        let (head, lease) = (bench.turns.head, Lease(start: 1, counter: 7))
        for effect in effects {
            try bench.scheduler.attemptFailed(
                effect, .threw, "no luck", lease: lease, isPermanent: true, now: at(0), &bench.turns, &bench.out)
        }
        let (postponed, newHead) = (bench.scheduler.postponed, bench.turns.head)
        #expect(postponed.map { $0.effect } == effects && newHead == head, "the order is not on disk")
        let failure = Failure(reason: .threw, text: "no luck", attempts: 1)
        #expect(postponed.allSatisfy { $0.failure == failure && $0.lease == lease })
        for effect in effects {
            bench.commit()
            try bench.scheduler.failPostponed(now: at(0), &bench.turns, &bench.out)
            let isOpen = effects.map { bench.turns.state.ledger.open[$0] != nil }
            #expect(isOpen == [false, effect == effects[0]])
        }
        let isEmpty = bench.scheduler.postponed.isEmpty
        #expect(isEmpty)
    }

    @Test mutating func `What was closed is not offered`() {
        let effect = order(1)
        ledger.close(effect.id)
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        scheduler.offer(effect.id, in: ledger, now: at(0))
        #expect(!scheduler.dispatcher.hasWaiting)
    }

    @Test mutating func `A limit of waiting is met by a worker, and that of all attempts is not`() throws {
        let effect = order(1, RunOptions(limits: RunLimits(waiting: .seconds(2), total: .seconds(3))))
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        let open = try #require(ledger.open[effect.id])
        scheduler.limit(open)
        scheduler.offer(open, in: ledger, now: at(0))
        #expect(scheduler.nextOverdue == at(2))
        scheduler.findOverdue(now: at(1.9))
        #expect(!scheduler.isOverdue)
        scheduler.findOverdue(now: at(2))
        #expect(scheduler.isOverdue)
        #expect(scheduler.overrun(open, .waiting, in: ledger, now: at(2)) == "no worker took it within \(Duration.seconds(2))")
        scheduler.join(WorkerOffer(id: workerID(1), slots: 1, queues: [.default]), takesProofs: false, at: worker(1), now: at(2))
        scheduler.dispatcher.heard(workerID(1), credit: 1, now: at(2))
        var bench = try PartBench()
        scheduler.assign(from: ledger, head: 1, now: at(2), &bench.out)
        bench.commit()
        #expect(bench.takeFrames().tasks.map(\.effect) == [effect.id])
        #expect(scheduler.overrun(open, .waiting, in: ledger, now: at(2)) == nil, "a worker has it now")
        let silent = try scheduler.takeOverdue(now: at(2), &bench.turns, &bench.out)
        #expect(silent == nil && scheduler.nextOverdue == at(3))
        #expect(scheduler.overrun(open, .total, in: ledger, now: at(3)) == "not done within \(Duration.seconds(3))")
    }

    @Test mutating func `Limits of effects that were closed are forgotten when they are many, and those of open ones are not`() {
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        let open = order(1, RunOptions(limits: RunLimits(waiting: .seconds(2), total: .seconds(3))))
        scheduler.limit(open)
        scheduler.offer(open, in: ledger, now: at(0))
        for turn in 2...1_030 {
            let closed = order(turn, RunOptions(limits: RunLimits(total: .seconds(1))))
            scheduler.limit(closed)
            ledger.close(closed.id)
        }
        #expect(scheduler.deadlines.count == 1_031 && scheduler.nextOverdue == at(1))
        scheduler.forgetClosed(exceptOf: ledger)
        #expect(scheduler.deadlines.count == 2 && scheduler.nextOverdue == at(2))
    }

    @Test func `Dead effects that are too many are told of also where the program is told of each`() throws {
        var settings = StoreSettings()
        settings.deadEffects = 5
        var bench = try PartBench(settings)
        var failing = job("a")
        failing.keepsDead = true
        try bench.order(failing, failing, failing, failing, failing, failing)
        let effects = bench.turns.state.ledger.open.keys.sorted()
        for effect in effects {
            try bench.scheduler.attemptFailed(
                effect, .threw, "no luck", lease: nil, isPermanent: true, now: at(0), &bench.turns, &bench.out)
        }
        let dead = bench.turns.state.ledger.dead.count
        let notes = bench.out.takeActions().compactMap { action -> String? in
            if case .note(let note) = action { note.text } else { nil }
        }
        let told = notes.filter { $0.contains("effects are dead") }
        #expect(dead == 6 && told.map { String($0.prefix(2)) } == ["4 ", "5 "], "\(notes)")
    }

    @Test func `An effect that fails for good is counted in its queue, whether the program hears of it or it stays dead`() throws {
        var bench = try PartBench()
        try bench.order(job("a", queue: "mail"), job("b", queue: "mail", diesSilently: true))
        for effect in bench.turns.state.ledger.open.keys.sorted() {
            try bench.scheduler.attemptFailed(
                effect, .threw, "no luck", lease: nil, isPermanent: true, now: at(0), &bench.turns, &bench.out)
        }
        let (dead, meters) = (bench.turns.state.ledger.dead.count, bench.scheduler.dispatcher.meters)
        let counted = meters.known("mail").map { meters.closings($0, .failed) }
        #expect(dead == 1 && counted == 2)
    }

    @Test func `Each worker is told once of all attempts in vain, and one that is gone of none`() throws {
        var bench = try PartBench()
        func lease(_ counter: Int) -> Lease { Lease(start: 1, counter: counter) }
        func join(_ number: UInt8, _ bench: inout PartBench) {
            let offer = WorkerOffer(id: workerID(number), slots: 1, queues: [.default])
            bench.scheduler.join(offer, takesProofs: false, at: worker(number), now: at(0))
        }
        for number in [2, 1, 3, 4] as [UInt8] { join(number, &bench) }
        for (number, counter) in [(2, 1), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6)] as [(UInt8, Int)] {
            bench.scheduler.cancel(lease(counter), at: workerID(number))
        }
        _ = bench.scheduler.dispatcher.leave(workerID(3), as: .lost, answered: [])
        // HELLO is answered for what it claims.
        join(4, &bench)
        for _ in 1...2 { bench.scheduler.sendCancellations(head: bench.turns.head, &bench.out) }
        bench.commit()
        #expect(bench.takeFrames() == [.cancel([lease(2), lease(3)], number: 1), .cancel([lease(1), lease(4)], number: 1)])
    }

    @Test mutating func `Silent workers are found once, in order, and looked for again when all of them were taken`() throws {
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        for number in [2, 1] as [UInt8] {
            let offer = WorkerOffer(id: workerID(number), slots: 1, queues: [.default])
            scheduler.join(offer, takesProofs: false, at: worker(number), now: at(0))
        }
        scheduler.findSilent(now: at(6))
        scheduler.findOverdue(now: at(6))
        #expect(!scheduler.isOverdue)
        for _ in 1...2 { scheduler.findSilent(now: at(7)) }
        scheduler.findOverdue(now: at(7))
        #expect(scheduler.isOverdue)
        var bench = try PartBench()
        var found: [WorkerID?] = []
        for _ in 1...3 { found.append(try scheduler.takeOverdue(now: at(7), &bench.turns, &bench.out)) }
        #expect(found == [workerID(1), workerID(2), nil])
    }

    @Test mutating func `A queue that nobody serves is told of once, until a worker has served it`() throws {
        var out = try PartBench().out
        let effect = order(1, RunOptions(queue: "paint"))
        var scheduler = EffectScheduler(StoreSettings(), start: 1)
        scheduler.offer(effect, in: ledger, now: at(0))
        func warnings(at seconds: Double) -> [StoreAction] {
            scheduler.tellOfQueues(in: ledger, head: 1, now: at(seconds), &out)
            return out.takeActions()
        }
        let warning = StoreAction.note(Note(.warning, "1 effect waits in queue paint, and no worker serves it"))
        #expect(warnings(at: 1).isEmpty && warnings(at: 2.9).isEmpty)
        #expect(warnings(at: 3) == [warning] && warnings(at: 9).isEmpty)
        scheduler.join(WorkerOffer(id: workerID(1), slots: 1, queues: ["paint"]), takesProofs: false, at: worker(1), now: at(9))
        #expect(warnings(at: 10).isEmpty)
        _ = scheduler.dispatcher.leave(workerID(1))
        #expect(warnings(at: 11).isEmpty && warnings(at: 13) == [warning])
        // One that comes and goes between two looks has served it, too.
        scheduler.join(WorkerOffer(id: workerID(1), slots: 1, queues: ["paint"]), takesProofs: false, at: worker(1), now: at(14))
        _ = scheduler.dispatcher.leave(workerID(1))
        #expect(warnings(at: 15).isEmpty && warnings(at: 17) == [warning])
    }
}
