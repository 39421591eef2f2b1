import SamovarCore
import SamovarHost

/// How commands come to the past of a store, whether it runs or not.
enum StorePast<App: SamovarApp> {
    static func read<Result: Sendable>(
        _ settings: ProcessSettings, _ label: String, _ body: @escaping @Sendable (Past) throws -> Result
    ) async throws -> Result {
        try await Past.read(
            try settings.servedJournal(for: AppTypes<App>.self), logger: settings.logger(label),
            engine: { App.engine(secret: $0, limits: .default) }, body)
    }
}
