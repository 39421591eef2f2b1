import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The order in which what waits is handed out.
@Suite struct DispatcherTests {
    @Test func `An effect without options has the priority 0`() throws {
        var ledger = EffectLedger()
        let usual = OpenEffect(id: EffectID(turn: 1, ordinal: 0), root: 1, payload: [0], now: at(0))
        let greater = OpenEffect(
            id: EffectID(turn: 2, ordinal: 0), root: 2, options: RunOptions(priority: 1), payload: [0], now: at(0))
        let equal = OpenEffect(
            id: EffectID(turn: 3, ordinal: 0), root: 3, options: RunOptions(retry: .times(9)), payload: [0], now: at(0))
        for effect in [usual, greater, equal] { ledger.order(effect) }
        var dispatcher = Dispatcher(StoreSettings(), start: 1)
        dispatcher.enqueue(usual: usual.id, now: at(0))
        for effect in [greater, equal] { dispatcher.enqueue(effect, now: at(0)) }
        dispatcher.join(WorkerOffer(id: workerID(1), slots: 9, queues: [.default]), route: worker(1), now: at(0))
        dispatcher.heard(workerID(1), credit: 9, now: at(0))
        _ = dispatcher.assign(from: ledger, floor: 0, JobProof(home, workshopSecret), now: at(0))
        let order = [greater, usual, equal].map { dispatcher.assignment(of: $0.id)?.lease.counter }
        #expect(order == [1, 2, 3])
    }

    @Test func `The time of a task begins when its turn is on disk, and the earliest that is over is told of first`() {
        var (dispatcher, ledger) = (Dispatcher(StoreSettings(), start: 1), EffectLedger())
        dispatcher.join(WorkerOffer(id: workerID(1), slots: 9, queues: [.default]), route: worker(1), now: at(0))
        dispatcher.heard(workerID(1), credit: 9, now: at(0))
        // With a grace of two seconds.
        for (turn, timeout) in [(1, 7.0), (2, 5), (3, 7), (4, 1)] {
            let effect = OpenEffect(
                id: EffectID(turn: turn, ordinal: 0), root: turn,
                options: RunOptions(limits: RunLimits(attempt: .seconds(timeout))),
                payload: [0], now: at(0))
            ledger.order(effect)
            dispatcher.enqueue(effect, now: at(0))
            _ = dispatcher.assign(from: ledger, floor: turn, JobProof(home, workshopSecret), now: at(0))
        }
        dispatcher.left(through: 0, now: at(1))
        #expect(dispatcher.nextExpiry == nil)
        dispatcher.left(through: 1, now: at(1))
        #expect(dispatcher.nextExpiry == at(10))
        dispatcher.left(through: 3, now: at(1))
        dispatcher.left(through: 3, now: at(99))
        #expect(dispatcher.nextExpiry == at(8))
        dispatcher.left(through: 4, now: at(1))
        // One that has ended in time is passed over.
        dispatcher.forget(EffectID(turn: 4, ordinal: 0))
        var expired: [Int] = []
        while let effect = dispatcher.popExpired(now: at(10)) { expired.append(effect.turn) }
        #expect(expired == [2, 1, 3] && dispatcher.nextExpiry == nil)
    }

    @Test func `An attempt that was over before its task left has no time that could run out`() {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order(RunOptions(limits: RunLimits(attempt: .seconds(1))))
        #expect(hall.assign() == 1)
        hall.end(id)
        hall.dispatcher.left(through: 0, now: at(1))
        #expect(hall.dispatcher.nextExpiry == nil)
    }

    @Test func `A job that was taken back is not overdue, though it waits in the place that it had`() throws {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order(RunOptions(limits: RunLimits(attempt: .seconds(1))))
        hall.assign()
        hall.dispatcher.left(through: 0, now: at(0))
        #expect(hall.dispatcher.nextExpiry == at(3))
        hall.dispatcher.takeBack(id, as: .returned)
        let effect = try #require(hall.ledger.open[id])
        hall.dispatcher.enqueue(effect, now: at(1))
        let expired = hall.dispatcher.popExpired(now: at(9))
        #expect(expired == nil && hall.dispatcher.waits(id) == at(1))
    }

    @Test func `The times of jobs that ended in time are forgotten when they are many`() {
        var hall = DispatchHall()
        hall.join(1)
        /// Begins a job whose time is over after a minute and a grace of two seconds.
        func begin(at time: Timestamp) -> EffectID {
            hall.now = time
            let id = hall.order(RunOptions(limits: RunLimits(attempt: .seconds(60))))
            hall.assign()
            hall.dispatcher.left(through: 0, now: hall.now)
            return id
        }
        for _ in 1...1_026 {
            let id = begin(at: at(0))
            hall.end(id)
        }
        #expect(hall.dispatcher.nextExpiry == at(62))
        let running = begin(at: at(10))
        #expect(hall.isRunning(running) && hall.dispatcher.nextExpiry == at(72))
    }

    @Test func `The time of an attempt that a worker claims begins, though an older one has answered`() throws {
        var hall = DispatchHall()
        hall.join(1)
        let id = hall.order(RunOptions(limits: RunLimits(attempt: .seconds(1))))
        hall.assign()
        let place = try #require(hall.dispatcher.places.number(of: id))
        hall.dispatcher.answered(at: place)
        let effect = try #require(hall.ledger.open[id])
        hall.join(2)
        let newer = Lease(start: 1, counter: 2)
        let isAdopted = hall.dispatcher.adopt(effect, lease: newer, token: 0, worker: workerID(2), now: at(5))
        #expect(isAdopted && hall.jobs(of: 2) == [id] && !hall.dispatcher.isAnswered(id))
        // With a grace of two seconds.
        #expect(hall.dispatcher.nextExpiry == at(8))
        let expired = hall.dispatcher.popExpired(now: at(8))
        #expect(expired == id)
    }

    @Test func `A queue has its number for what it hands out, and none while a worker only serves it`() {
        var hall = DispatchHall()
        hall.join(1, ["mail", "print"])
        hall.order(RunOptions(queue: "print"))
        #expect(hall.assign() == 1)
        #expect(hall.dispatcher.meters.known("mail") == nil && hall.dispatcher.meters.known("print") == 1)
    }

    @Test func `A worker gets its queues in the order in which it names them: of a later one what the earlier ones leave`() {
        var hall = DispatchHall()
        hall.join(1, credit: 1, ["bulk", "urgent"])
        let urgent = hall.order(RunOptions(queue: "urgent"))
        var bulk = hall.order(RunOptions(queue: "bulk"))
        for credit in 2...4 {
            #expect(hall.assign() == 1 && hall.jobs(of: 1) == [bulk])
            hall.end(bulk)
            if credit < 4 { bulk = hall.order(RunOptions(queue: "bulk")) }
            hall.dispatcher.heard(workerID(1), credit: credit, now: hall.now)
        }
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [urgent])
    }

    @Test func `A limit for an earlier queue of a worker leaves the other slots to the later ones`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2, credit: 2, ["bulk", "urgent"], limits: ["bulk": 1])
        let bulk = [hall.order(RunOptions(queue: "bulk")), hall.order(RunOptions(queue: "bulk"))]
        let urgent = hall.order(RunOptions(queue: "urgent"))
        #expect(hall.assign() == 2 && hall.jobs(of: 1) == [bulk[0], urgent])
    }

    @Test func `What is read ahead takes no slot from a queue that is given free ones only`() {
        var hall = DispatchHall()
        hall.rule("a", QueueRules(shares: .init([:])))
        hall.join(1, slots: 2, credit: 4, ["a", "b"])
        for _ in 0..<9 { hall.order(RunOptions(queue: "b")) }
        #expect(hall.assign() == 4)
        let waiting = hall.order(RunOptions(queue: "a"))
        for credit in 5...7 {
            if let job = hall.jobs(of: 1).first { hall.end(job) }
            hall.dispatcher.heard(workerID(1), credit: credit, now: at(0))
            hall.assign()
        }
        #expect(hall.isRunning(waiting))
        #expect(hall.jobs(of: 1).count == 4, "and then it is read ahead again")
    }

    @Test func `A worker is handed nothing behind sources in all its slots, whatever its credit, and others get it`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2, credit: 9)
        let job = hall.order()
        let sources = [hall.order(isOfSource: true), hall.order(isOfSource: true)]
        let waiting = hall.order()
        #expect(hall.assign() == 3 && hall.jobs(of: 1) == [job] + sources, "the job begins before the second source")
        hall.end(job)
        #expect(hall.assign() == 0)
        hall.join(2, credit: 1)
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [waiting])
        hall.end(sources[0])
        let next = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [sources[1], next], "once a source has ended there is room")
    }

    @Test func `A queue of which a worker has all that it takes at once keeps no slot from what is read ahead`() {
        var hall = DispatchHall()
        hall.rule("a", QueueRules(shares: .init([:])))
        hall.join(1, slots: 2, credit: 4, ["a", "b"], limits: ["a": 1])
        for _ in 0..<2 { hall.order(RunOptions(queue: "a")) }
        for _ in 0..<9 { hall.order(RunOptions(queue: "b")) }
        #expect(hall.assign() == 4)
    }

    @Test func `Of a queue with a rule, too, a worker gets no more at once than it takes`() {
        var hall = DispatchHall()
        hall.rule("mail", QueueRules(shares: .init([:])))
        hall.join(1, slots: 3, ["mail"], limits: ["mail": 1])
        let (first, second) = (hall.order(RunOptions(queue: "mail")), hall.order(RunOptions(queue: "mail")))
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [first])
        hall.end(first)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [second])
    }

    @Test func `A suspect that came to wait again stands among the suspects once`() throws {
        var hall = DispatchHall()
        let suspect = hall.order(deaths: 9)
        hall.dispatcher.takeBack(suspect)
        let effect = try #require(hall.ledger.open[suspect])
        hall.dispatcher.enqueue(effect, now: hall.now)
        #expect(hall.assign() == 0 && Array(hall.dispatcher.suspects) == [suspect])
        hall.join(1)
        #expect(hall.assign() == 1 && hall.dispatcher.suspects.isEmpty)
    }

    @Test func `A suspect that was taken back does not make its queue unserved, for nothing waits there`() {
        var hall = DispatchHall()
        let suspect = hall.order(deaths: 9)
        #expect(hall.dispatcher.unservedLines(in: hall.ledger) == [LineName(queue: .default)])
        hall.dispatcher.takeBack(suspect)
        #expect(hall.assign() == 0 && hall.dispatcher.unservedLines(in: hall.ledger).isEmpty)
    }

    @Test func `A suspect that a worker has claimed is handed to no other`() throws {
        var hall = DispatchHall()
        let suspect = hall.order(deaths: 9)
        hall.join(1)
        let effect = try #require(hall.ledger.open[suspect])
        let lease = Lease(start: 1, counter: 9)
        let isAdopted = hall.dispatcher.adopt(effect, lease: lease, token: 0, worker: workerID(1), now: at(0))
        #expect(isAdopted)
        hall.join(2)
        let usual = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [suspect] && hall.jobs(of: 2) == [usual])
    }

    @Test func `A source is no suspect, though every effect is to be offered alone`() {
        var settings = StoreSettings()
        settings.suspectDeaths = 0
        var hall = DispatchHall(settings)
        hall.join(1, slots: 3)
        let id = EffectID(turn: 9, ordinal: SubscriptionTable.firstSource)
        let source = OpenEffect(id: id, root: 0, payload: [0], now: at(0))
        hall.ledger.order(source)
        hall.dispatcher.enqueue(source, now: at(0))
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [id])
        let effects = [hall.order(), hall.order()]
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [id, effects[0]], "one of them beside the source")
    }

    @Test func `While one worker has a suspect, another is kept free for the next`() {
        var hall = DispatchHall()
        hall.join(1)
        let first = hall.order(deaths: 9)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [first])
        hall.join(2)
        let usual = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [usual])
        let second = hall.order(deaths: 9)
        _ = hall.order()
        #expect(hall.assign() == 0, "worker 2 is to be empty once")
        hall.end(usual)
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [second])
    }

    @Test func `No worker is kept free for a suspect that it cannot take, since a source has what it takes of the queue`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, [.default, "mail"], limits: ["mail": 1])
        let source = hall.order(RunOptions(queue: "mail"), isOfSource: true)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [source])
        let suspect = hall.order(RunOptions(queue: "mail"), deaths: 9)
        let usual = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 1).contains(usual), "it would wait as long as the source runs")
        hall.end(source)
        _ = hall.order()
        #expect(hall.assign() == 0, "it is to be empty once")
        hall.end(usual)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [suspect])
    }

    @Test func `Jobs that end are no reason against keeping a worker free for a suspect of their queue`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, [.default, "mail"], limits: ["mail": 2])
        let source = hall.order(RunOptions(queue: "mail"), isOfSource: true)
        let usual = hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 2)
        let suspect = hall.order(RunOptions(queue: "mail"), deaths: 9)
        _ = hall.order()
        #expect(hall.assign() == 0, "it is to be empty once but for its source, though it has all that it takes of the queue")
        hall.end(usual)
        #expect(hall.assign() == 1 && Set(hall.jobs(of: 1)) == [source, suspect])
    }

    @Test func `What a source has of another queue keeps no worker from being kept free`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, [.default, "mail"], limits: [.default: 1])
        let source = hall.order(RunOptions(queue: "mail"), isOfSource: true)
        let usual = hall.order()
        #expect(hall.assign() == 2)
        let suspect = hall.order(deaths: 9)
        hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 0, "it is to be empty once but for its source")
        hall.end(usual)
        #expect(hall.assign() == 1 && Set(hall.jobs(of: 1)) == [source, suspect])
    }

    /// Worker 2 comes and gets a job, and then nothing more until it is empty and has a suspect: nobody else is kept free for that.
    private static func expectWorker2KeptFree(_ hall: inout DispatchHall, for options: RunOptions = .default) {
        hall.join(2, options.queue == .default ? [.default] : [.default, options.queue])
        let usual = hall.order()
        var handedOut = hall.assign()
        #expect(handedOut == 1 && hall.jobs(of: 2) == [usual])
        let suspect = hall.order(options, deaths: 9)
        _ = hall.order()
        handedOut = hall.assign()
        #expect(handedOut == 0, "it is to be empty once")
        hall.end(usual)
        handedOut = hall.assign()
        #expect(handedOut == 1 && hall.jobs(of: 2) == [suspect])
    }

    @Test func `A worker whose slots all have sources, which do not end, is not kept free for a suspect in place of another`() {
        var hall = DispatchHall()
        hall.join(1, ["mail"])
        let source = hall.order(RunOptions(queue: "mail"), isOfSource: true)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [source])
        Self.expectWorker2KeptFree(&hall, for: RunOptions(queue: "mail"))
    }

    @Test func `A worker without jobs and credit is not kept free for a suspect, since its handlers overstay`() {
        var hall = DispatchHall()
        hall.join(1, credit: 0)
        Self.expectWorker2KeptFree(&hall)
    }

    @Test func `A worker that is about to leave is not kept free for a suspect in place of another`() {
        var hall = DispatchHall()
        hall.join(1)
        let last = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [last])
        hall.dispatcher.setLeaving(workerID(1))
        Self.expectWorker2KeptFree(&hall)
    }

    @Test func `A worker without credit is kept free for a suspect while it has jobs, and the others get what waits`() {
        var hall = DispatchHall()
        hall.join(1, credit: 1)
        let first = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [first])
        hall.join(2)
        let second = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [second])
        let suspect = hall.order(deaths: 9)
        let usual = hall.order()
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [second, usual], "worker 1 is to be empty once")
        hall.end(first)
        hall.dispatcher.heard(workerID(1), credit: 2, now: hall.now)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [suspect])
    }

    @Test func `A worker is kept free for the first suspect that it can take, whoever is before it`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, [.default, "mail"], limits: ["mail": 1])
        let source = hall.order(RunOptions(queue: "mail"), isOfSource: true)
        let usual = hall.order()
        #expect(hall.assign() == 2)
        _ = hall.order(RunOptions(queue: "mail"), deaths: 9)
        let suspect = hall.order(deaths: 9)
        _ = hall.order()
        #expect(hall.assign() == 0, "it is to be empty once but for its source")
        hall.end(usual)
        #expect(hall.assign() == 1 && Set(hall.jobs(of: 1)) == [source, suspect])
    }

    @Test func `One worker at a time is kept free: that of the first suspect, and not that of the next with another queue`() {
        var hall = DispatchHall()
        let mail = RunOptions(queue: "mail")
        hall.join(1, slots: 2)
        hall.join(2, slots: 2, ["mail"])
        for options in [RunOptions.default, mail] { hall.order(options) }
        #expect(hall.assign() == 2)
        for options in [RunOptions.default, mail] { hall.order(options, deaths: 9) }
        let usual = [hall.order(), hall.order(mail)]
        #expect(hall.assign() == 1 && hall.isRunning(usual[1]) && !hall.isRunning(usual[0]))
    }

    @Test func `A suspect that was claimed while it waited is not handed out in the place that it had in its line`() throws {
        var settings = StoreSettings()
        settings.suspectDeaths = 1
        var hall = DispatchHall(settings)
        for number in [2, 3] as [UInt8] { hall.join(number, slots: 2, credit: 1) }
        for _ in 1...2 { hall.order() }
        #expect(hall.assign() == 2)
        let claimed = hall.order()
        hall.join(1, credit: 0)
        let effect = try #require(hall.ledger.open[claimed])
        let lease = Lease(start: 1, counter: 9)
        let isAdopted = hall.dispatcher.adopt(effect, lease: lease, token: 0, worker: workerID(1), now: at(0))
        #expect(isAdopted)
        hall.ledger.attemptFailed(claimed, .workerDied, lease: nil, notBefore: at(0))
        hall.leave(1)
        for number in [2, 3] as [UInt8] { hall.dispatcher.heard(workerID(number), credit: 9, now: at(0)) }
        #expect(hall.assign() == 0 && !hall.isRunning(claimed), "both workers have something else")
        for job in hall.jobs(of: 2) { hall.end(job) }
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [claimed])
    }

    @Test func `All attempts that were lost count against an effect, and by themselves those of workers that ran nothing else`() {
        var hall = DispatchHall()
        let effect = hall.order()
        /// The number of those by themselves after this one.
        func lose(isIsolated: Bool) -> Int {
            hall.join(1)
            hall.assign()
            hall.dispatcher.left(through: 0, now: hall.now)
            _ = hall.dispatcher.leave(workerID(1))
            defer { if let effect = hall.ledger.open[effect] { hall.dispatcher.enqueue(effect, now: hall.now) } }
            return hall.dispatcher.lose(effect, isIsolated: isIsolated)
        }
        #expect(hall.dispatcher.trustsNewcomers)
        #expect([false, true, false, true].map { lose(isIsolated: $0) } == [0, 1, 1, 2])
        for isIsolated in [true, false] {
            #expect(hall.dispatcher.lose(effect, isIsolated: isIsolated) == 2, "its worker had come back and fell silent again")
        }
        hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
        #expect(!hall.dispatcher.trustsNewcomers && lose(isIsolated: true) == 3)
        #expect(lose(isIsolated: false) == 3)
        #expect(hall.dispatcher.lose(effect, isIsolated: true) == 4, "when its worker fell silent again, it ran nothing else")
        hall.ledger.close(effect)
        hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
        #expect(hall.dispatcher.trustsNewcomers)
    }

    @Test func `The attempts of an effect that is closed are not remembered`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2)
        let effects = [hall.order(), hall.order()]
        hall.assign()
        for effect in effects { hall.dispatcher.takeBack(effect) }
        hall.ledger.close(effects[0])
        hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
        let older = Lease(start: 1, counter: 0)
        #expect(effects.map { hall.dispatcher.isOutdated(older, of: $0) } == [false, true])
    }

    @Test func `What was taken back from a line whose workers have no room is not remembered`() {
        var hall = DispatchHall()
        hall.join(1)
        _ = hall.order(isOfSource: true)
        hall.assign()
        let first = hall.order()
        for _ in 0..<3 {
            for _ in 0..<2_000 { hall.end(hall.order()) }
            hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
            #expect(hall.dispatcher.lines.entries == 1)
        }
        #expect(hall.dispatcher.waits(first) != nil)
    }

    /// A dispatcher with so many delayed effects, of which those of the first turns are still open; the second was due at another time
    /// before, too.
    private static func delayed(_ count: Int, open: Int) -> Dispatcher {
        var (dispatcher, ledger) = (Dispatcher(StoreSettings(), start: 1), EffectLedger())
        for turn in 1...count {
            func effect(_ delay: Double) -> OpenEffect {
                OpenEffect(
                    id: EffectID(turn: turn, ordinal: 0), root: turn, options: RunOptions(delay: .seconds(delay)), payload: [0],
                    now: at(0))
            }
            if turn == 2, open > 1 { dispatcher.enqueue(effect(0.5), now: at(0)) }
            dispatcher.enqueue(effect(Double(turn)), now: at(0))
            ledger.order(effect(Double(turn)))
            if turn > open { ledger.close(EffectID(turn: turn, ordinal: 0)) }
        }
        dispatcher.forgetClosed(exceptOf: ledger)
        return dispatcher
    }

    private static func due(_ dispatcher: inout Dispatcher) -> [Int] {
        var turns: [Int] = []
        while let effect = dispatcher.popDue(now: at(5_000)) { turns.append(effect.turn) }
        return turns
    }

    @Test func `Delays of effects that were closed are forgotten when they are many, and the open ones at their time are not`() {
        var dispatcher = Self.delayed(1_030, open: 2)
        #expect(dispatcher.nextDue == at(1))
        #expect(Self.due(&dispatcher) == [1, 2])
    }

    @Test func `A few that were closed stay until they are due`() {
        var dispatcher = Self.delayed(1_024, open: 0)
        #expect(Self.due(&dispatcher).count == 1_024)
    }
}
