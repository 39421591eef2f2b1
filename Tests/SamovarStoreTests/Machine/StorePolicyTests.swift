import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Labels, policies, cancellation, priorities and limits, as one client and one worker see them.
@Suite struct StorePolicyTests {
    static func rig(slots: Int = 9, credit: Int = 9) throws -> Rig { try StoreWorkerTests.rig(slots: slots, credit: credit) }

    static func job(_ name: String, id: String? = "label", _ policy: String = "all", limit: Int = 0) -> Shop.Job {
        Shop.Job(name: name, id: id, policy: policy, limit: limit)
    }

    // MARK: Cancelling

    @Test func `A cancelled effect is taken from its worker, and a late answer is acknowledged and not applied`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"), Self.job("b", id: "other"))
        let tasks = rig.takeTasks(worker(1))
        rig.exchange(inputs([.cancel("label")], from: 2), from: client(1))
        #expect(rig.take(worker(1)) == [.cancel([tasks[0].lease], number: 1)])
        #expect(rig.durable.ledger.open.keys.map(\.ordinal) == [1])
        #expect(rig.exchange(.result([tasks[0].answered("late")], credit: 9), from: worker(1)) == [.acknowledge([tasks[0].lease])])
        #expect(try rig.state().done == [])
    }

    @Test func `A cancelled effect that waits is never handed out`() throws {
        let rig = try Self.rig(credit: 0)
        rig.order(Self.job("a"), Self.job("b", id: "other"))
        rig.exchange(inputs([.cancel("label")], from: 2), from: client(1))
        rig.exchange(.credit(9), from: worker(1))
        #expect(rig.takeTasks(worker(1)).map(\.name) == [])
        rig.tick(.seconds(1))
        #expect(rig.durable.ledger.open.count == 1)
    }

    @Test func `A receipt lists what was cancelled`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a"))
        rig.deliver(.settle(turn: 3), from: client(1))
        rig.round()
        _ = rig.take(client(1))
        let frames = rig.exchange(inputs([.cancel("label")], from: 2), from: client(1))
        #expect(frames.contains(.settled(turn: 3, dead: ["effect 3/0, “label”, was cancelled"])))
    }

    // MARK: Policies

    @Test func `Latest cancels what is open with its label`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "latest"))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.order(Self.job("b", "latest"), sequence: 2)
        let frames = rig.take(worker(1))
        #expect(frames.tasks.map(\.name) == ["b"])
        #expect(frames.contains(.cancel([first.lease], number: 1)))
        #expect(rig.durable.ledger.open.count == 1)
    }

    @Test func `First passes over what comes while one is open`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "first"))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.order(Self.job("b", "first"), sequence: 2)
        #expect(rig.takeTasks(worker(1)) == [])
        rig.exchange(.result([first.answered("a")], credit: 9), from: worker(1))
        rig.order(Self.job("c", "first"), sequence: 3)
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["c"])
    }

    @Test func `An answer frees its label before the effects that it orders`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "first"))
        let first = try #require(rig.takeTasks(worker(1)).first)
        let again = packed(Shop.Message.order([Self.job("b", "first")]))
        rig.deliver(.result([first.result(.done([again]))], credit: 9), from: worker(1))
        rig.round()
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["b"])
        #expect(rig.durable.ledger.open.count == 1, "and a replay sees it the same way")
    }

    @Test func `Serial effects run one after the other, over all workers`() throws {
        let rig = try Self.rig()
        rig.connectWorker(2, slots: 4, credit: 4)
        rig.order(Self.job("a", "serial", limit: 9), Self.job("b", "serial", limit: 9), Self.job("x", id: nil))
        let tasks = rig.takeTasks(worker(1)) + rig.takeTasks(worker(2))
        #expect(tasks.map(\.name).sorted() == ["a", "x"])
        let first = try #require(tasks.first { $0.name == "a" })
        rig.deliver(.result([first.failed()], credit: 9), from: worker(1))
        rig.round()
        #expect((rig.takeTasks(worker(1)) + rig.takeTasks(worker(2))).map(\.name) == ["b"])
    }

    @Test func `A serial effect beyond the limit fails at once, and the program is told`() throws {
        let rig = try Self.rig()
        rig.order(Self.job("a", "serial", limit: 2), Self.job("b", "serial", limit: 2), Self.job("c", "serial", limit: 2))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a"])
        #expect(
            try rig.state().done == [
                "c found too many others with its label after 0 attempts: 2 effects “label” are open, which is its limit"
            ])
        #expect(rig.durable.ledger.open.count == 2)
        #expect(!rig.notes.contains { $0.text.contains("too many others") }, "the program has set the limit, and hears of it")
    }

    @Test func `All that are beyond the limit fail, though one round has not the turns for them`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.turnsPerRound = 1 }
        let jobs = ["a", "b", "c", "d"].map { Self.job($0, "serial", limit: 1) }
        rig.deliver(inputs([.order(jobs)]), from: client(1))
        rig.round()
        #expect(try rig.state().done.count == 3)
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a"])
    }

    @Test(arguments: [(Stubborn.crowded, 150), (Stubborn.withoutTimeToWait, 80), (Stubborn.withoutTime, 40)])
    func `A program that orders again whenever it is too many, or has no time, holds up neither inputs nor timers`(
        _ effect: Int, _ refusals: Int
    ) throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 100
        func engine() -> any ProgramEngine { TypedEngine(Stubborn.self, secret: workshopSecret) }
        let rig = try Rig(settings, engine: engine(), replica: engine())
        rig.connectClient()
        // One round for each that is asked for: there is always more to do.
        rig.commits = false
        func send(_ message: Stubborn.Message, _ sequence: Int) {
            rig.deliver(.send([Submission(sequence: sequence, input: packed(message))], confirmed: 0), from: client(1))
            rig.round()
        }
        send(.order(effect), 1)
        rig.now = at(2)
        send(.add, 2)
        let state = try unpacked(Stubborn.State.self, rig.machine.stateBytes())
        #expect(state.added == 1 && state.ticks == 1)
        #expect(state.refused > refusals, "it is told at once")
    }

    @Test func `After a restart serial effects are still serial, and a crowded one still fails`() throws {
        let rig = try Self.rig(credit: 0)
        rig.commits = false
        rig.order(Self.job("a", "serial", limit: 1), Self.job("b", "serial", limit: 1))
        while rig.commit() {}
        let next = try rig.restarted(after: .seconds(10))
        next.tick(.seconds(10))
        #expect(try next.state().done.count == 1)
        #expect(next.connectWorker(slots: 4, credit: 4).tasks.map(\.name) == ["a"])
    }

    // MARK: Order and limits

    @Test func `The greater priority goes first, and equal ones in order`() throws {
        let rig = try Self.rig(credit: 0)
        let jobs = [("a", 0), ("b", 5), ("c", -5), ("d", 5), ("e", 0)].map { Shop.Job(name: $0.0, priority: $0.1) }
        rig.deliver(inputs([.order(jobs)]), from: client(1))
        rig.round()
        rig.deliver(.credit(9), from: worker(1))
        rig.round()
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["b", "d", "a", "e", "c"])
    }

    @Test func `An effect that no worker takes in time fails`() throws {
        let rig = try Self.rig(credit: 0)
        rig.order(Shop.Job(name: "a", attempts: 9, waiting: 3))
        rig.tick(.seconds(2))
        #expect(try rig.state().done == [])
        rig.tick(.seconds(1))
        #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 3.0 seconds"])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `An effect that was given back waits anew`() throws {
        let rig = try Self.rig(slots: 1, credit: 1)
        rig.order(Shop.Job(name: "a", waiting: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.seconds(2))
        rig.exchange(.result([task.result(.returned)], credit: 1), from: worker(1))
        rig.tick(.milliseconds(2_999))
        #expect(try rig.state().done == [])
        rig.tick(.milliseconds(1))
        #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 3.0 seconds"])
    }

    @Test func `An effect that runs is not waiting`() throws {
        let rig = try Self.rig()
        rig.order(Shop.Job(name: "a", waiting: 3))
        for _ in 0..<10 {
            rig.exchange(.ping(9), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.durable.ledger.open.count == 1)
    }

    @Test func `All attempts together have a limit, and whoever runs the last is told`() throws {
        let rig = try Self.rig()
        rig.order(Shop.Job(name: "a", attempts: 9, total: 3))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([first.failed()], credit: 9), from: worker(1))
        rig.tick(.seconds(2))
        let second = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.seconds(1))
        #expect(rig.take(worker(1)).contains(.cancel([second.lease], number: 1)))
        #expect(try rig.state().done == ["a timed out after 1 attempt: not done within 3.0 seconds"])
    }

    @Test func `An effect whose answer gives it back as its time ends fails all the same`() throws {
        // What is overdue has its turn before the answer.
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.turnsPerRound = 9 }
        rig.order(Shop.Job(name: "a", attempts: 9, total: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.now = rig.now + .seconds(3)
        rig.exchange(.result([task.result(.returned)], credit: 9), from: worker(1))
        #expect(try rig.state().done == [])
        rig.round()
        #expect(try rig.state().done == ["a timed out after 0 attempts: not done within 3.0 seconds"])
    }

    @Test(arguments: [false, true])
    func `That limit holds over a restart, whether or not a worker of before may still run the effect`(_ hasLeft: Bool) throws {
        let rig = try Self.rig()
        rig.order(Shop.Job(name: "a", attempts: 9, total: 10))
        if hasLeft { rig.exchange(.goodbye, from: worker(1)) }
        let later = try rig.restarted(after: .seconds(1))
        for _ in 1...8 { later.tick(.seconds(1)) }
        #expect(try later.state().done == [])
        later.tick(.seconds(1))
        #expect(try later.state().done == ["a timed out after 0 attempts: not done within 10.0 seconds"])
    }

    @Test func `All attempts have that time again when an operator requeues the effect`() throws {
        let rig = try Self.rig()
        rig.order(Shop.Job(name: "a", diesSilently: true, total: 3))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([first.failed(permanent: true)], credit: 9), from: worker(1))
        rig.tick(.seconds(2))
        #expect(rig.ask("requeue", effect: "\(first.effect)") != nil)
        rig.tick(.seconds(2))
        #expect(rig.durable.ledger.open.count == 1 && rig.durable.ledger.dead.isEmpty, "3 s after the order")
        rig.tick(.seconds(1))
        #expect(rig.durable.ledger.dead.values.map(\.failure.reason) == [.timedOut])
    }

    @Test func `Outputs are kept in order, with the turn and the place that name them`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.emit(["x", "y"]), .emit(["z"])]), from: client(1))
        let outputs = rig.durable.outputs.outputs(after: EffectID(turn: 0, ordinal: 0), bytes: 1_000)
        #expect(outputs?.map { "\($0.id)" } == ["3/0", "3/1", "4/0"])
        #expect(try outputs?.map { try unpacked(String.self, $0.bytes) } == ["x", "y", "z"])
        #expect(rig.durable.outputs.outputs(after: EffectID(turn: 3, ordinal: 0), bytes: 1_000)?.count == 2)
    }
}

/// A program that does not take no for an answer.
private enum Stubborn: OpenProgram {
    struct State: Portable {
        var added = 0
        var ticks = 0
        var refused = 0
    }

    enum Message: Portable { case order(Int), again(Int), add, ticked }
    typealias Effect = Int

    static var crowded: Effect { 1 }
    static var withoutTimeToWait: Effect { 2 }
    static var withoutTime: Effect { 3 }

    static var schema: Schema { shop }
    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
        switch message {
        case .order(let effect): return .batch([run(effect), run(effect)])
        case .again(let effect):
            state.refused += 1
            return run(effect)
        case .add: state.added += 1
        case .ticked: state.ticks += 1
        }
        return .none
    }

    private static func run(_ effect: Effect) -> Command<Self> {
        switch effect {
        case crowded: .run(effect, id: "label", policy: .serial(limit: 1))
        case withoutTimeToWait: .run(effect, RunOptions(limits: RunLimits(waiting: .zero)))
        default: .run(effect, RunOptions(limits: RunLimits(total: .zero)))
        }
    }

    static func subscriptions(_ state: State) -> [Subscription<Self>] { [.every(.seconds(2), id: "tick", send: .ticked)] }
    static func failed(_ effect: Int, _ failure: Failure) -> Message? { .again(effect) }
}
