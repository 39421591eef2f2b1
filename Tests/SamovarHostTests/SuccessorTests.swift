import Logging
import ProcessSupport
import SamovarCore
import SamovarWire
import SamovarWorker
import Synchronization
import Testing
import ZeroMQ

@testable import SamovarHost

private struct Oven: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case bake }
    struct Effect: Portable {}

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Oven> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Oven> { .none }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// Peers that know several stores of one timeline, of which one has taken over from the other.
@Suite struct SuccessorTests {
    private let context: Context

    init() throws { context = try Context() }

    private static func access(_ stores: StoreDouble...) throws -> StoreAccess {
        try StoreAccess(stores.map { "ipc://\($0.folder)" }.joined(separator: ","))
    }

    @Test(arguments: [false, true])
    func `Who knows a later start leaves the store of an earlier one for the next place`(_ isWorker: Bool) async throws {
        let (earlier, later) = (try StoreDouble(context, start: 4, turn: 9), try StoreDouble(context, start: 5, turn: 12))
        let access = try Self.access(earlier, later)
        let logger = Logger(label: "test")
        let client = try StoreClient(at: access, logger: logger)
        let worker = try WorkerHost(Worker<Oven> { _, _ in nil }, WorkerConfiguration(store: access), logger: logger)
        let run = Task { if isWorker { try await worker.run() } else { try await client.run() } }
        defer {
            worker.drain()
            client.close()
        }
        try await eventually("it is at the first place") {
            try earlier.work()
            return earlier.greetings >= 1
        }
        // From here on it is what is left of the store of a former start.
        earlier.start = 3
        let before = earlier.greetings
        try earlier.goodbye()
        try await eventually("it is at the second place") {
            try earlier.work()
            try later.work()
            return later.greetings >= 1
        }
        #expect(earlier.greetings > before, "it was asked once more, and not believed")
        worker.drain()
        client.close()
        try await run.value
    }

    @Test func `A worker that begins under the identity of a former one says HELLO with greater numbers`() async throws {
        let store = try StoreDouble(context)
        let configuration = WorkerConfiguration(store: try Self.access(store))
        for _ in 1...2 {
            let before = store.greetings
            let worker = try WorkerHost(Worker<Oven> { _, _ in nil }, configuration, logger: Logger(label: "test"))
            let run = Task { try await worker.run() }
            defer { worker.drain() }
            try await eventually("it is there") {
                try store.work()
                return store.greetings > before
            }
            try store.goodbye()
            try await eventually("it is there again") {
                try store.work()
                return store.greetings > before + 1
            }
            worker.drain()
            try await run.value
        }
        let epochs = store.hellos.map(\.epoch)
        #expect(zip(epochs, epochs.dropFirst()).allSatisfy { $0 < $1 }, "\(epochs)")
    }

    @Test func `What is shown follows the connection, though the store of before goes on publishing`() async throws {
        let (earlier, later) = (try StoreDouble(context, start: 4, turn: 9), try StoreDouble(context, start: 5, turn: 12))
        let client = try StoreClient(at: try Self.access(earlier, later), logger: Logger(label: "test"))
        let run = Task { try await client.run() }
        defer { client.close() }
        let shown = Mutex<[Int]>([])
        let watch = Task {
            for await event in client.views() { if case .view(let view) = event { shown.withLock { $0.append(view.turn) } } }
        }
        try await eventually("the view of the first is shown") {
            try earlier.work()
            return shown.withLock { $0.last } == 9
        }
        earlier.start = 3
        try earlier.goodbye()
        try await eventually("the view of the second is shown") {
            try earlier.work()
            try later.work()
            return shown.withLock { $0.last } == 12
        }
        client.close()
        try await run.value
        await watch.value
        let turns = shown.withLock { $0 }
        #expect(turns == turns.sorted() && Set(turns) == [9, 12])
    }
}
