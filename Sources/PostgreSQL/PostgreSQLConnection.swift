internal import CPostgreSQL
internal import Foundation

/// A connection to a server of PostgreSQL, by libpq: one statement after the other, each of which blocks its thread for a bounded time.
///
/// ```swift
/// var connection = try PostgreSQLConnection(PostgreSQLAddress("postgresql://db.internal/orders"))
/// let rows = try connection.run("SELECT head FROM partitions WHERE id = $1", [.integer(0)])
/// ```
///
/// Statements with parameters are prepared once, and their values go in the binary format. Not on Swift's cooperative pool, whose threads
/// must not block. After an error of kind ``PostgreSQLError/Kind/lost`` the connection is of no use any more.
///
/// It may go from thread to thread, as libpq allows where only one of them uses it at a time; a value that cannot be copied has one user.
public struct PostgreSQLConnection: ~Copyable, @unchecked Sendable {
    /// What is made by libpq, and ended with this value. Not private: in a release build other modules refer to it.
    struct Handle: ~Copyable {
        let pointer: OpaquePointer

        deinit { PQfinish(pointer) }
    }

    private let handle: Handle
    private let notices: PostgreSQLNotices
    /// The names of prepared statements, by their text.
    private var prepared: [String: String]
    /// How long the server may take for one answer.
    public var patience: Duration

    /// Connects, within the time that the server has for one answer.
    ///
    /// - Throws: `PostgreSQLError` of kind `denied` if every host of the address lets nobody in with this role, password or
    ///   database; of kind `lost` if one is not reached or not ready.
    public init(_ address: PostgreSQLAddress, patience: Duration = .seconds(10)) throws(PostgreSQLError) {
        try self.init(address, patience: patience) { name throws(PostgreSQLError) in try PostgreSQLAddress.lookUp(name) }
    }

    /// - Parameter lookUp: gives the addresses of a name.
    package init(
        _ address: PostgreSQLAddress, patience: Duration, lookUp: (String) throws(PostgreSQLError) -> [String]
    ) throws(PostgreSQLError) {
        let notices = PostgreSQLNotices()
        handle = try Self.connect(address, notices, patience, lookUp)
        self.notices = notices
        self.patience = patience
        prepared = [:]
    }

    /// Tries the hosts of an address in their order. Each has an equal share of the time that is left, since libpq itself goes on to the next one
    /// only when it is told that there is nothing: a server that stands still, and a way on which all is lost, say nothing.
    ///
    /// The lookup of a name does not count. It takes as long as the machine's resolver has it take, which may be longer than the patience while
    /// a name server is away.
    private static func connect(
        _ address: PostgreSQLAddress, _ notices: PostgreSQLNotices, _ patience: Duration,
        _ lookUp: (String) throws(PostgreSQLError) -> [String]
    ) throws(PostgreSQLError) -> Handle {
        var left = patience
        var problems: [PostgreSQLError] = []
        for (number, host) in address.hosts.enumerated() {
            do throws(PostgreSQLError) {
                let places = try PostgreSQLAddress.places(of: host, lookUp)
                return try connect(address, at: places, before: address.hosts.count - number - 1, notices, &left)
            } catch {
                problems.append(error)
            }
        }
        let isDenied = problems.allSatisfy { $0.kind == .denied }
        throw PostgreSQLError(isDenied ? .denied : .lost, problems.map(\.message).joined(separator: "; "))
    }

    /// Tries the addresses of one host likewise, until one lets somebody in, or nobody.
    ///
    /// - Parameter hosts: how many come after it, each with a share.
    private static func connect(
        _ address: PostgreSQLAddress, at places: [[String: String]], before hosts: Int, _ notices: PostgreSQLNotices,
        _ left: inout Duration
    ) throws(PostgreSQLError) -> Handle {
        var problems: [PostgreSQLError] = []
        for (number, place) in places.enumerated() where problems.last?.kind != .denied {
            do throws(PostgreSQLError) {
                guard let connection = begin(address, place) else { throw PostgreSQLError(.lost, "libpq has no memory") }
                let handle = Handle(pointer: connection)
                let begun = ContinuousClock.now
                defer { left -= .now - begun }
                try finish(handle.pointer, notices, until: begun + left / (places.count - number + hosts))
                return handle
            } catch {
                problems.append(error)
            }
        }
        // The last attempt is the one that counts, as for libpq.
        throw PostgreSQLError(problems.last?.kind ?? .lost, problems.map(\.message).joined(separator: "; "))
    }

    private static func finish(
        _ connection: OpaquePointer, _ notices: PostgreSQLNotices, until end: ContinuousClock.Instant
    ) throws(PostgreSQLError) {
        notices.listen(to: connection)
        // Or a server that lets nobody in looks like one that is away.
        PQsetErrorVerbosity(connection, PQERRORS_VERBOSE)
        // Without a socket there is nothing to wait for.
        guard PQstatus(connection) != CONNECTION_BAD else { throw refusal(connection) }
        // As libpq wants it: it begins as if the connection had asked to be written to.
        try wait(connection, for: POLLOUT, until: end)
        while true {
            switch PQconnectPoll(connection) {
            case PGRES_POLLING_OK:
                // Or a send would wait within libpq, for as long as a server that does not read takes.
                guard PQsetnonblocking(connection, 1) == 0 else { throw problem(connection) }
                PQsetErrorVerbosity(connection, PQERRORS_DEFAULT)
                return
            case PGRES_POLLING_READING: try wait(connection, for: POLLIN, until: end)
            case PGRES_POLLING_WRITING: try wait(connection, for: POLLOUT, until: end)
            default: throw refusal(connection)
            }
        }
    }

    /// Why a connection was not made.
    private static func refusal(_ connection: OpaquePointer) -> PostgreSQLError {
        let words = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        return PostgreSQLError(connecting: words, needsPassword: PQconnectionNeedsPassword(connection) != 0)
    }

    private var connection: OpaquePointer { handle.pointer }

    private static func begin(_ address: PostgreSQLAddress, _ host: [String: String]) -> OpaquePointer? {
        // What comes later wins: the address may say how it wants it, but for its hosts.
        let settings =
            [
                ("fallback_application_name", "samovar"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
                ("keepalives_count", "3"), ("client_encoding", "UTF8"), ("dbname", address.text),
            ] + host.map { ($0.key, $0.value) }
        let names = settings.map { strdup($0.0) }
        let values = settings.map { strdup($0.1) }
        defer { for text in names + values { free(text) } }
        return PQconnectStartParams(names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil], 1)
    }

    // MARK: Statements

    /// Runs one statement with parameters, which are `$1`, `$2` and so on.
    public mutating func run(_ sql: String, _ parameters: [PostgreSQLValue]) throws(PostgreSQLError) -> PostgreSQLRows {
        let name = try prepare(sql, parameters.map(\.typeID))
        // Not empty: an empty value needs an address, too; none is NULL.
        var bytes: [UInt8] = [0]
        var places: [Int] = []
        for parameter in parameters {
            places.append(bytes.count)
            parameter.write(to: &bytes)
        }
        let lengths = zip(places, places.dropFirst() + [bytes.count]).map { CInt($1 - $0) }
        let formats = [CInt](repeating: 1, count: parameters.count)
        let isSent = bytes.withUnsafeBytes { buffer in
            let start = buffer.assumingMemoryBound(to: CChar.self).baseAddress
            let values = places.map { place in start.map { $0 + place } }
            return PQsendQueryPrepared(connection, name, CInt(parameters.count), values, lengths, formats, 1)
        }
        guard isSent == 1 else { throw Self.problem(connection) }
        return try answer()
    }

    private mutating func prepare(_ sql: String, _ types: [UInt32]) throws(PostgreSQLError) -> String {
        if let name = prepared[sql] { return name }
        let name = "s\(prepared.count)"
        guard PQsendPrepare(connection, name, sql, CInt(types.count), types) == 1 else { throw Self.problem(connection) }
        _ = try answer()
        prepared[sql] = name
        return name
    }

    /// Runs statements without parameters, separated by semicolons, as one transaction unless they say otherwise.
    public mutating func run(_ sql: String) throws(PostgreSQLError) {
        guard PQsendQuery(connection, sql) == 1 else { throw Self.problem(connection) }
        _ = try answer()
    }

    /// Whether the process that answers is the one that was connected to. Behind a pooler it is not, and by the next transaction it may be
    /// another one: settings and locks of a session reach strangers there, or nobody.
    public mutating func isDirect() throws(PostgreSQLError) -> Bool {
        // Not prepared, which is for a session.
        guard PQsendQuery(connection, "SELECT pg_backend_pid()") == 1 else { throw Self.problem(connection) }
        return try answer().text(0, 0) == String(PQbackendPID(connection))
    }

    /// Whether the server has not closed the connection, as far as this machine knows. It asks nobody, and does not wait.
    public mutating func isAlive() -> Bool {
        // A server says why it closes, and one look takes those words: the next one finds the end behind them.
        PQconsumeInput(connection) == 1 && PQconsumeInput(connection) == 1 && PQstatus(connection) == CONNECTION_OK
    }

    /// The warnings of the server since the last call.
    public mutating func takeWarnings() -> [PostgreSQLWarning] { notices.takeAll() }

    // MARK: Answers

    /// The last result of what was sent, or the first that is an error.
    private mutating func answer() throws(PostgreSQLError) -> PostgreSQLRows {
        let end = ContinuousClock.now + patience
        var last: PostgreSQLRows?
        var failure: PostgreSQLError?
        while true {
            try flush(until: end)
            while true {
                // Also before the first wait: what the library for TLS has read already, a socket does not show.
                guard PQconsumeInput(connection) == 1 else { throw Self.problem(connection) }
                if PQisBusy(connection) == 0 { break }
                try Self.wait(connection, for: POLLIN, until: end)
            }
            guard let result = PQgetResult(connection) else { break }
            let rows = PostgreSQLRows(result)
            switch PQresultStatus(result) {
            case PGRES_TUPLES_OK, PGRES_COMMAND_OK, PGRES_EMPTY_QUERY: last = consume rows
            default:
                failure = failure ?? self.failure(result)
                _ = consume rows
            }
        }
        if let failure { throw failure }
        guard let last else { throw Self.problem(connection) }
        return last
    }

    private func failure(_ result: OpaquePointer) -> PostgreSQLError {
        let text = field("M", of: result) ?? "the connection broke"
        guard PQstatus(connection) == CONNECTION_OK, let code = field("C", of: result) else { return PostgreSQLError(.lost, text) }
        // Class 08 says that the connection is none, to whoever is between us and the server.
        return code.hasPrefix("08") ? PostgreSQLError(.lost, text) : PostgreSQLError(.refused(state: code), text)
    }

    private func flush(until end: ContinuousClock.Instant) throws(PostgreSQLError) {
        while true {
            switch PQflush(connection) {
            case 0: return
            case 1:
                try Self.wait(connection, for: POLLOUT | POLLIN, until: end)
                // The server may want to be read before it reads on.
                guard PQconsumeInput(connection) == 1 else { throw Self.problem(connection) }
            default: throw Self.problem(connection)
            }
        }
    }

    private static func wait(_ connection: OpaquePointer, for events: CInt, until end: ContinuousClock.Instant)
        throws(PostgreSQLError)
    {
        var descriptor = pollfd(fd: PQsocket(connection), events: Int16(events), revents: 0)
        while true {
            let milliseconds = (end - .now).milliseconds
            guard milliseconds > 0 else { throw PostgreSQLError(.lost, "the server does not answer") }
            let count = poll(&descriptor, 1, CInt(min(milliseconds, 60_000)))
            if count > 0 { return }
            guard count == 0 || errno == EINTR else { throw PostgreSQLError(.lost, String(cString: strerror(errno))) }
        }
    }

    /// In the words of libpq, which are lines.
    private static func problem(_ connection: OpaquePointer) -> PostgreSQLError {
        let text = PQerrorMessage(connection).map { String(cString: $0) } ?? ""
        let line = text.split(whereSeparator: \.isNewline).map { $0.drop { $0 == "\t" } }.joined(separator: "; ")
        return PostgreSQLError(.lost, line.isEmpty ? "the connection broke" : line)
    }
}
