public import Logging
public import SamovarCore
public import SamovarStore
public import ServiceLifecycle

/// A process that follows the running store of a data folder, replays what that writes, and compares: each command, and each digest of the
/// state, which the store writes while it is followed.
///
/// It binds no socket and takes no lock. It ends after a graceful shutdown or cancellation, or with a `StoreError` that names the turn
/// of a difference.
public struct Shadow<P: Program>: Service {
    private let loop: ShadowLoop
    private let engine: @Sendable (Secret, GroupLimits) -> any ProgramEngine

    /// - Parameters:
    ///   - endpoint: where the store listens, on this machine.
    ///   - build: of this process.
    ///   - engine: as that of the store.
    public init(
        _ program: P.Type = P.self, of dataFolder: String, at endpoint: Endpoint, build: String, logger: Logger,
        engine: @escaping @Sendable (Secret, GroupLimits) -> any ProgramEngine
    ) {
        loop = ShadowLoop(dataFolder: dataFolder, store: StoreAccess(folderOf: endpoint), build: build, logger: logger)
        self.engine = engine
    }

    /// - Throws: `StoreError`, with a sentence for a person.
    public func run() async throws {
        try await withTaskCancellationOrGracefulShutdownHandler {
            try await onThread("samovar-shadow") { [loop, engine] in try loop.run(P.schema, engine: engine) }
        } onCancelOrGracefulShutdown: {
            loop.end()
        }
    }

    /// Ends it, as a graceful shutdown does.
    public func end() { loop.end() }
}
