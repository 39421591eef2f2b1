import Foundation
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
    private static let timeline = Timeline(high: 7, low: 7)
    private let context: Context

    init() throws { context = try Context() }

    /// The sockets of a store, which welcomes whoever says HELLO and publishes ticks.
    private final class Double {
        let folder: String
        var start: Int
        /// Of the view that it shows.
        let turn: Int
        private(set) var greetings = 0
        /// What came of peers beside HELLO and PING.
        private(set) var heard: [FrameKind] = []
        private var front: Socket
        private var work: Socket
        private var view: Socket
        private var peers: Set<[UInt8]> = []

        init(_ context: Context, start: Int, turn: Int) throws {
            folder = "/tmp/samovar-test-\(UInt32.random(in: .min ... .max))"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            var front = try Socket(context, .router, options: .front)
            try front.bind("ipc://\(folder)/front")
            var work = try Socket(context, .router, options: .work)
            try work.bind("ipc://\(folder)/work")
            var view = try Socket(context, .extendedPublisher, options: .view)
            try view.bind("ipc://\(folder)/view")
            self.front = front
            self.work = work
            self.view = view
            (self.start, self.turn) = (start, turn)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }  // What is left is in a folder for such things.

        /// Answers all that has come, and publishes.
        func work(publishes: Bool = true) throws {
            while let message = try front.receive() { try answer(message.frames, &front) }
            while let message = try work.receive() { try answer(message.frames, &work) }
            guard publishes else { return }
            let topic = viewTopic(of: .main)
            for frame in [
                Frame.view(instance: .main, turn: turn, bytes: [UInt8(turn)]),
                .tick(instance: .main, head: turn, view: turn, idle: false),
            ] {
                _ = try view.send([topic] + Envelope(frame, timeline: SuccessorTests.timeline).parts)
            }
        }

        private func answer(_ frames: [[UInt8]], _ socket: inout Socket) throws {
            let envelope = try Envelope(parts: Array(frames.dropFirst()))
            let answer: Frame
            switch envelope.frame {
            case .hello:
                greetings += 1
                peers.insert(frames[0])
                answer = .welcome(Welcome(schema: Schema(name: "Lamp", version: 1), start: start, head: turn, silence: .seconds(6)))
            case .ping: answer = .pong(0)
            default: return heard.append(envelope.kind)
            }
            _ = try socket.send([frames[0]] + Envelope(answer, timeline: SuccessorTests.timeline).parts)
        }

        /// Sends its peers away; it goes on listening.
        func goodbye() throws {
            for peer in peers {
                let parts = Envelope(.goodbye, timeline: SuccessorTests.timeline).parts
                _ = try front.send([peer] + parts)
                _ = try work.send([peer] + parts)
            }
            peers = []
        }
    }

    private static func access(_ stores: Double...) throws -> StoreAccess {
        try StoreAccess(stores.map { "ipc://\($0.folder)" }.joined(separator: ","))
    }

    @Test(arguments: [false, true])
    func `Who knows a later start leaves the store of an earlier one for the next place`(_ isWorker: Bool) async throws {
        let (earlier, later) = (try Double(context, start: 4, turn: 9), try Double(context, start: 5, turn: 12))
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

    @Test func `What is shown follows the connection, though the store of before goes on publishing`() async throws {
        let (earlier, later) = (try Double(context, start: 4, turn: 9), try Double(context, start: 5, turn: 12))
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
