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
    /// By what the store knows this process again: drawn for each start of a process. A supervisor draws it, so that it can tell
    /// the store who has died.
    ///
    /// A process that begins under the identity of a dead one takes its place at once, unless the clock was set back meanwhile.
    /// What that one had begun waits again, and its death is held against no effect.
    public var id = WorkerID.random()
    /// Jobs at once: 65,536 at most.
    public var slots = 1
    /// Whose jobs it takes, in place of what the worker says: at most 1,024 names of at most 1,024 bytes. Empty for the queues that
    /// the worker names, and for the default one if it names none. They are served in this order: a later one gets what the earlier
    /// ones leave.
    public var queues: [Queue] = []
    /// How many jobs of a queue it holds at once, 1 to 65,536, in place of the worker's own limit for that queue; a queue without a
    /// limit may take all slots.
    public var limits: [Queue: Int] = [:]
    /// Jobs that may wait in the worker beside the running ones, 65,536 at most: what it finishes in 10 ms, 0 for long jobs. None
    /// wait behind sources in all its slots.
    public var readAhead = 0
    /// What it can do, for effects that need it (`RunOptions.needs`): at most 64 names of at most 128 bytes.
    public var capabilities: Set<String> = []

    /// A worker process for this store.
    public init(store: StoreAccess) {
        self.store = store
    }

    /// What a host of this worker tells the store: what the worker says, where this configuration says nothing else.
    func offer<P: Program>(of worker: Worker<P>) -> WorkerOffer {
        let named: [Queue] = worker.queues.isEmpty ? [.default] : worker.queues
        let served = queues.isEmpty ? named : queues
        let limits = worker.limits.merging(limits) { $1 }.filter { served.contains($0.key) }
        return WorkerOffer(id: id, slots: max(1, slots), queues: served, limits: limits, capabilities: capabilities)
    }
}

/// A worker process of a program: takes jobs from the store, runs the handlers, and sends what they answer.
///
/// `run` ends after a graceful shutdown, with running jobs finished or given back, or with a `WorkerError` if the store
/// refuses this worker for good. A store that is away is waited for. Cancellation means the same as a graceful shutdown, but reaches the
/// handlers, too: the jobs that run are given back.
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
    /// - Throws: `WorkerError` for a configuration beyond what a store takes; what libzmq says if no socket can be made.
    public init(_ worker: Worker<P>, _ configuration: WorkerConfiguration, logger: Logger) throws {
        let offer = configuration.offer(of: worker)
        // A store does not answer a HELLO beyond its limits: the worker would wait for one for ever, and nobody would know why.
        if let objection = offer.objection { throw WorkerError(description: objection) }
        let (readAhead, most) = (configuration.readAhead, WorkerOffer.slotLimit)
        guard readAhead <= most else { throw WorkerError(description: "\(readAhead) jobs read ahead; \(most) at most") }
        self.worker = worker
        self.configuration = configuration
        self.logger = logger
        var settings = WorkerMachine.Settings.standard
        settings.drain = Self.drain
        let coordinator = try WorkerCoordinator(
            WorkerMachine(
                offer, schema: P.schema, readAhead: readAhead,
                // No process connects once a microsecond; so the store knows the newer one of an identity by its greater number.
                epoch: Int(HostClock().now().microseconds), settings: settings,
                random: Random(seed: .random(in: .min ... .max))),
            slots: offer.slots)
        self.coordinator = coordinator
        slots = (0..<offer.slots).map { JobRunner($0, of: coordinator, sharesThread: offer.slots > Self.maximumThreads) }
    }

    /// Connects, makes the environment, and takes jobs until the end.
    ///
    /// A worker that has ended stays so: another `run` returns, or throws, what this one did. Who wants to try again makes another host.
    ///
    /// - Throws: `WorkerError`, also if this worker runs already, which goes on then; what making the environment throws, but not
    ///   that it was cancelled for the end of the worker.
    public func run() async throws {
        if let end = coordinator.begin() { return try end.get() }
        // What the environment runs has to last as long as the handlers that use it.
        try await HandlerTask.$isCurrent.withValue(true) {
            let prepared: Worker<P>.Prepared
            do {
                prepared = try await cancelWhenGracefulShutdown { [worker] in try await worker.prepare() }
            } catch is CancellationError where Task.isShuttingDownGracefully || Task.isCancelled {
                coordinator.ended(.success(()))
                return
            } catch {
                coordinator.ended(.failure(error))
                throw error
            }
            let end: Result<Void, any Error>
            do {
                end = .success(try await run(prepared.work))
            } catch {
                end = .failure(error)
            }
            coordinator.ended(end)
            await prepared.tearDown()
            try end.get()
        }
    }

    private func run(_ work: @escaping JobRunner.Work) async throws {
        let executors = (0..<min(slots.count, Self.maximumThreads)).map { SlotExecutor($0) }
        try await withTaskCancellationOrGracefulShutdownHandler {
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
        } onCancelOrGracefulShutdown: {
            drain()
        }
    }

    /// Takes no more jobs, finishes or gives back those it has, and ends.
    public func drain() {
        coordinator.drain()
    }
}

/// Why a worker ended, or cannot begin, in one sentence for a person.
public struct WorkerError: Error, Sendable, CustomStringConvertible {
    /// Its key does not allow what it wants to do.
    public var isForbidden = false
    /// What is wrong, for a person.
    public let description: String
}
