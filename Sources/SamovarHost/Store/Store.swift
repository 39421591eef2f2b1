public import Logging
import MessagePack
public import SamovarCore
public import SamovarStore
public import ServiceLifecycle

/// The store process of a program: owns its state, its journal and the sockets through which everybody reaches it.
///
/// ```swift
/// let store = Store<Counter>(StoreConfiguration(dataFolder: "data", endpoint: .of(dataFolder: "data")), logger: logger)
/// try await store.run()
/// ```
///
/// `run` starts two threads of its own and blocks none of Swift's. It ends after a graceful shutdown or cancellation with everything on
/// disk, or with a `StoreError`. It may be killed at any instant: nothing that it has told anybody is lost.
public struct Store<P: Program>: Service {
    private let configuration: StoreConfiguration
    private let loop: StoreLoop
    private let engine: @Sendable (Secret, GroupLimits) -> any ProgramEngine

    /// - Parameters:
    ///   - gates: asked about each input before `accept`, in this order.
    ///   - observers: told of each turn after `update`, in this order.
    @inlinable
    public init(
        _ configuration: StoreConfiguration, gates: [InputGate<P>] = [], observers: [TurnObserver<P>] = [], logger: Logger
    ) throws {
        try self.init(configuration, logger: logger) { secret, limits in
            TypedEngine(P.self, secret: secret, limits: limits, gates: gates, observers: observers)
        }
    }

    /// - Parameter engine: makes the engine, and again for each snapshot that is made from the journal.
    public init(
        _ configuration: StoreConfiguration, logger: Logger,
        engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine
    ) throws {
        self.configuration = configuration
        self.engine = engine
        for type in ProgramSchema.outdatedCode(of: P.self) {
            logger.warning("the codec of \(type) is of another form, so Codable encodes it, which is slower: see `schema --codec`")
        }
        loop = try StoreLoop(configuration, logger: logger)
    }

    /// - Throws: `StoreError`, with a sentence for a person.
    public func run() async throws {
        let seed = try Self.canonicalSeed(configuration.seed)
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await onThread("samovar-loop") { [loop, engine] in try loop.run(P.schema, seed: seed, engine: engine) }
        } onCancelOrGracefulShutdown: {
            loop.drain(within: configuration.settings.drain)
        }
    }

    /// Told by a supervisor that saw a worker process end, so that nobody has to wait for its silence.
    public func workerDied(_ id: WorkerID, _ evidence: String) {
        loop.workerDied(id, evidence)
    }

    /// Has it read its keys again, which a log line tells of; what cannot be read changes nothing.
    public func readKeys() { loop.readKeys() }

    /// Stops in order, as a graceful shutdown does, but waits no longer than this for running jobs.
    public func drain(within limit: Duration) {
        loop.drain(within: limit)
    }

    /// The seed in the one encoding that two equal seeds share, whatever order of keys they came in. −0.0 becomes 0.0: a program begins with
    /// what is encoded, live and in a replay.
    private static func canonicalSeed(_ bytes: [UInt8]?) throws(StoreError) -> [UInt8]? {
        guard let bytes else { return nil }
        let canonical: [UInt8]
        do {
            let seed = try MessagePackDecoder(lenient: true).decode(P.Seed.self, from: bytes)
            canonical = try MessagePackEncoder(canonical: true).encode(seed)
        } catch {
            throw StoreError(.configuration, "the seed cannot be read: \(describe(decodingFailure: error, of: P.Seed.self))")
        }
        // A type without fields reads anything.
        guard P.Seed.self != NoSeed.self || bytes == canonical else {
            throw StoreError(.configuration, "the program \(P.schema.name) takes no seed")
        }
        return canonical
    }
}
