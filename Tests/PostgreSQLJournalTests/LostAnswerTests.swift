import Foundation
import Journal
import JournalChain
import PostgreSQL
import PostgreSQLSupport
import ProcessSupport
import Synchronization
import Testing

@testable import PostgreSQLJournal

/// Connections that break and servers that go away around a commit. Each test has a server of its own, which it torments.
@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct LostAnswerTests {
    /// Appends a batch as a store does: it tries again for as long as the journal is unavailable.
    private func append(_ batch: Batch, to journal: PostgreSQLJournal, _ failures: inout Int) throws {
        while true {
            do throws(JournalError) {
                return try journal.append(batch)
            } catch {
                guard error.code == .unavailable else { throw error }
                failures += 1
            }
        }
    }

    private func batches(of journal: PostgreSQLJournal) throws -> [Batch] {
        var batches: [Batch] = []
        try journal.read(from: 1) { batches.append($0) }
        return batches
    }

    private func batch(_ turn: Int) -> Batch {
        Batch(first: turn, last: turn, bytes: withUnsafeBytes(of: turn) { Array($0) })
    }

    @Test func `An append whose connection is ended is done once, whether it had happened or not`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        let kills = ChaosCount.kills
        let isOver = Atomic(false)
        let seed = UInt64.random(in: .min ... .max)
        let hasEnded = Atomic(false)
        let killer = Thread {
            defer { hasEnded.store(true, ordering: .relaxed) }
            var random = SeededRandom(seed: seed)
            do {
                var connection = try server.connect()
                while !isOver.load(ordering: .relaxed) {
                    usleep(UInt32.random(in: 0...3_000, using: &random))
                    // Those that write, and not the killer.
                    _ = try connection.run(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()
                        """, [])
                }
            } catch {
                Issue.record(error)
            }
        }
        killer.start()
        defer { isOver.store(true, ordering: .relaxed) }
        var (turn, failures) = (0, 0)
        while failures < kills {
            turn += 1
            try append(batch(turn), to: journal, &failures)
        }
        isOver.store(true, ordering: .relaxed)
        try await eventually("nobody is killed any more") { hasEnded.load(ordering: .relaxed) }
        print("\(turn) appends and \(failures) connections that were ended, seed \(seed)")
        #expect(journal.last == turn)
        let reader = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        #expect(try batches(of: reader) == (1...turn).map(batch))
        try reader.close()
    }

    @Test func `An append that waits for another one is decided by the row, and not by its connection`() async throws {
        let server = try await TestServer()
        let journal = try server.journal(patience: .seconds(3))
        try journal.append(batch(1))
        // Somebody holds the row, as a process of the server does that is still committing.
        var holder = try server.connect()
        try holder.run("BEGIN; SELECT 1 FROM \(journal.place.table("partitions")) FOR UPDATE")
        let error = #expect(throws: JournalError.self) { try journal.append(batch(2)) }
        #expect(error?.code == .unavailable && error?.message == "It is unknown whether turn 2 is durable.")
        let other = #expect(throws: JournalError.self) { try journal.append(Batch(first: 2, last: 2, bytes: [7])) }
        #expect(other?.code == .misuse)
        try holder.run("COMMIT")
        var failures = 0
        try append(batch(2), to: journal, &failures)
        try append(batch(3), to: journal, &failures)
        #expect(try batches(of: journal) == [batch(1), batch(2), batch(3)])
    }

    @Test func `Tries that wait behind a commit that hangs leave no connection on the server`() async throws {
        let server = try await TestServer()
        let journal = try server.journal(patience: .seconds(2))
        try journal.append(batch(1))
        var holder = try server.connect()
        try holder.run("BEGIN; SELECT 1 FROM \(journal.place.table("partitions")) FOR UPDATE")
        for _ in 0..<3 { #expect(throws: JournalError.self) { try journal.append(batch(2)) } }
        var other = try server.connect()
        try await eventually("nobody waits for the row any more") {
            try other.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'", []).integer(0, 0) == 0
        }
        try holder.run("COMMIT")
        var failures = 0
        try append(batch(2), to: journal, &failures)
        #expect(try batches(of: journal) == [batch(1), batch(2)])
    }

    @Test func `A session on a server that only reads is left, for the next one may be on the primary`() async throws {
        let server = try await TestServer()
        let place = try server.journal().place
        var other = try server.connect()
        let database = try other.run("SELECT current_database()::text", []).text(0, 0)
        try other.run("ALTER DATABASE \(database) SET default_transaction_read_only = on")
        let journal = try PostgreSQLJournal(at: place)
        let error = #expect(throws: JournalError.self) { try journal.append(batch(1)) }
        #expect(error?.code == .unavailable && error?.underlying?.contains("25006") == true, "\(error.map { "\($0)" } ?? "")")
        try other.run("SET default_transaction_read_only = off; ALTER DATABASE \(database) RESET default_transaction_read_only")
        try journal.append(batch(1))
        #expect(try batches(of: journal) == [batch(1)])
    }

    @Test func `Who has an epoch that the server has lost is told of a lost end, and not of another store`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        try journal.append(batch(1))
        try server.run("UPDATE \(journal.place.table("partitions")) SET epoch = 0, nonce = gen_random_uuid()")
        let error = #expect(throws: JournalError.self) { try journal.record([1], as: "fact") }
        #expect(error?.code == .damaged)
        #expect(
            error?.message == """
                The journal at \(journal.place) has lost its end: its epoch is 0, and this store has taken it with 1.
                """)
    }

    @Test func `A server that crashes takes nothing with it, and the journal goes on with its next start`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        for turn in 1...20 { try journal.append(batch(turn)) }
        try await server.crash()
        let error = #expect(throws: JournalError.self) { try journal.append(batch(21)) }
        #expect(error?.code == .unavailable)
        try await server.start()
        var failures = 0
        try append(batch(21), to: journal, &failures)
        #expect(try batches(of: journal) == (1...21).map(batch))
    }

    @Test func `A server that was started again while nobody wrote leaves no doubt of the next append`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        try journal.append(batch(1))
        try await server.crash()
        try await server.start()
        try journal.append(batch(2))
        #expect(try batches(of: journal) == [batch(1), batch(2)])
    }

    @Test func `A server that is frozen is unavailable, and heals`() async throws {
        let server = try await TestServer()
        let journal = try server.journal(patience: .seconds(3))
        try journal.append(batch(1))
        var other = try server.connect()
        let pid = try other.run(
            "SELECT pid::bigint FROM pg_stat_activity WHERE query LIKE 'WITH fence AS%' AND pid <> pg_backend_pid()", []
        )
        .integer(0, 0)
        kill(pid_t(pid), SIGSTOP)
        let error = #expect(throws: JournalError.self) { try journal.append(batch(2)) }
        #expect(error?.code == .unavailable)
        kill(pid_t(pid), SIGCONT)
        var failures = 0
        try append(batch(2), to: journal, &failures)
        #expect(try batches(of: journal) == [batch(1), batch(2)])
    }

    @Test func `A trim whose answer is lost is found out by who reads, and is no damage`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        for turn in 1...4 { try journal.append(batch(turn)) }
        var check = JournalCheck(of: journal)
        let (partitions, batches) = (journal.place.table("partitions"), journal.place.table("batches"))
        try server.run("UPDATE \(partitions) SET trimmed = 2, trimmed_digest = (SELECT digest FROM \(batches) WHERE first = 2)")
        try server.run("DELETE FROM \(batches) WHERE first <= 2")
        #expect(journal.first == 1, "it has not heard of it")
        var progress = try check.advance(in: journal)
        #expect(progress == .more && journal.first == 3)
        progress = try check.advance(in: journal)
        #expect(progress == .end)
        try journal.append(batch(5))
    }

    /// A store that stood still between two statements of one transaction would hold up whoever takes the journal over.
    @Test func `A store that trims holds nothing between two statements`() async throws {
        let server = try await TestServer()
        let journal = try server.journal()
        // Each is a step of its own.
        for turn in 1...60 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8](repeating: 7, count: 1 << 20))) }
        try journal.save(Snapshot(turn: 60, bytes: [1]))
        let partitions = journal.place.table("partitions")
        let isOver = Atomic(false)
        let hasEnded = Atomic(false)
        let looks = Atomic(0)
        let found = Atomic(0)
        let observer = Thread {
            defer { hasEnded.store(true, ordering: .relaxed) }
            do {
                var connection = try server.connect()
                while !isOver.load(ordering: .relaxed) {
                    // Who has locked a row has this lock of its table, too; to read a snapshot takes none of both.
                    let sql = """
                        SELECT count(*) FROM pg_stat_activity JOIN pg_locks USING (pid)
                        WHERE state LIKE 'idle in transaction%' AND relation = to_regclass('\(partitions)')
                            AND mode IN ('RowShareLock', 'RowExclusiveLock')
                        """
                    found.add(try connection.run(sql, []).integer(0, 0), ordering: .relaxed)
                    looks.add(1, ordering: .relaxed)
                }
            } catch {
                Issue.record(error)
            }
        }
        observer.start()
        defer { isOver.store(true, ordering: .relaxed) }
        try await eventually("somebody looks") { looks.load(ordering: .relaxed) > 0 }
        while try journal.trim(through: 59) {}
        isOver.store(true, ordering: .relaxed)
        try await eventually("nobody looks any more") { hasEnded.load(ordering: .relaxed) }
        #expect(found.load(ordering: .relaxed) == 0, "in \(looks.load(ordering: .relaxed)) looks")
        #expect(journal.first == 60 && journal.last == 60)
    }

    @Test func `A commit that no replica has confirmed is none, until a later one is confirmed`() async throws {
        let server = try await TestServer()
        // Who hides warnings from its clients does not hide this one from the journal.
        try server.run("ALTER ROLE CURRENT_USER SET client_min_messages = error")
        let journal = try server.journal(patience: .seconds(5))
        try journal.append(batch(1))
        try server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try server.run("SELECT pg_reload_conf()")
        let isOver = Atomic(false)
        let canceller = Thread {
            do {
                var connection = try server.connect()
                try connection.run("SET synchronous_commit = local")
                while !isOver.load(ordering: .relaxed) {
                    usleep(20_000)
                    _ = try connection.run(
                        "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", [])
                }
            } catch {
                Issue.record(error)
            }
        }
        canceller.start()
        defer { isOver.store(true, ordering: .relaxed) }
        try await eventually("the server waits for a replica") {
            do throws(JournalError) {
                try journal.append(batch(journal.last + 1))
                return false
            } catch {
                #expect(error.code == .unavailable)
                return true
            }
        }
        let last = journal.last
        let error = #expect(throws: JournalError.self) { try journal.append(batch(last + 1)) }
        #expect(error?.code == .unavailable && journal.last == last)
        // It can be read, and is not confirmed.
        #expect(try PostgreSQLJournal(at: journal.place, access: .readOnly).last == last + 1)
        var connection = try server.connect()
        try connection.run("SET synchronous_commit = local")
        try connection.run("ALTER SYSTEM RESET synchronous_standby_names")
        try connection.run("SELECT pg_reload_conf()")
        var failures = 0
        try append(batch(last + 1), to: journal, &failures)
        #expect(try batches(of: journal).map(\.last) == Array(1...last + 1))
    }

    @Test(arguments: [("SyncRepWaitForLSN", true), ("", true), ("GetNewTransactionId", false), ("GetNewMultiXactId", false)])
    func `A warning makes a commit doubtful, unless it is of numbers that run out`(_ source: String, _ isDoubtful: Bool) {
        let doubt = JournalServer.doubt(of: [PostgreSQLWarning("words", source: source)])
        #expect(doubt == (isDoubtful ? "words" : nil))
    }

    @Test func `A server that runs out of transactions is written while it warns, and is unavailable when it refuses`() async throws
    {
        let server = try await TestServer(["wal_level=logical"])
        let place = try server.journal().place
        // Or it would mend itself. An open transaction would keep it from that, too, but each start writes four bytes for each one since.
        try server.run("SELECT pg_create_logical_replication_slot('oldest', 'pgoutput')")
        try await server.advance(to: 2_107_500_000)
        try PostgreSQLJournal(at: place).append(batch(1))
        var connection = try server.connect()
        try connection.run("SELECT txid_current()")
        let warnings = connection.takeWarnings()
        #expect(warnings.map(\.source) == ["GetNewTransactionId"], "\(warnings)")

        try await server.advance(to: 2_144_500_000)
        let journal = try PostgreSQLJournal(at: place)
        let error = #expect(throws: JournalError.self) { try journal.append(batch(2)) }
        #expect(error?.code == .unavailable && error?.underlying?.contains("54000") == true, "\(error.map { "\($0)" } ?? "")")
        #expect(try batches(of: journal) == [batch(1)])
    }
}

/// How much is tried: little in `make test`, much in `make chaos`.
enum ChaosCount {
    static var kills: Int { ProcessInfo.processInfo.environment["SAMOVAR_CHAOS_SECONDS"] == nil ? 40 : 1_000 }
}
