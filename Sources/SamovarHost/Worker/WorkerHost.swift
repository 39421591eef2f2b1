public import Logging
public import SamovarCore
import SamovarPeers
import SamovarWire
public import SamovarWorker
public import ServiceLifecycle
import ZeroMQ

/// What a worker process needs to start.
public struct WorkerConfiguration: Sendable {
    /// How the store is reached.
    public var store: StoreAccess
    /// By what the store knows this process again; a supervisor may draw it.
    public var id: WorkerID
    /// Jobs at once.
    public var slots: Int
    /// Whose jobs it takes.
    public var queues: [Queue]
    /// How many jobs of a queue it holds at once; a queue without a limit may take all slots.
    public var limits: [Queue: Int]
    /// Jobs that may wait in the worker beside the running ones: what it finishes in 10 ms, 0 for long jobs.
    public var readAhead: Int
    /// What it can do, for effects that need it (`RunOptions.needs`): at most 64 names of at most 128 bytes.
    public var capabilities: Set<String>

    /// A worker process for this store.
    public init(
        store: StoreAccess, id: WorkerID = .random(), slots: Int = 1, queues: [Queue] = [.default],
        limits: [Queue: Int] = [:], readAhead: Int = 0, capabilities: Set<String> = []
    ) {
        self.capabilities = capabilities
        self.store = store
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
    private let coordinator: WorkerCoordinator
    private let slots: [JobRunner]

    /// Threads for handlers; more slots share them.
    private static var maximumThreads: Int { 64 }
    /// What is left of the 5 s that a supervisor gives is for giving jobs back and saying goodbye.
    private static var drain: Duration { .seconds(3) }

    /// A host for this worker. Nothing runs before `run`.
    ///
    /// - Throws: what libzmq says if no socket can be made.
    public init(_ worker: Worker<P>, _ configuration: WorkerConfiguration, logger: Logger) throws {
        self.worker = worker
        self.configuration = configuration
        self.logger = logger
        let slots = max(1, configuration.slots)
        let offer = WorkerOffer(
            id: configuration.id, slots: slots, queues: configuration.queues, limits: configuration.limits,
            capabilities: configuration.capabilities)
        var settings = WorkerMachine.Settings.standard
        settings.drain = Self.drain
        let coordinator = try WorkerCoordinator(
            WorkerMachine(
                offer, schema: P.schema, readAhead: configuration.readAhead, settings: settings,
                random: Random(seed: .random(in: .min ... .max))),
            slots: slots)
        self.coordinator = coordinator
        self.slots = (0..<slots).map { JobRunner($0, of: coordinator) }
    }

    /// Connects, makes the environment, and takes jobs until the end.
    ///
    /// - Throws: `WorkerError`; what making the environment throws.
    public func run() async throws {
        let prepared = try await worker.prepare()
        do {
            try await run(prepared.work)
        } catch {
            await prepared.tearDown()
            throw error
        }
        await prepared.tearDown()
    }

    private func run(_ work: @escaping JobRunner.Work) async throws {
        let executors = (0..<min(slots.count, Self.maximumThreads)).map { SlotExecutor($0) }
        try await withGracefulShutdownHandler {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, slot) in slots.enumerated() {
                    let executor = executors[index % executors.count]
                    group.addTask { await slot.run(on: executor, work) }
                }
                defer {
                    for slot in slots { slot.close() }
                    group.cancelAll()
                }
                try await onThread("samovar-loop") { [configuration, logger, coordinator, slots] in
                    var loop = WorkerLoop(
                        store: configuration.store, coordinator: coordinator, slots: slots, logger: logger)
                    try loop.run()
                }
            }
        } onGracefulShutdown: {
            drain()
        }
    }

    /// Takes no more jobs, finishes or gives back those it has, and ends.
    public func drain() {
        coordinator.drain()
    }
}

/// Why a worker ended, in one sentence for a person.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
    /// Its key does not allow what it wants to do.
    public var isForbidden = false
    /// What is wrong, for a person.
    public let description: String
}
