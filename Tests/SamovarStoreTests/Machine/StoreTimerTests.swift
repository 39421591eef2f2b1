import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Subscriptions: timers, sources, and the life of the store.
@Suite struct StoreTimerTests {
    static func rig(_ watches: Shop.Watch..., credit: Int = 9) throws -> Rig {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: credit)
        rig.exchange(inputs([.watch(watches)]), from: client(1))
        return rig
    }

    static func every(_ seconds: Int, id: String = "tick", missed: Missed = .once) -> Shop.Watch {
        Shop.Watch(id: id, seconds: seconds, missed: Int(missed.rawValue))
    }

    @Test func `A timer fires at its times and not before`() throws {
        let rig = try Self.rig(Self.every(3))
        rig.tick(.milliseconds(2_999))
        #expect(try rig.state().ticks == [])
        #expect(rig.machine.wakeUp(now: rig.now) <= at(3))
        rig.tick(.milliseconds(1))
        #expect(try rig.state().ticks == ["tick"])
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(try rig.state().ticks.count == 3)
    }

    @Test func `A timer that is late does not shift the times after it`() throws {
        let rig = try Self.rig(Self.every(2))
        rig.tick(.milliseconds(2_900))
        rig.tick(.milliseconds(1_100))
        #expect(try rig.state().ticks.count == 2)
    }

    @Test func `A subscription that stays the same goes on undisturbed, one that differs begins anew`() throws {
        let rig = try Self.rig(Self.every(3))
        rig.tick(.seconds(2))
        rig.exchange(inputs([.watch([Self.every(5, id: "other"), Self.every(3)])], from: 2), from: client(1))
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks == ["tick"])
        rig.exchange(inputs([.watch([Self.every(4)])], from: 3), from: client(1))
        rig.tick(.seconds(3))
        #expect(try rig.state().ticks == ["tick"])
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks == ["tick", "tick"])
    }

    @Test func `No tick comes after the turn that ends the subscription`() throws {
        let rig = try Self.rig(Self.every(1))
        rig.tick(.seconds(1))
        rig.exchange(inputs([.watch([])], from: 2), from: client(1))
        for _ in 0..<5 { rig.tick(.seconds(1)) }
        #expect(try rig.state().ticks.count == 1)
        #expect(rig.durable.subscriptions.activations.isEmpty)
    }

    @Test func `Two subscriptions with one label are one`() throws {
        let rig = try Self.rig(Self.every(1), Self.every(1))
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks == ["tick"])
    }

    @Test(arguments: [(Missed.once, 1), (.all, 5), (.none, 0)])
    func `A timer goes on over a restart, and missed times are treated as it says`(missed: Missed, count: Int) throws {
        let rig = try Self.rig(Self.every(2, missed: missed))
        let next = try rig.restarted(after: .milliseconds(10_500))
        next.round()
        #expect(try next.state().ticks.count == count)
        next.tick(.milliseconds(1_400))
        #expect(try next.state().ticks.count == count)
        next.tick(.milliseconds(100))
        #expect(try next.state().ticks.count == count + 1)
    }

    /// The state after one round of so many turns, with two inputs beside a timer that has 300 times to make up for.
    ///
    /// - Parameter former: how many inputs were taken before.
    private static func late(turnsPerRound: Int, behind former: Int = 0) throws -> Shop.State {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.turnsPerRound = turnsPerRound }
        rig.exchange(inputs([.watch([every(1, missed: .all)])]), from: client(1))
        for number in 0..<former { rig.exchange(inputs([.add(0)], from: number + 2), from: client(1)) }
        rig.commits = false
        rig.now = rig.now + .seconds(300)
        rig.deliver(inputs([.add(1), .add(1)], from: former + 2), from: client(1))
        rig.round()
        return try unpacked(Shop.State.self, rig.machine.stateBytes())
    }

    @Test func `Timers that make up for all that they missed do not hold up inputs`() throws {
        let state = try Self.late(turnsPerRound: 100)
        #expect(state.total == 2 && state.ticks.count < 100, "\(state.ticks.count)")
    }

    @Test(arguments: 0...3)
    func `Behind eight that are due, an input has its turn within a round of the four kinds`(behind former: Int) throws {
        let state = try Self.late(turnsPerRound: 8 + 4, behind: former)
        #expect(state.total == 1, "\(state.ticks.count)")
    }

    @Test func `Between two inputs, what is due has its turn as often as before the first`() throws {
        let state = try Self.late(turnsPerRound: 20)
        #expect(state.total == 1 && state.ticks.count == 19, "\(state.total), \(state.ticks.count)")
    }

    @Test func `Timers that fired while no input waited are not held against those that are due with one`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
        rig.exchange(inputs([.watch((1...9).map { Self.every(1, id: "\($0)") })]), from: client(1))
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks.count == 9)
        rig.now = rig.now + .seconds(1)
        rig.deliver(inputs([.add(1)], from: 2), from: client(1))
        rig.round()
        var items: [String] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                switch record.origin {
                case .client: items.append("input")
                case .subscription: items.append("timer")
                default: break
                }
            }
        }
        #expect(items.count == 20)
        #expect(Array(items.prefix(18)) == ["input"] + Array(repeating: "timer", count: 17), "eight go first again")
    }

    @Test func `A timer whose group breaks a limit ends the store, which says so`() throws {
        let engine = TypedEngine(Shop.self, secret: workshopSecret, limits: GroupLimits(turns: 5))
        let rig = try Rig(engine: engine)
        rig.connectClient()
        rig.exchange(inputs([.watch([Self.every(2, id: Shop.chainOfNine)])]), from: client(1))
        rig.tick(.milliseconds(1_999))
        #expect(rig.stop == nil)
        rig.tick(.milliseconds(1))
        guard case .groupLimit(let limit)? = rig.stop else {
            Issue.record("\(String(describing: rig.stop))")
            return
        }
        #expect(limit.kind == .turns && limit.limit == 5)
    }

    @Test func `A timer whose message cannot be read again ends the store, which names the turn`() throws {
        let rig = try Rig(
            engine: TypedEngine(Speechless.self, secret: workshopSecret),
            replica: TypedEngine(Speechless.self, secret: workshopSecret))
        rig.round()
        rig.tick(.milliseconds(1_999))
        #expect(rig.stop == nil && rig.durable.head == 1)
        rig.tick(.milliseconds(1))
        guard case .groupLimit(.unencodable(let text, let root))? = rig.stop else {
            Issue.record("\(String(describing: rig.stop))")
            return
        }
        #expect(root == 2 && text.hasPrefix("the message of a subscription cannot be read again: "))
        #expect(rig.stop?.isCuredByRestart == true && rig.durable.head == 1)
    }

    private static func engine(isTimed: Bool) -> any ProgramEngine {
        isTimed ? TypedEngine(Workshop<TimedEdition>.self, secret: workshopSecret) : TypedEngine(Shop.self, secret: workshopSecret)
    }

    @Test func `Behind a snapshot of a former build, a store has the subscriptions of its own, and no others`() throws {
        for isTimed in [true, false] {
            let former = try Rig(engine: Self.engine(isTimed: !isTimed), replica: Self.engine(isTimed: !isTimed))
            former.round()
            let rig = try Rig(
                snapshot: former.machine.snapshot(), now: at(1), engine: Self.engine(isTimed: isTimed),
                replica: Self.engine(isTimed: isTimed))
            #expect(rig.machine.turns.state.subscriptions.nextDue == (isTimed ? at(3) : nil))
            rig.round()
            #expect(try rig.state().ticks == (isTimed ? ["back"] : []))
            rig.tick(.milliseconds(1_999))
            #expect(try rig.state().ticks == (isTimed ? ["back"] : []))
            rig.tick(.milliseconds(1))
            #expect(try rig.state().ticks == (isTimed ? ["back", "every 2 s"] : []))
        }
    }

    @Test func `A timer that has fired goes on in a replay of a former build's turns as it did in the store`() throws {
        let former = try Rig(engine: Self.engine(isTimed: false), replica: Self.engine(isTimed: false))
        former.round()
        former.connectClient()
        former.exchange(inputs([.watch([Self.every(3)])]), from: client(1))
        let rig = try Rig(
            snapshot: former.machine.snapshot(), now: at(1), engine: Self.engine(isTimed: true),
            replica: Self.engine(isTimed: true))
        rig.round()
        func replayed() throws -> SubscriptionTable {
            var machine = Rig.machine(engine: Self.engine(isTimed: true))
            for batch in former.committedBatches + rig.committedBatches {
                try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
            }
            return machine.turns.state.subscriptions
        }
        let before = try replayed()
        let own: Label = "every 2 s"
        #expect(before.activations[own] != rig.durable.subscriptions.activations[own], "it began with another turn")
        rig.tick(.seconds(2))
        #expect(try rig.state().ticks == ["back", "tick", "every 2 s"])
        let after = try replayed()
        for label in [own, "tick"] { #expect(after.activations[label] == rig.durable.subscriptions.activations[label], "\(label)") }
        #expect(Set(after.activations.values.map(\.id)).count == 3)
    }

    @Test func `A new timeline is not back, and has its timers from the first turn on`() throws {
        let rig = try Rig(engine: Self.engine(isTimed: true), replica: Self.engine(isTimed: true))
        rig.round()
        #expect(try rig.state().ticks == [])
        rig.tick(.seconds(2))
        #expect(try rig.state().ticks == ["every 2 s"])
    }

    @Test func `A timer survives in a snapshot`() throws {
        let rig = try Self.rig(Self.every(2))
        rig.machine.saveSnapshot()
        rig.round()
        let snapshot = try #require(rig.snapshots.last)
        let next = try Rig(journal: rig.journal, snapshot: snapshot.bytes, now: at(2))
        next.round()
        #expect(try next.state().ticks == ["tick"])
    }

    @Test func `Whoever wants to know is told that the store is back, and that it is about to stop`() throws {
        let rig = try Self.rig(Shop.Watch(id: "back", moment: 1), Shop.Watch(id: "stop", moment: 2))
        #expect(try rig.state().ticks == [])
        let next = try rig.restarted()
        next.round()
        #expect(try next.state().ticks == ["back"])
        next.machine.drain(within: .seconds(1), now: next.now)
        next.round()
        #expect(try next.state().ticks == ["back", "stop"])
    }

    @Test func `All who want to know that it is about to stop are told, though one round has not the turns for them`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.turnsPerRound = 1 }
        let watches = ["a", "b", "c"].map { Shop.Watch(id: $0, moment: 2) }
        rig.exchange(inputs([.watch(watches)]), from: client(1))
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.round()
        #expect(rig.stop == .drained)
        #expect(try rig.state().ticks == ["a", "b", "c"])
    }

    @Test func `A moment is not told to a subscription that an answer has ended before`() throws {
        let rig = try Self.rig(Shop.Watch(id: "stop", moment: Lifecycle.draining.rawValue))
        rig.order(job("a"), sequence: 2)
        let task = try #require(rig.takeTasks(worker(1)).first)
        // Both have come when the next turn is taken, and answers go first.
        rig.machine.drain(within: .seconds(1), now: rig.now)
        let answer = JobResult.Answer.done([packed(Shop.Message.watch([]))])
        rig.exchange(.result([task.result(answer)], credit: 9), from: worker(1))
        #expect(try rig.state().ticks == [])
        let isStopped = rig.machine.isStopped
        #expect(isStopped, "and nothing waits for it")
    }

    /// Whether the store tells within about two seconds that it has nothing left to do.
    private static func tellsOfRest(_ rig: Rig) -> Bool {
        rig.exchange(.ping(9), from: worker(1))
        // The newest view goes before.
        rig.tick(.milliseconds(100))
        _ = rig.takePublished()
        rig.tick(.seconds(2))
        return rig.takePublished().contains { if case .tick(_, _, _, idle: true) = $0 { true } else { false } }
    }

    @Test func `A program that waits for a timer is not idle`() throws {
        let rig = try Self.rig(Self.every(60))
        #expect(!Self.tellsOfRest(rig))
    }

    @Test(arguments: [false, true])
    func `A program is idle when its source has ended or is dead, and not while that runs`(_ dies: Bool) throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen", diesSilently: true)))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(!Self.tellsOfRest(rig))
        let answer = dies ? task.failed(permanent: true) : task.answered("over")
        rig.exchange(.result([answer], credit: 9), from: worker(1))
        #expect(rig.durable.ledger.dead.count == (dies ? 1 : 0) && rig.durable.subscriptions.activations.count == 1)
        #expect(Self.tellsOfRest(rig))
    }

    // MARK: Sources

    @Test func `A source is an effect for as long as it is wanted`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen")))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(task.name == "listen")
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        #expect(rig.take(worker(1)) == [])
        rig.exchange(inputs([.watch([])], from: 3), from: client(1))
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `A source is tried again for ever, and keeps nobody from settling`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen")))
        for _ in 0..<20 {
            let task = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([task.failed()], credit: 99), from: worker(1))
            for _ in 0..<70 {
                rig.deliver(.ping(99), from: worker(1))
                rig.tick(.seconds(1))
            }
        }
        #expect(rig.durable.ledger.isSettled(3))
        #expect(rig.durable.ledger.dead.isEmpty)
    }

    @Test func `A dead source is requeued only while it is wanted, or it would run beside the one that is wanted now`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen", diesSilently: true)))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([first.failed(permanent: true)], credit: 9), from: worker(1))
        #expect(rig.ask("requeue", ["all": true])?.value["requeued"] == .array([.string("\(first.effect)")]))
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.effect == first.effect)
        rig.exchange(.result([again.failed(permanent: true)], credit: 9), from: worker(1))

        rig.exchange(inputs([.watch([])], from: 2), from: client(1))
        rig.exchange(
            inputs([.watch([Shop.Watch(id: "feed", source: job("listen", diesSilently: true))])], from: 3), from: client(1))
        let second = try #require(rig.takeTasks(worker(1)).first)
        #expect(second.effect != first.effect)
        #expect(rig.ask("requeue", ["all": true])?.value["requeued"] == .array([]))
        #expect(
            rig.ask("requeue", effect: "\(first.effect)")?.refusal
                == "effect \(first.effect) is of a source that the program does not want any more: drop it")
        #expect(rig.takeTasks(worker(1)) == [] && rig.durable.ledger.open.count == 1)
        #expect(rig.ask("drop", effect: "\(first.effect)")?.refusal == nil)
        #expect(rig.durable.ledger.dead.isEmpty)
    }

    @Test func `A dead source that the program requeues runs again while it is wanted, and is dropped when it is not`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen", diesSilently: true)))
        let requeue = Shop.Input.wish([Shop.Wish(verb: "requeue", queue: "default")])
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([first.failed(permanent: true)], credit: 9), from: worker(1))
        rig.exchange(inputs([requeue], from: 2), from: client(1))
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.effect == first.effect)
        rig.exchange(.result([again.failed(permanent: true)], credit: 9), from: worker(1))

        rig.exchange(inputs([.watch([])], from: 3), from: client(1))
        #expect(rig.durable.ledger.dead.count == 1)
        rig.exchange(inputs([requeue], from: 4), from: client(1))
        #expect(rig.takeTasks(worker(1)) == [])
        #expect(rig.durable.ledger.open.isEmpty && rig.durable.ledger.dead.isEmpty)
        var dropped: [Origin] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if record.event == .dropped(first.effect) { dropped.append(record.origin) }
            }
        }
        #expect(dropped == [.store], "a journal without that record is replayed as it was")
        let counted = rig.machine.scheduler.dispatcher.meters.closings(0, .dropped)
        #expect(counted == 1, "as metrics tell it")
        let waits = rig.machine.scheduler.dispatcher.waits(first.effect)
        #expect(waits == nil, "what is dropped waits for no worker")
    }

    @Test func `What the end of a source orders is an effect like any other`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen")))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let end = MessageList([packed(Shop.Message.finished("over")), packed(Shop.Message.order([job("b")]))])
        #expect(rig.exchange(.result([task.result(.done(end))], credit: 9), from: worker(1)).tasks.map(\.name) == ["b"])
        #expect(rig.durable.ledger.open.values.map(\.isSource) == [false])
    }

    @Test func `The failure of a source begins a chain of its own`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen")))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed(permanent: true)], credit: 9), from: worker(1))
        var failures: [Record] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .failure = record.origin { failures.append(record) }
            }
        }
        #expect(failures.count == 1 && failures.allSatisfy { $0.root == $0.turn })
    }

    @Test func `A restart begins nothing anew whose times are no whole microseconds`() throws {
        func engine() -> any ProgramEngine { TypedEngine(Uneven.self, secret: workshopSecret) }
        let rig = try Rig(engine: engine(), replica: engine())
        rig.round()
        let before = rig.machine.turns.state.subscriptions
        let later = try Rig(snapshot: rig.machine.snapshot(), now: at(1), engine: engine(), replica: engine())
        #expect(later.machine.turns.state.subscriptions == before && before.activations.count == 2)
    }

    @Test func `What begins with a start has one name live and in a replay, whatever the start has accepted`() throws {
        let former = try Rig()
        former.round()
        let divergence = Divergence(turn: 1, origin: .store, message: [], recorded: 1, hash: 7, orders: [])
        let rig = try Rig(
            snapshot: former.machine.snapshot(), now: at(1), engine: Self.engine(isTimed: true),
            replica: Self.engine(isTimed: true), accepting: [divergence])
        rig.round()
        #expect(rig.machine.turns.state.subscriptions == rig.durable.subscriptions)
        rig.tick(.seconds(2))
        #expect(rig.durable.subscriptions.nextDue == at(5), "a replay knows that it has fired")
    }

    @Test func `A source that the build does not want any more ends, and is not parked with an accepted turn`() throws {
        func engine() -> any ProgramEngine { TypedEngine(Workshop<ListeningEdition>.self, secret: workshopSecret) }
        let former = try Rig(engine: engine(), replica: engine())
        former.round()
        #expect(former.durable.ledger.open.keys.map(\.turn) == [1])
        let divergence = Divergence(turn: 1, origin: .store, message: [], recorded: 1, hash: 7, orders: [])
        let rig = try Rig(snapshot: former.machine.snapshot(), now: at(1), accepting: [divergence])
        rig.round()
        #expect(rig.machine.turns.state.ledger.open.isEmpty && rig.machine.turns.state.ledger.dead.isEmpty)
        #expect(try rig.machine.turns.state.differences(from: rig.durable) == [], "a replay knows the same")
        rig.connectWorker()
        #expect(rig.takeTasks(worker(1)).isEmpty)
    }

    @Test func `A source outlives any number of workers, and its program never hears of their deaths`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen")))
        _ = rig.takeTasks(worker(1))
        for number in UInt8(2)...8 {
            rig.machine.workerDied(workerID(number - 1), "killed", now: rig.now)
            rig.tick(.seconds(70))
            #expect(rig.connectWorker(number).tasks.map(\.name) == ["listen"])
        }
        #expect(rig.durable.ledger.dead.isEmpty)
        #expect(try rig.state().done == [])
    }

    @Test func `A source outlives more workers than it has attempts, and is given up when its handler throws then`() throws {
        let rig = try Self.rig(Shop.Watch(id: "feed", source: job("listen", attempts: 2)))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["listen"])
        var tasks: [JobTask] = []
        for number in UInt8(2)...4 {
            rig.machine.workerDied(workerID(number - 1), "killed", now: rig.now)
            rig.round()
            #expect(rig.durable.ledger.open.values.allSatisfy { $0.notBefore > rig.now }, "the pause is that of its retry")
            rig.tick(.seconds(10))
            tasks = rig.connectWorker(number).tasks
            #expect(tasks.map(\.name) == ["listen"])
        }
        #expect(rig.durable.ledger.dead.isEmpty)
        #expect(try rig.state().done == [])
        let task = try #require(tasks.first)
        rig.exchange(.result([task.failed()], credit: 2), from: worker(4))
        #expect(rig.durable.ledger.open.isEmpty)
        #expect(try rig.state().done == ["listen failed after 4 attempts: no luck"])
    }
}

/// A program whose times are no whole microseconds.
private enum Uneven: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case ticked }
    typealias Effect = Int

    private static let odd = Duration.nanoseconds(3_333_333_333)

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> { .none }
    static func subscriptions(_ state: State) -> [Subscription<Self>] {
        [
            .every(odd, id: "tick", send: .ticked),
            .source(7, id: "feed", retry: .backoff(first: odd, max: odd, attempts: .max)),
        ]
    }
    static func failed(_ effect: Int, _ failure: Failure) -> Message? { nil }
}

/// A program whose timer sends what cannot be encoded.
private enum Speechless: Program {
    struct State: Portable {}
    typealias Input = Message
    typealias ViewState = Int

    enum Message: Portable {
        case nothing

        struct Mute: Error {}

        init(from decoder: any Decoder) throws { self = .nothing }
        func encode(to encoder: any Encoder) throws { throw Mute() }
    }

    static var schema: Schema { shop }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> { .none }
    static func subscriptions(_ state: State) -> [Subscription<Self>] { [.every(.seconds(2), id: "mute", send: .nothing)] }
    static func view(_ state: State) -> Int { 0 }
}
