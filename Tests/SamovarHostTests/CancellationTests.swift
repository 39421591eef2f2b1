import Foundation
import Logging
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarWire
import SamovarWorker
import ServiceLifecycle
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

    @Test func `What the environment of a worker runs goes on while the worker shuts down, as its handlers do`() async throws {
        let store = try StoreDouble(try Context())
        store.answers = { frame in
            switch frame {
            case .send(let inputs, _):
                [.receipt(inputs.map { Outcome(sequence: $0.sequence, turn: 5, verdict: .applied) }, credit: 9)]
            case .result(let results, _): [.acknowledge(results.map(\.lease))]
            default: []
            }
        }
        let access = try StoreAccess("ipc://\(store.folder)")
        let hasBegun = Mutex(false)
        let results = Mutex<[StoreClient.Result]>([])
        let program = Worker<Kiln>(
            environment: { [logger] () async throws -> StoreClient in
                let client = try StoreClient(at: access, logger: logger)
                _ = Task { try await client.run() }
                return client
            },
            tearDown: { $0.close() },
            { _, client, _ in
                hasBegun.withLock { $0 = true }
                while !Task.isShuttingDownGracefully { try await Task.sleep(for: .milliseconds(1)) }
                let result = await client.send([1])
                results.withLock { $0.append(result) }
                return nil
            })
        let worker = try WorkerHost(program, WorkerConfiguration(store: access), logger: logger)
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [.init(service: worker)], logger: logger))
        let hasEnded = Mutex(false)
        let run = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await group.run()
        }
        defer { worker.drain() }
        try await eventually("it wants jobs") {
            try store.work(publishes: false)
            return store.heard.contains { $0.kind == .credit }
        }
        let payload = try MessagePackEncoder().encode(Kiln.Effect())
        let task = JobTask(
            effect: EffectID(turn: 1, ordinal: 0), lease: Lease(start: 1, counter: 1), token: 0, attempt: 1, payload: payload[...])
        try store.tell(.task([task], number: 1))
        try await eventually("it runs") {
            try store.work(publishes: false)
            return hasBegun.withLock { $0 }
        }
        await group.triggerGracefulShutdown()
        try await eventually("it has ended") {
            try store.work(publishes: false)
            return hasEnded.withLock { $0 }
        }
        try await run.value
        #expect(results.withLock { $0 } == [.answered(Outcome(sequence: 1, turn: 5, verdict: .applied))])
    }

    /// - Parameter isCancelled: its task is cancelled, which means the same.
    @Test(arguments: [false, true])
    func `A worker whose environment is being made ends in order with a graceful shutdown`(_ isCancelled: Bool) async throws {
        let hasBegun = Mutex(false)
        let program = Worker<Kiln>(
            environment: { () async throws -> Int in
                hasBegun.withLock { $0 = true }
                try await Task.sleep(for: .seconds(600))
                return 1
            },
            tearDown: { _ in },
            { _, _, _ in nil })
        let access = try StoreAccess("ipc:///tmp/samovar-nobody-\(UInt64.random(in: 0 ... .max))")
        let worker = try WorkerHost(program, WorkerConfiguration(store: access), logger: logger)
        let group = ServiceGroup(configuration: ServiceGroupConfiguration(services: [.init(service: worker)], logger: logger))
        let hasEnded = Mutex(false)
        let run = Task {
            defer { hasEnded.withLock { $0 = true } }
            if isCancelled { try await worker.run() } else { try await group.run() }
        }
        defer { run.cancel() }
        try await eventually("it is being made") { hasBegun.withLock { $0 } }
        if isCancelled { run.cancel() } else { await group.triggerGracefulShutdown() }
        try await eventually("it has ended") { hasEnded.withLock { $0 } }
        try await run.value
        try await worker.run()
    }

    @Test func `A worker that runs already is not run a second time, and goes on`() async throws {
        let store = try StoreDouble(try Context())
        let worker = try WorkerHost(
            Worker<Kiln> { _, _ in nil }, WorkerConfiguration(store: try StoreAccess("ipc://\(store.folder)")), logger: logger)
        let hasEnded = Mutex(false)
        let run = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await worker.run()
        }
        defer { worker.drain() }
        try await eventually("it is connected") {
            try store.work(publishes: false)
            return store.greetings >= 1
        }
        let error = await #expect(throws: WorkerError.self) { try await worker.run() }
        #expect(error?.description == "this worker runs already")
        #expect(!hasEnded.withLock { $0 })
        worker.drain()
        try await eventually("the first one has ended in order") {
            try store.work(publishes: false)
            return hasEnded.withLock { $0 }
        }
        try await run.value
    }

    @Test func `A worker whose environment could not be made ends in the same way when it is run again`() async throws {
        let made = Mutex(0)
        let program = Worker<Kiln>(
            environment: { () async throws -> Int in
                made.withLock { $0 += 1 }
                throw Permanent("there is no disk")
            },
            { _, _, _ in nil })
        let access = try StoreAccess("ipc:///tmp/samovar-test-nowhere")
        let worker = try WorkerHost(program, WorkerConfiguration(store: access), logger: logger)
        for _ in 1...2 { await #expect(throws: Permanent.self) { try await worker.run() } }
        #expect(made.withLock { $0 } == 1)
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
