internal import CPostgreSQL

/// What a server warns of beside its answers.
public struct PostgreSQLWarning: Equatable, Sendable {
    /// In the words of the server.
    public let message: String
    /// The function of the server that warns, in no language but its own; empty if it does not say.
    public let source: String

    package init(_ message: String, source: String) {
        (self.message, self.source) = (message, source)
    }
}

/// What the server has said beside its answers since the last time.
///
/// A commit that was not replicated as it should have been succeeds with a warning, and says so nowhere else.
final class PostgreSQLNotices {
    private(set) var warnings: [PostgreSQLWarning] = []
    private static let limit = 100

    /// Has libpq tell this object, which must outlive the connection.
    func listen(to connection: OpaquePointer) {
        let object = Unmanaged.passUnretained(self).toOpaque()
        PQsetNoticeReceiver(
            connection,
            { object, result in
                guard let object, let result else { return }
                Unmanaged<PostgreSQLNotices>.fromOpaque(object).takeUnretainedValue().hear(result)
            }, object)
    }

    private func hear(_ result: OpaquePointer) {
        // In the server's own words and not in the language of its messages.
        guard field("V", of: result) == "WARNING", warnings.count < Self.limit else { return }
        let text = field("M", of: result) ?? "a warning without words"
        warnings.append(PostgreSQLWarning(text, source: field("R", of: result) ?? ""))
    }

    func takeAll() -> [PostgreSQLWarning] {
        defer { warnings = [] }
        return warnings
    }
}
