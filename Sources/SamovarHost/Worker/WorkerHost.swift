public import Logging
public import SamovarCore
import SamovarProtocol
public import ServiceLifecycle
import ZeroMQ

/// What a worker process needs to start.
public struct WorkerConfiguration: Sendable {
    public var endpoint: Endpoint
    public var id: WorkerID
    /// Jobs at once.
    public var slots: Int
    public var queues: [Queue]
    /// How many jobs of a queue it holds at once; a queue without a limit may take all slots.
    public var limits: [Queue: Int]
    /// Jobs that may wait in the worker beside the running ones: what it finishes in 10 ms, 0 for long jobs.
    public var readAhead: Int

    public init(
        endpoint: Endpoint, id: WorkerID = .random(), slots: Int = 1, queues: [Queue] = [.default],
        limits: [Queue: Int] = [:], readAhead: Int = 0
    ) {
        self.endpoint = endpoint
        self.id = id
        self.slots = slots
        self.queues = queues
        self.limits = limits
        self.readAhead = readAhead
    }
}

/// A worker process of a program: takes jobs from the store, runs the handlers, and sends what they answer.
///
/// `run` ends after a graceful shutdown, with running jobs finished or given back, or with a `WorkerError` if the store
/// refuses this worker for good. A store that is away is waited for.
public struct WorkerHost<P: Program>: Service {
    private let worker: Worker<P>
    private let configuration: WorkerConfiguration
    private let logger: Logger
    private let mailbox: Mailbox<WorkerLoop.News>
    private let slots: [Slot<P>]

    /// Threads for handlers; more slots share them.
    private static var maximumThreads: Int { 64 }

    public init(_ worker: Worker<P>, _ configuration: WorkerConfiguration, logger: Logger) throws {
        self.worker = worker
        self.configuration = configuration
        self.logger = logger
        mailbox = try Mailbox()
        slots = (0..<max(1, configuration.slots)).map { _ in Slot() }
    }

    public func run() async throws {
        let prepared = try await worker.prepare()
        do {
            try await run(prepared.handle)
        } catch {
            await prepared.tearDown()
            throw error
        }
        await prepared.tearDown()
    }

    private func run(_ handler: @escaping Worker<P>.Handle) async throws {
        let executors = (0..<min(slots.count, Self.maximumThreads)).map { SlotExecutor($0) }
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, slot) in slots.enumerated() {
                    let executor = executors[index % executors.count]
                    group.addTask {
                        await slot.run(handler, on: executor) { [mailbox] in mailbox.post(.job($0)) }
                    }
                }
                defer {
                    for slot in slots { slot.continuation.finish() }
                    group.cancelAll()
                }
                try await onThread("samovar-loop") { try runLoop() }
            }
        } onGracefulShutdown: {
            drain()
        }
    }

    /// Takes no more jobs, finishes or gives back those it has, and ends.
    public func drain() {
        mailbox.post(.drain)
    }

    private func runLoop() throws {
        let continuations = slots.map(\.continuation)
        var loop = WorkerLoop(
            configuration, schema: P.schema, logger: logger, mailbox: mailbox, slots: continuations.count
        ) { slot, order in
            switch order {
            case .run(let task, let timeline): continuations[slot].yield(.run(task, timeline: timeline))
            case .cancel(let lease): continuations[slot].yield(.cancel(lease))
            case .acknowledged(let mark): continuations[slot].yield(.acknowledged(mark))
            }
        }
        try loop.run()
    }
}

/// Why a worker ended, in one sentence for a person.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
    public let description: String
}
