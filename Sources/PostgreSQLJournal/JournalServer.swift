import Journal
import PostgreSQL

/// The connection of a journal, made anew when it has broken, and what its errors mean for a journal.
struct JournalServer: ~Copyable {
    let place: PostgreSQLPlace
    private var connection: PostgreSQLConnection?
    /// What each new connection begins with.
    private let preparation: String?

    init(_ place: PostgreSQLPlace, preparation: String? = nil) {
        self.place = place
        self.preparation = preparation
    }

    /// The SQLSTATE of a server that only reads. By the time of the next question the name that led to it may lead to the primary.
    static let readsOnly = "25006"

    /// Whether the next question goes over the connection of the last one.
    var isConnected: Bool { connection != nil }

    /// Asks the server, over the connection that there is or another one.
    mutating func ask<Answer: ~Copyable>(
        _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Answer
    ) throws(PostgreSQLError) -> Answer {
        var connection = try take()
        do throws(PostgreSQLError) {
            let answer = try body(&connection)
            self.connection = consume connection
            return answer
        } catch {
            if error.kind != .lost, error.state != Self.readsOnly { self.connection = consume connection }
            throw error
        }
    }

    /// The same in a transaction, which is undone with the connection if it fails.
    mutating func transaction<Answer>(
        _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Answer
    ) throws(PostgreSQLError) -> Answer {
        var connection = try take()
        try connection.run("BEGIN")
        let answer = try body(&connection)
        try connection.run("COMMIT")
        self.connection = consume connection
        return answer
    }

    private mutating func take() throws(PostgreSQLError) -> PostgreSQLConnection {
        if let connection = connection.take() { return connection }
        var connection = try PostgreSQLConnection(place.address, patience: place.patience)
        // An append would get the settings of another session, which need not wait for replicas.
        guard try connection.isDirect() else {
            let advice = "name the server itself in the address, and not a pooler such as pgbouncer"
            throw PostgreSQLError(.pooled, "the connection is not that of a session of the server: \(advice)")
        }
        let settings: [(name: String, value: String)] = [
            // Or each try that nobody waits for any more would stay on the server behind a commit that hangs, until there are no connections.
            // Longer than the patience: who waits for a lock in vain is told of by the client, as whatever else is slow.
            ("lock_timeout", "\(2 * place.patience.milliseconds)"),
            // That it has committed otherwise than it was to, a server says by a warning alone; the role's own setting may hide those.
            ("client_min_messages", "warning"),
            // The session of a machine that was cut off would hold its transaction for hours, and all behind it that is to be cleaned up.
            ("idle_in_transaction_session_timeout", "60000"), ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"),
            ("tcp_keepalives_count", "4"),
        ]
        let calls = settings.map { "set_config('\($0.name)', '\($0.value)', false)" }
        try connection.run("SELECT \(calls.joined(separator: ", "))")
        if let preparation { try connection.run(preparation) }
        return connection
    }

    /// Whether there is a connection, and the server has not closed it.
    mutating func isAlive() -> Bool {
        guard var connection = connection.take() else { return false }
        guard connection.isAlive() else { return false }
        self.connection = consume connection
        return true
    }

    mutating func disconnect() { connection = nil }
}

extension JournalServer {
    /// Likewise, and says what was not done if it fails.
    mutating func ask<Answer: ~Copyable>(
        _ what: String, _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Answer
    ) throws(JournalError) -> Answer {
        do throws(PostgreSQLError) { return try ask(body) } catch { throw JournalError(error, what) }
    }

    /// Runs a statement that is its own transaction, and says `doubt`, or else `what`, if its answer is lost.
    mutating func change(
        _ what: String, _ sql: String, _ parameters: [PostgreSQLValue], doubt: String? = nil
    ) throws(JournalError) -> FencedAnswer {
        // Over one that broke while nobody used it the statement would be lost, and in doubt, though it never left.
        if !isAlive() { disconnect() }
        do throws(PostgreSQLError) {
            return try ask { connection throws(PostgreSQLError) -> FencedAnswer in
                // What a server warns of at the beginning of a connection is no matter of this commit.
                _ = connection.takeWarnings()
                let changed = try connection.run(sql, parameters).changed
                // A server that has committed otherwise than it was to says so by a warning. Then it is unknown what is durable.
                if let warning = Self.doubt(of: connection.takeWarnings()) { throw PostgreSQLError(.lost, warning) }
                return changed == 0 ? .refused : .done
            }
        } catch {
            guard error.kind == .lost else { throw JournalError(error, what) }
            return .lost(JournalError(error, doubt ?? what))
        }
    }

    /// What makes a commit doubtful of all that came with it; nil if nothing does.
    ///
    /// A server that will run out of numbers for transactions says so as it gives one, long before it does, and commits all the same.
    static func doubt(of warnings: [PostgreSQLWarning]) -> String? {
        warnings.first { !["GetNewTransactionId", "GetNewMultiXactId"].contains($0.source) }?.message
    }

    /// What a statement gives, row by row.
    mutating func rows<Row>(
        _ what: String, _ sql: String, _ parameters: [PostgreSQLValue],
        _ body: (borrowing PostgreSQLRows, _ row: Int) throws(PostgreSQLError) -> Row
    ) throws(JournalError) -> [Row] {
        try ask(what) { connection throws(PostgreSQLError) in
            let found = try connection.run(sql, parameters)
            var rows: [Row] = []
            for row in 0..<found.count { rows.append(try body(found, row)) }
            return rows
        }
    }

    mutating func transaction<Answer>(
        _ what: String, _ body: (inout PostgreSQLConnection) throws(PostgreSQLError) -> Answer
    ) throws(JournalError) -> Answer {
        do throws(PostgreSQLError) { return try transaction(body) } catch { throw JournalError(error, what) }
    }
}

extension JournalError {
    /// - Parameter what: was not done.
    init(_ error: PostgreSQLError, _ what: String) {
        self.init(Self.code(of: error), what, underlying: "\(error)\(Self.advice(on: error))")
    }

    /// The SQLSTATE of a role that lacks a right.
    private static let lacksRight = "42501"

    /// What a person who has to act shall look at.
    private static func advice(on error: PostgreSQLError) -> String {
        switch error.kind {
        case .denied: "; look at the role and the database of the address, the password file, and pg_hba.conf of the server"
        case .refused(lacksRight):
            "; look at what the role of the address may do: that of a store needs what `journal init --role` gives"
        default: ""
        }
    }

    /// By SQLSTATE: https://www.postgresql.org/docs/15/errcodes-appendix.html
    private static func code(of error: PostgreSQLError) -> Code {
        let state: String
        switch error.kind {
        case .refused(let code): state = code
        case .lost: return .unavailable
        case .denied, .pooled: return .denied
        case .unexpected: return .damaged
        }
        switch state {
        case "53100": return .full
        // It may be tried again: connections, memory and locks come back, a replica may become the primary.
        case _ where state.hasPrefix("53") || state.hasPrefix("40") || state.hasPrefix("57"): return .unavailable
        // 54000: the server has no numbers for transactions left until somebody has it vacuumed.
        case "55P03", "54000", JournalServer.readsOnly: return .unavailable
        // Nothing has happened, and a person may give the right.
        case lacksRight: return .denied
        case "XX001", "XX002": return .damaged
        case "42P01", "3F000": return .missing
        default: return .inputOutput
        }
    }
}
