import Foundation
import Logging
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarWire
import SamovarWorker
import Synchronization
import Testing
import ZeroMQ

@testable import SamovarHost

private struct Kiln: OpenProgram {
    struct State: Portable {}
    enum Message: Portable { case fire }
    struct Effect: Portable {}

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Kiln> { .state(State()) }
    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Kiln> { .none }
    static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
}

/// Services whose task is cancelled, as by a group in which another one has failed, or that are run again.
@Suite struct CancellationTests {
    private let logger = Logger(label: "test")

    /// - Parameter hidesIt: the handler answers as if it had done its work.
    @Test(arguments: [false, true])
    func `A worker whose task is cancelled gives its jobs back and ends`(_ hidesIt: Bool) async throws {
        let store = try StoreDouble(try Context())
        store.answers = { frame in
            guard case .result(let results, _) = frame else { return [] }
            return [.acknowledge(results.map(\.lease))]
        }
        let begun = Mutex(0)
        var configuration = WorkerConfiguration(store: try StoreAccess("ipc://\(store.folder)"))
        (configuration.slots, configuration.readAhead) = (2, 1)
        let worker = try WorkerHost(
            Worker<Kiln> { _, _ in
                begun.withLock { $0 += 1 }
                do {
                    try await Task.sleep(for: .seconds(600))
                } catch {
                    if !hidesIt { throw error }
                }
                return nil
            },
            configuration, logger: logger)
        let hasEnded = Mutex(false)
        let run = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await worker.run()
        }
        defer { worker.drain() }
        try await eventually("it wants jobs") {
            try store.work(publishes: false)
            return store.heard.contains { $0.kind == .credit }
        }
        let payload = try MessagePackEncoder().encode(Kiln.Effect())
        let tasks = (1...3).map { number in
            JobTask(
                effect: EffectID(turn: number, ordinal: 0), lease: Lease(start: 1, counter: number), token: 0, attempt: 1,
                payload: payload[...])
        }
        try store.tell(.task(tasks, number: 3))
        try await eventually("two of them run") {
            try store.work(publishes: false)
            return begun.withLock { $0 == 2 }
        }
        run.cancel()
        try await eventually("it has ended") {
            try store.work(publishes: false)
            return hasEnded.withLock { $0 }
        }
        try await run.value
        var answers: [JobResult.Answer] = []
        for case .result(let results, _) in store.heard { answers += results.map(\.answer) }
        #expect(answers == [.returned, .returned, .returned])
        #expect(begun.withLock { $0 } == 2, "the one that waited did not begin")
    }

    @Test func `A store whose task is cancelled ends in order`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let endpoint = try Endpoint("ipc://\(scratch.folder("sockets"))", dataFolder: data)
        let store = try Store<Kiln>(StoreConfiguration(dataFolder: data, endpoint: endpoint), logger: logger)
        let hasEnded = Mutex(false)
        let run = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await store.run()
        }
        defer { store.drain(within: .zero) }
        try await eventually("it listens") { FileManager.default.fileExists(atPath: scratch.folder("sockets/front")) }
        run.cancel()
        try await eventually("it has ended") { hasEnded.withLock { $0 } }
        try await run.value
    }

    @Test(arguments: [false, true])
    func `A worker that has ended ends again when it is run again, and in the same way`(_ isRefused: Bool) async throws {
        let store = try StoreDouble(try Context())
        let worker = try WorkerHost(
            Worker<Kiln> { _, _ in nil }, WorkerConfiguration(store: try StoreAccess("ipc://\(store.folder)")), logger: logger)
        let refusals = Mutex<[Bool]>([])
        let runs = Task {
            for _ in 1...2 {
                do {
                    try await worker.run()
                    refusals.withLock { $0.append(false) }
                } catch {
                    refusals.withLock { $0.append(error is WorkerError) }
                }
            }
        }
        try await eventually("it is connected") {
            try store.work(publishes: false)
            return store.greetings >= 1
        }
        if !isRefused { worker.drain() }
        try await eventually("both runs have ended") {
            try store.work(publishes: false)
            // Again and again, since a worker that was answered late has another connection.
            if isRefused { try store.tell(.error(PeerError(.schema, "it runs another program"))) }
            return refusals.withLock { $0.count == 2 }
        }
        await runs.value
        #expect(refusals.withLock { $0 } == [isRefused, isRefused])
    }
}
