internal import CPostgreSQL

/// What the server has said beside its answers since the last time.
///
/// A commit that was not replicated as it should have been succeeds with a warning, and says so nowhere else.
final class PostgreSQLNotices {
    private(set) var warnings: [String] = []
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
        guard let severity = PQresultErrorField(result, CInt(UInt8(ascii: "V"))), String(cString: severity) == "WARNING",
            warnings.count < Self.limit
        else { return }
        let text = PQresultErrorField(result, CInt(UInt8(ascii: "M"))).map { String(cString: $0) }
        warnings.append(text ?? "a warning without words")
    }

    func takeAll() -> [String] {
        defer { warnings = [] }
        return warnings
    }
}
