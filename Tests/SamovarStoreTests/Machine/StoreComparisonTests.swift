import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What a snapshot holds, and how two machines are compared.
@Suite struct StoreComparisonTests {
    /// A store that has something of everything that a journal determines.
    private static func rich() throws -> Rig {
        var settings = StoreSettings()
        settings.sessionIdle = .seconds(20)
        settings.durableSessionIdle = .seconds(90)
        let rig = try Rig(settings)
        for number: UInt8 in 1...3 {
            rig.connectClient(number)
            rig.exchange(inputs([.add(1), .forbidden]), from: client(number))
        }
        rig.exchange(.hello(Hello(role: .client(session: session(1)), schema: shop, epoch: 2, isDurable: true)), from: client(1))
        rig.exchange(.goodbye, from: client(2))
        rig.connectWorker(slots: 9, credit: 9)
        let watches = [
            StoreTimerTests.every(100), Shop.Watch(id: "back", moment: 1),
            Shop.Watch(id: "feed", source: job("listen", queue: "io")),
        ]
        let jobs = [
            job("dead", diesSilently: true), job("failed", attempts: 3), job("streams"),
            job("waits", queue: "nobody's", delay: 500),
            Shop.Job(name: "serial", id: "one", policy: "serial", limit: 2, priority: 7, waiting: 900, total: 950),
            Shop.Job(name: "cancelled", id: "two"),
        ]
        let more: [Shop.Input] = [.watch(watches), .order(jobs), .cancel("two"), .emit(["x", "y"])]
        rig.exchange(inputs(more, from: 3), from: client(1))
        let tasks = rig.takeTasks(worker(1))
        func task(_ name: String) throws -> JobTask { try #require(tasks.first { $0.name == name }) }
        let message = packed(Shop.Message.finished("one"))
        let streamed = try task("streams").result(.streamed(index: 1, message: message, checkpoint: [7]))
        rig.exchange(.result([try task("dead").failed(), try task("failed").failed(), streamed], credit: 9), from: worker(1))
        for _ in 0..<25 {
            rig.deliver(.ping(9), from: worker(1))
            rig.exchange(.ping(2), from: client(1))
            rig.tick(.seconds(1))
        }
        let later = try rig.restarted()
        later.connectWorker(2)
        return later
    }

    @Test func `A snapshot brings back everything that a replay does`() throws {
        let rig = try Self.rich()
        let state = rig.machine.turns.state
        // So that nothing of this is compared with nothing.
        #expect(state.sessions.sessions.count == 1 && !state.sessions.expired.ids.isEmpty && !state.sessions.closed.ids.isEmpty)
        #expect(state.ledger.dead.count == 1 && state.ledger.cancelled.count == 1 && state.ledger.open.count == 5)
        #expect(state.subscriptions.activations.count == 3 && state.outputs.outputs.count == 2)
        #expect(state.joined.count == 2 && state.missing.count == 1 && state.starts == 2)

        var restored = Rig.machine()
        try restored.restore(snapshot: try rig.machine.snapshot())
        let parts = try rig.machine.differences(from: restored)
        let bytes = (try restored.snapshot(), try restored.digest())
        #expect(parts == [])
        #expect(try bytes.0 == rig.machine.snapshot() && bytes.1 == rig.machine.digest())
        let copy = restored.turns.state
        #expect(copy.sessions == state.sessions, "outcomes included")
        #expect(copy.missing == state.missing && copy.ledger == state.ledger)
        let (books, turn) = (restored.books, restored.snapshots.turn)
        #expect(books == rig.machine.books && turn == rig.machine.head)
        #expect(copy.ledger.changes == EffectLedger.Changes(), "nobody runs anything yet")

        var replayed = Rig.machine()
        for batch in rig.committedBatches { try replayed.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        let differences = try replayed.differences(from: restored)
        #expect(differences == [])
    }

    @Test func `Limits that no snapshot can hold are the same before and after one`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
        rig.order(
            Shop.Job(name: "a", id: "one", policy: "serial", limit: .max), Shop.Job(name: "b", id: "two", policy: "lane", limit: 0))
        var restored = Rig.machine()
        try restored.restore(snapshot: try rig.machine.snapshot())
        var replayed = Rig.machine()
        for batch in rig.committedBatches { try replayed.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        let differences = try replayed.differences(from: restored)
        #expect(differences == [] && rig.durable.ledger.open.count == 2)
    }

    @Test func `Each part in which two machines differ is named`() throws {
        let rig = try Self.rich()
        var other = Rig.machine()
        try other.restore(snapshot: try rig.machine.snapshot())
        let parts = [
            "turn", "time", "starts", "state", "effects", "subscriptions", "outputs", "sessions", "expired sessions",
            "closed sessions", "workers",
        ]
        let new = try Rig()
        new.round()
        let found = try new.machine.differences(from: rig.machine)
        #expect(found == parts)
        #expect(try new.machine.digest() != rig.machine.digest())
        var state = other.turns.state
        state.seed = [1]
        #expect(try rig.machine.turns.state.differences(from: state) == ["seed"])
        state = other.turns.state
        state.workerKeys[workerID(1)] = named("maker")
        #expect(try rig.machine.turns.state.differences(from: state) == ["workers"], "whose it is belongs to it")
    }

    @Test func `Subscriptions and the effects of their sources are compared, or neither`() throws {
        let rig = try Rig()
        rig.round()
        let state = rig.machine.turns.state
        var other = state
        let id = EffectID(turn: 1, ordinal: SubscriptionTable.firstSource)
        other.ledger.open(OpenEffect(id: id, root: 0, payload: [0], now: at(0)))
        other.ledger.forgetChanges()
        #expect(try state.differences(from: other) == ["effects"])
        let wanted = WantedEvent(id: "feed", kind: .source(payload: [0], RunOptions()))
        other.subscriptions.restore([SubscriptionTable.Activation(id: id, wanted: wanted)])
        #expect(try state.differences(from: other) == ["effects", "subscriptions"])
        #expect(try state.differences(from: other, subscriptions: false) == [])
        let failure = Failure(reason: .threw, text: "no", attempts: 1)
        other.ledger.bury(id, failure)
        #expect(try state.differences(from: other, subscriptions: false) == [], "dead or open")
        let job = EffectID(turn: 1, ordinal: 0)
        other.ledger.open(OpenEffect(id: job, root: 1, payload: [0], now: at(0)))
        other.ledger.forgetChanges()
        #expect(try state.differences(from: other, subscriptions: false) == ["effects"], "a job's effect is always compared")
        other.ledger.bury(job, failure)
        #expect(try state.differences(from: other, subscriptions: false) == ["effects"], "also when it is dead")
    }

    @Test func `The books tell of everything`() throws {
        let rig = try Self.rich()
        let books = rig.machine.books
        #expect(books.starts == 2 && books.open.map(\.id) == rig.machine.openEffects.map(\.id) && books.open.count == 5)
        #expect(books.open.map(\.failures).reduce(0, +) == 1 && books.open.compactMap(\.place).count == 1)
        #expect(books.dead == rig.machine.deadEffects.map(\.effect.id) && books.dead.count == 1)
        #expect(books.sessions == [session(1): 6] && books.endedSessions == [session(2), session(3)])
        #expect(books.workers == [workerID(1), workerID(2)] && books.subscriptions.count == 3)
        #expect(books.subscriptions.values.compactMap(\.self).count == 1)
        #expect(books.lastOutput == rig.machine.outputs(after: EffectID(turn: 0, ordinal: 0))?.last?.id)
        let turn = try #require(books.dead.first).turn
        let ordered = rig.machine.effects(orderedBy: turn)
        #expect(ordered.map(\.id.ordinal) == [0, 1, 2, 3, 4], "open and dead ones, and not the cancelled one")
        #expect(rig.machine.effects(orderedBy: turn + 1).isEmpty)
    }

    @Test func `A snapshot with an impossible number is refused`() throws {
        let rig = try StoreClientTests.rig()
        rig.exchange(inputs([.add(1), .add(2)]), from: client(1))
        for (last, sequence, isTaken) in [(2, 2, true), (1, 1, true), (1, 2, false), (2, 0, false)] {
            var state = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 9)
            try state.restore(try rig.machine.snapshot())
            state.sessions.restore(session(1), owner: nil, last: last, outcomes: [applied(sequence, 2)])
            let bytes = try state.snapshot()
            var machine = Rig.machine()
            var problem: (any Error)?
            do { try machine.restore(snapshot: bytes) } catch { problem = error }
            #expect((problem == nil) == isTaken, "outcome \(sequence) of \(last) inputs")
        }
    }

    @Test(arguments: [(0, true), (Int.max / 4, true), (-1, false), (Int.max / 4 + 1, false), (Int.max, false)])
    func `A count is far from where it would overflow`(_ number: Int, _ isCount: Bool) {
        var writer = MessagePackWriter()
        writer.write(number)
        var reader = MessagePackReader(writer.bytes)
        #expect((try? reader.readCount()) == (isCount ? number : nil))
    }
}
