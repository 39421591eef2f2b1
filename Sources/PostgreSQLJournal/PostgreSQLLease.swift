import Journal
import JournalChain
import PostgreSQL
import SamovarCore
import Synchronization

/// The lease of a store: a row with the time until which it holds, and a lock of its session.
///
/// The time is the server's. It runs out after the loss of a machine, or of the way to it. A process that ends is noticed sooner: the server
/// hears that its connection is closed, and lets the lock go.
///
/// A connection of its own, so that a renewal waits for no append, and which confirms before replicas do: a lease that a failover forgets
/// harms nobody.
final class PostgreSQLLease: JournalLease {
    private struct State: ~Copyable {
        var server: JournalServer
        /// The lock belongs to a connection.
        var hasLock = false
    }

    private let place: PostgreSQLPlace
    /// The nonce with which the journal is taken.
    private let id: [UInt8]
    private let address: String
    private let state: Mutex<State>

    /// How long the server may take. A store that cannot renew its lease has to find out in time.
    private static let patience = Duration.seconds(2)

    init(_ place: PostgreSQLPlace, id: [UInt8], address: String) {
        var place = place
        place.patience = min(place.patience, Self.patience)
        (self.place, self.id, self.address) = (place, id, address)
        state = Mutex(State(server: JournalServer(place, preparation: "SET synchronous_commit = local")))
    }

    /// As the server numbers the lock of a store, from its identity.
    private static func key(_ id: String) -> String { "('x' || left(encode(uuid_send(\(id)), 'hex'), 16))::bit(64)::bigint" }

    /// Reads who has the journal; `$1` is the identity of this store, `$2` the partition.
    private var question: String {
        """
        SELECT epoch, head, p.digest, nonce = $1, released, NOT EXISTS (
            SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND classid::bigint = ((\(Self.key("nonce")) >> 32) & 4294967295) AND objid::bigint = (\(Self.key("nonce")) & 4294967295)),
            coalesce(until < clock_timestamp(), true), coalesce(address, ''), wanted IS NOT NULL, pg_is_in_recovery(), identity
        FROM \(place.table("partitions")) AS p LEFT JOIN \(place.table("stores")) AS s ON s.id = p.nonce WHERE p.id = $2
        """
    }

    private static func owner(_ rows: borrowing PostgreSQLRows) throws(PostgreSQLError) -> JournalOwnership {
        guard rows.count == 1 else { throw PostgreSQLError(.unexpected, "the journal has no row") }
        guard try !rows.boolean(0, 9) else {
            // By the next question the name that led here may lead to the primary.
            throw PostgreSQLError(
                .refused(state: JournalServer.readsOnly), "the server is a replica, and what it lacks would pass for a loss")
        }
        return JournalOwnership(
            of: try rows.identity(0, 10), epoch: try rows.integer(0, 0), head: try rows.integer(0, 1), digest: try rows.bytes(0, 2),
            isOwn: try rows.boolean(0, 3), isReleased: try rows.boolean(0, 4), isLockFree: try rows.boolean(0, 5),
            isExpired: try rows.boolean(0, 6), isWanted: try rows.boolean(0, 8), owner: try rows.text(0, 7))
    }

    func look() throws(JournalError) -> JournalOwnership {
        try asking("Who has the journal at \(place) cannot be read.") { state throws(PostgreSQLError) in
            let parameters: [PostgreSQLValue] = [.uuid(id), .partition]
            return try state.server.ask { connection throws(PostgreSQLError) in
                try Self.owner(try connection.run(question, parameters))
            }
        }
    }

    func renew(for duration: Duration) throws(JournalError) -> JournalOwnership {
        try asking("The lease of the journal at \(place) cannot be renewed.") { state throws(PostgreSQLError) in
            if !state.hasLock { try lock(&state) }
            // What those have left that did not end in order.
            let sql = """
                WITH renewal AS (
                    INSERT INTO \(place.table("stores")) (id, address, until)
                    VALUES ($1, $3, clock_timestamp() + $4 * interval '1 millisecond')
                    ON CONFLICT (id) DO UPDATE SET until = excluded.until),
                former AS (DELETE FROM \(place.table("stores")) WHERE until < clock_timestamp() - interval '1 day' AND id <> $1)
                \(question)
                """
            let parameters: [PostgreSQLValue] = [.uuid(id), .partition, .text(address), .integer(duration.milliseconds)]
            var owner = try state.server.ask { connection throws(PostgreSQLError) in
                try Self.owner(try connection.run(sql, parameters))
            }
            if owner.isOwn {
                // What another session of this store has is gone when that ends.
                owner.isLockFree = owner.isLockFree || !state.hasLock
                state.hasLock = !owner.isLockFree
            }
            return owner
        }
    }

    /// The former connection may have the lock as long as the server has not noticed its end: then the next renewal asks for it again.
    private func lock(_ state: inout State) throws(PostgreSQLError) {
        let sql = "SELECT pg_try_advisory_lock(\(Self.key("$1")))"
        state.hasLock = try state.server.ask { [id] connection throws(PostgreSQLError) in
            try connection.run(sql, [.uuid(id)]).boolean(0, 0)
        }
    }

    var hasEnded: Bool { state.withLock { !$0.server.isAlive() } }

    func want(from epoch: Int) throws(JournalError) {
        let sql = "UPDATE \(place.table("partitions")) SET wanted = $3 WHERE id = $1 AND epoch = $2"
        try change("The journal at \(place) cannot be asked for.", sql, [.integer(epoch), .text(address)])
    }

    func withdraw() throws(JournalError) {
        let sql = "UPDATE \(place.table("partitions")) SET wanted = NULL WHERE id = $1 AND wanted = $2"
        try change("The wish for the journal at \(place) cannot be taken back.", sql, [.text(address)])
    }

    func durability() throws(JournalError) -> Durability {
        try using { state throws(JournalError) in try state.server.durability() }
    }

    func release() throws(JournalError) {
        let sql = """
            WITH store AS (DELETE FROM \(place.table("stores")) WHERE id = $2)
            UPDATE \(place.table("partitions")) SET released = true WHERE id = $1 AND nonce = $2
            """
        try change("The journal at \(place) cannot be given up.", sql, [.uuid(id)])
        state.withLock { $0.server.disconnect() }
    }

    /// - Parameter parameters: from `$2` on; `$1` is the partition.
    private func change(_ what: String, _ sql: String, _ parameters: [PostgreSQLValue]) throws(JournalError) {
        try asking(what) { state throws(PostgreSQLError) in
            let parameters: [PostgreSQLValue] = [.partition] + parameters
            _ = try state.server.ask { connection throws(PostgreSQLError) in try connection.run(sql, parameters) }
        }
    }

    private func asking<Answer>(
        _ what: String, _ body: (inout State) throws(PostgreSQLError) -> Answer
    ) throws(JournalError) -> Answer {
        try using { state throws(JournalError) in
            do throws(PostgreSQLError) { return try body(&state) } catch { throw JournalError(error, what) }
        }
    }

    private func using<Answer>(_ body: (inout State) throws(JournalError) -> Answer) throws(JournalError) -> Answer {
        try state.withLock { state throws(JournalError) in
            // What is asked now begins another session, which does not have the lock.
            if !state.server.isConnected { state.hasLock = false }
            return try body(&state)
        }
    }
}
