import Foundation
import SamovarCore
import SamovarHost

/// What a past is read from.
package enum PastSource: Sendable {
    /// A data folder whose store does not run, and cannot begin to before it is let go.
    case folder
    /// A copy, which does not change.
    case copy
    /// A place that a store may write meanwhile.
    case place

    /// Whether it stays as it was when it was opened.
    package var isFrozen: Bool { self != .place }
}

/// How commands come to the past of a store, whether it runs or not. A running store that keeps its journal in its data folder is asked for a
/// copy of that, which goes to the folder for temporary files and is deleted again.
enum StorePast<App: SamovarApp> {
    static func read<Result: Sendable>(
        _ settings: ProcessSettings, _ label: String, _ body: @escaping @Sendable (Past) throws -> Result
    ) async throws -> Result {
        try await read(settings, label) { past, _ in try body(past) }
    }

    static func read<Result: Sendable>(
        _ settings: ProcessSettings, _ label: String, _ body: @escaping @Sendable (Past, PastSource) throws -> Result
    ) async throws -> Result {
        let journal = try settings.journal(for: AppTypes<App>.self)
        let logger = settings.logger(label)
        let source = settings.journal == nil ? PastSource.folder : .place
        func read(_ journal: JournalLocation, wait: Duration, _ source: PastSource) async throws -> Result {
            try await Past.read(
                journal, wait: wait, logger: logger, engine: { App.engine(secret: $0, limits: .default) }, { try body($0, source) })
        }
        do {
            return try await read(journal, wait: .zero, source)
        } catch let error as StoreError where error.code == .busy {
            do {
                let access = StoreAccess(folderOf: try settings.endpoint(for: AppTypes<App>.self))
                return try await withCopy(of: journal, at: access) { try await read($0, wait: .seconds(5), .copy) }
            } catch is AdminError {
                // It is no store that has the folder, but another command, which will be done.
                return try await read(journal, wait: .seconds(5), source)
            }
        }
    }
}

/// Asks a running store for a copy of its journal and deletes it behind `body`, whose errors name the journal and not the copy.
func withCopy<Result>(
    of journal: JournalLocation, at access: StoreAccess, _ body: (JournalLocation) async throws -> Result
) async throws -> Result {
    let copy = FileManager.default.temporaryDirectory.appending(path: "samovar-copy-\(UUID().uuidString)")
    // What could not be removed is in the folder for temporary files.
    defer { try? FileManager.default.removeItem(at: copy) }
    _ = try await AdminClient(at: access).export(to: copy.path)
    do {
        return try await body(JournalLocation(dataFolder: copy.path))
    } catch let error as StoreError {
        guard let failure = CommandFailure(error) else { throw error }
        throw CommandFailure(failure.code, failure.description.replacing(copy.path, with: "\(journal)"))
    }
}
