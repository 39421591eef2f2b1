/// Why a server did not do what it was asked for.
public struct PostgreSQLError: Error, Equatable, Sendable, CustomStringConvertible {
    /// What is known of the statement.
    public enum Kind: Equatable, Sendable {
        /// The server has refused it, with an SQLSTATE such as `40001`: nothing of it has happened.
        case refused(state: String)
        /// There is no connection (any more), or no answer in time. Whether a statement that was sent has happened is unknown.
        case lost
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

    /// The SQLSTATE of a refusal.
    public var state: String? {
        if case .refused(let state) = kind { state } else { nil }
    }
}
