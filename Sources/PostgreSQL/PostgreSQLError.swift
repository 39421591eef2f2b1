/// Why a server did not do what it was asked for.
public struct PostgreSQLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is known of the statement.
    public enum Kind: Equatable, Sendable {
        /// The server has refused it, with an SQLSTATE such as `40001`: nothing of it has happened.
        case refused(state: String)
        /// There is no connection (any more), or no answer in time. Whether a statement that was sent has happened is unknown.
        case lost
        /// The server is there, and lets nobody in with this role, password or database. Nothing has happened, and a person has
        /// to act.
        case denied
        /// Between here and the server is a pooler of connections, which keeps no session. Nothing has happened, and a person has to
        /// act.
        case pooled
        /// What the server has sent is not what was asked for.
        case unexpected
    }

    public let kind: Kind
    /// In the words of the server or of libpq, without its line feeds. Never a password.
    public let message: String

    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }

    public var description: String {
        if case .refused(let state) = kind { return "\(message) (SQLSTATE \(state))" }
        return message
    }

    /// Why there is no connection.
    ///
    /// - Parameters:
    ///   - words: of libpq, with `PQERRORS_VERBOSE`, which has them give the SQLSTATE of what a server has said. libpq tells it in
    ///     no other way.
    ///   - needsPassword: The server has asked for a password, and there is none.
    package init(connecting words: String, needsPassword: Bool) {
        let lines = words.split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" } }.filter { !$0.hasPrefix("LOCATION:") }
        // The last attempt is the one that counts: before it, libpq may have tried without TLS, or at another address of the host.
        let isDenied = needsPassword || lines.compactMap { Self.code(in: $0) }.last.map { Self.denies($0) } == true
        self.init(isDenied ? .denied : .lost, lines.isEmpty ? "the connection broke" : lines.joined(separator: "; "))
    }

    /// In `FATAL:  28P01: password authentication failed`, whatever the language of the server.
    private static func code(in line: Substring) -> String? {
        guard let mark = line.firstRange(of: ":  ") else { return nil }
        let code = line[mark.upperBound...].prefix(5)
        let isCode = code.allSatisfy { $0.isASCII && ($0.isUppercase || $0.isNumber) }
        guard isCode, code.utf8.count == 5, line[code.endIndex...].hasPrefix(": ") else { return nil }
        return String(code)
    }

    /// Invalid authorization, no such database, and no right to connect to it:
    /// https://www.postgresql.org/docs/15/errcodes-appendix.html
    private static func denies(_ state: String) -> Bool { state.hasPrefix("28") || state == "3D000" || state == "42501" }

    /// The SQLSTATE of a refusal.
    public var state: String? {
        if case .refused(let state) = kind { state } else { nil }
    }
}
