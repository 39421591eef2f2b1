import Foundation
import Journal
import JournalChain
import PostgreSQL
import PostgreSQLSupport
import ProcessSupport
import SamovarTesting
import Synchronization
import Testing

@testable import PostgreSQLJournal

@Suite(.enabled("there is no PostgreSQL: journals in it are not tested") { TestServer.programs != nil })
struct PostgreSQLJournalTests {
    // MARK: Contracts

    @Test(arguments: JournalContract.Rule.allCases)
    func `Keeps the contract`(_ rule: JournalContract.Rule) async throws {
        let server = try await TestServer.common()
        let contract = JournalContract(
            make: { try server.journal() },
            reopen: { journal in
                let former = try #require(journal as? PostgreSQLJournal)
                try former.close()
                return try PostgreSQLJournal(at: former.place)
            })
        try contract.verify(rule)
    }

    @Test(arguments: FencedJournalContract.Rule.allCases)
    func `Keeps the contract of the fence`(_ rule: FencedJournalContract.Rule) async throws {
        let server = try await TestServer.common()
        let contract = FencedJournalContract(
            make: { try server.journal() },
            takeOver: { try PostgreSQLJournal(at: #require($0 as? PostgreSQLJournal).place, access: .readWrite) })
        try contract.verify(rule)
    }

    // MARK: Opening

    @Test func `A journal is made once, and missing before`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        let error = #expect(throws: JournalError.self) { try PostgreSQLJournal(at: place) }
        #expect(error?.code == .missing && error?.message == "There is no journal at \(place): `journal init` makes one.")
        #expect(try PostgreSQLJournal.create(at: place))
        #expect(try !PostgreSQLJournal.create(at: place))
    }

    @Test func `A journal that is only read is not written`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        let reader = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        let error = #expect(throws: JournalError.self) { try reader.append(Batch(first: 1, last: 1, bytes: [])) }
        #expect(error?.code == .misuse)
    }

    @Test func `A batch that was changed is found, and named`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...3 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        try server.run("UPDATE \(journal.place.table("batches")) SET data = 'x' WHERE first = 2")
        let error = #expect(throws: JournalError.self) { try journal.read(from: 1) { _ in } }
        #expect(error?.code == .damaged && error?.message.hasSuffix("batch of turn 2: digest differs.") == true)
    }

    @Test func `A journal whose end is not that of its row is not opened`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...3 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        try journal.close()
        try server.run("DELETE FROM \(journal.place.table("batches")) WHERE first = 3")
        let error = #expect(throws: JournalError.self) { try PostgreSQLJournal(at: journal.place) }
        #expect(error?.code == .damaged)
    }

    /// As after a failover to a replica that was behind.
    @Test func `A journal that has lost its end is neither followed nor written, and both turns are named`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...3 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        let follower = try PostgreSQLJournal(at: journal.place, access: .readWrite)
        let (batches, partitions) = (journal.place.table("batches"), journal.place.table("partitions"))
        try server.run("DELETE FROM \(batches) WHERE first = 3")
        try server.run("UPDATE \(partitions) SET head = 2, digest = (SELECT digest FROM \(batches) WHERE first = 2)")
        let behind = #expect(throws: JournalError.self) { try follower.refresh() }
        let loss = "The journal at \(journal.place) has lost its end: it ends at turn 2, and had"
        #expect(behind?.code == .damaged && behind?.message == "\(loss) turn 3.")
        let lost = #expect(throws: JournalError.self) { try journal.append(Batch(first: 4, last: 4, bytes: [4])) }
        #expect(lost?.code == .damaged && lost?.message == "\(loss) confirmed turn 3.")
    }

    @Test func `A journal in whose place is another one with the same turns is missing to who has followed it`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        let batch = Batch(first: 1, last: 1, bytes: [1])
        try journal.append(batch)
        let follower = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        let draft = try journal.place.draft(from: follower, as: .new, behind: nil)
        try draft.append([batch])
        try draft.finish()
        _ = try draft.install()
        #expect(throws: JournalError(.missing, "The journal at \(journal.place) was replaced by another one meanwhile.")) {
            try follower.refresh()
        }
    }

    // MARK: Trimming

    @Test func `What another store has trimmed meanwhile is missing, and no damage`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...4 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        let reader = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        try journal.save(Snapshot(turn: 4, bytes: [1]))
        #expect(try !journal.trim(through: 2))
        let error = #expect(throws: JournalError.self) { try reader.read(from: 1) { _ in } }
        #expect(error?.code == .missing && reader.first == 3)
        var turns: [Int] = []
        try reader.read(from: 3) { turns.append($0.first) }
        #expect(turns == [3, 4])
    }

    @Test func `Nor is what another store trims while it is read`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        // Of which two are a page.
        for turn in 1...6 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8](repeating: 7, count: 300 << 10))) }
        let reader = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        try journal.save(Snapshot(turn: 6, bytes: [1]))
        var turns: [Int] = []
        let error = #expect(throws: JournalError.self) {
            try reader.read(from: 1) { batch in
                turns.append(batch.first)
                while try journal.trim(through: 4) {}
            }
        }
        #expect(error?.code == .missing && turns == [1, 2])
    }

    @Test func `Nor does an examination take what was trimmed meanwhile for damage`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...3 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        let examiner = try PostgreSQLJournal(at: journal.place, access: .examination)
        try journal.save(Snapshot(turn: 3, bytes: [1]))
        #expect(try !journal.trim(through: 2))
        let error = #expect(throws: JournalError.self) { _ = try examiner.examine(behind: nil) { _ in } }
        #expect(error?.code == .missing)
    }

    @Test func `A place that is trimmed while it is looked for is missing or the beginning, and no damage`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...4 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        let follower = try PostgreSQLJournal(at: journal.place, access: .readOnly)
        let known = try (1...3).map { try follower.chain(behind: $0) }
        try journal.save(Snapshot(turn: 4, bytes: [1]))
        #expect(try !journal.trim(through: 2))
        let error = #expect(throws: JournalError.self) { try follower.state.withLock { _ = try $0.has(known[0]) } }
        #expect(error?.code == .missing)
        #expect(try follower.state.withLock { try $0.has(known[1]) })
        #expect(try follower.state.withLock { try $0.has(known[2]) })
        #expect(try !follower.state.withLock { try $0.has(BatchChain(last: 3, digest: known[1].digest)) })
    }

    @Test func `Who has followed a journal up to the last turn that was trimmed follows on`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        for turn in 1...3 { try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        let follower = try PostgreSQLJournal(at: journal.place, access: .readWrite)
        try journal.append(Batch(first: 4, last: 4, bytes: [4]))
        try journal.save(Snapshot(turn: 3, bytes: [1]))
        #expect(try !journal.trim(through: 3))
        try follower.refresh()
        #expect(follower.first == 4 && follower.last == 4)
        var turns: [Int] = []
        try follower.read(from: 4) { turns.append($0.first) }
        #expect(turns == [4])
    }

    // MARK: Making

    @Test func `Of two who make a journal at once one does, and the other finds it`() async throws {
        let server = try await TestServer.common()
        for _ in 1...10 {
            let place = try server.place()
            let made = Mutex<[Result<Bool, any Error>]>([])
            for _ in 1...2 {
                Thread {
                    let result: Result<Bool, any Error> = Result { try PostgreSQLJournal.create(at: place) }
                    made.withLock { $0.append(result) }
                }.start()
            }
            try await eventually("both have ended") { made.withLock { $0.count == 2 } }
            let results = try made.withLock { try $0.map { try $0.get() } }
            #expect(results.count { $0 } == 1)
        }
    }

    @Test(arguments: [
        "CREATE TABLE PLACE.orders ()", "CREATE TABLE PLACE.facts ()", "CREATE VIEW PLACE.orders AS SELECT 1",
        "CREATE TYPE PLACE.size AS ENUM ('small')", "CREATE FUNCTION PLACE.one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    ])
    func `A schema that holds something else is refused for a journal, and stays as it is`(_ sql: String) async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        try server.run("CREATE SCHEMA \(place.schema); \(sql.replacing("PLACE", with: place.schema))")
        let error = #expect(throws: JournalError.self) { try PostgreSQLJournal.create(at: place) }
        #expect(error?.code == .misuse && error?.message.hasPrefix("The schema \(place.schema) holds something else") == true)
        var connection = try server.connect()
        let isUntouched = try connection.run("SELECT to_regclass('\(place.schema).partitions') IS NULL", []).boolean(0, 0)
        #expect(isUntouched)
    }

    @Test func `A schema that was made empty takes a journal`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        try server.run("CREATE SCHEMA \(place.schema)")
        #expect(try PostgreSQLJournal.create(at: place))
    }

    @Test func `A place has one draft at a time, whose session is the only one that writes it`() async throws {
        // Of its own, since sessions are ended there.
        let server = try await TestServer()
        let place = try server.journal().place
        let source = try PostgreSQLJournal(at: place, access: .examination)
        let batch = Batch(first: 1, last: 1, bytes: [1])
        let first = try place.draft(from: source, as: .new, behind: nil)
        #expect(throws: JournalError(.busy, "Another journal is being made for \(place).")) {
            _ = try place.draft(from: source, as: .new, behind: nil)
        }
        try first.append([])

        try server.run("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'")
        let lost = #expect(throws: JournalError.self) { try first.append([batch]) }
        #expect(lost?.code == .unavailable)
        var observer = try server.connect()
        try await eventually("the lock is free") {
            try observer.run("SELECT pid FROM pg_locks WHERE locktype = 'advisory'", []).count == 0
        }
        let second = try place.draft(from: source, as: .new, behind: nil)
        let over = #expect(throws: JournalError.self) { try first.append([batch]) }
        #expect(over?.code == .unavailable && over?.underlying == "its session is over")
        try first.discard()
        try second.append([batch])
        try second.finish()
        _ = try second.install()
        #expect(try PostgreSQLJournal(at: place).last == 1)
    }

    @Test func `A draft removes what a former one has left, and no journal of another place`() async throws {
        let server = try await TestServer.common()
        let place = try server.journal().place
        var trial = try #require(PostgreSQLPlace(place.address, schema: "\(place.schema)_draft"))
        trial.patience = place.patience
        #expect(try PostgreSQLJournal.create(at: trial))
        try PostgreSQLJournal(at: trial).append(Batch(first: 1, last: 1, bytes: [1]))
        let draft = "\(place.schema)-draft"
        #expect(PostgreSQLPlace(place.address, schema: draft) == nil)

        try server.run("CREATE SCHEMA \"\(draft)\" CREATE TABLE batches ()")
        let second = try place.draft(from: PostgreSQLJournal(at: place, access: .examination), as: .new, behind: nil)
        try second.finish()
        _ = try second.install()
        #expect(try PostgreSQLJournal(at: trial).last == 1)
    }

    @Test func `A journal that cannot be given to the role of its stores stays where it is`() async throws {
        // Of its own, since it refuses what others do.
        let server = try await TestServer()
        let place = try server.place()
        try server.run("CREATE ROLE shop LOGIN")
        #expect(try place.create(for: "shop"))
        try server.run(
            """
            CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'not now'; END $$;
            CREATE EVENT TRIGGER refusal ON ddl_command_start WHEN TAG IN ('GRANT') EXECUTE FUNCTION refuse()
            """)
        let error = #expect(throws: JournalError.self) { try place.archive() }
        #expect(error?.underlying?.contains("not now") == true, "\(String(describing: error))")
        #expect(try JournalSchema.roles(at: place) == ["shop"])

        try server.run("DROP EVENT TRIGGER refusal")
        _ = try place.archive()
        #expect(try JournalSchema.roles(at: place) == ["shop"])
    }

    // MARK: Snapshots

    @Test func `Appends do not wait for a snapshot that is read`() async throws {
        let server = try await TestServer.common()
        let journal = try server.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        try journal.save(Snapshot(turn: 1, bytes: [7]))
        var holder = try server.connect()
        try holder.run("BEGIN; LOCK TABLE \(journal.place.table("snapshot_parts")) IN ACCESS EXCLUSIVE MODE")
        let found = Mutex<Result<Snapshot, any Error>?>(nil)
        let reader = Thread {
            let result: Result<Snapshot, any Error> = Result { try journal.snapshot(at: 1) }
            found.withLock { $0 = result }
        }
        reader.start()
        try await eventually("the reader waits for the table") {
            var other = try server.connect()
            return try other.run(
                "SELECT pid FROM pg_locks WHERE NOT granted AND relation = $1::regclass",
                [.text(journal.place.table("snapshot_parts"))]
            ).count > 0
        }
        try journal.append(Batch(first: 2, last: 2, bytes: [2]))
        let isWaiting = found.withLock { $0 == nil }
        #expect(isWaiting)
        try holder.run("COMMIT")
        try await eventually("it is read") { found.withLock { $0 != nil } }
        let bytes = try found.withLock { try $0?.get().bytes }
        #expect(bytes == [7])
    }

    // MARK: Durability

    @Test func `What is durable is what the server says`() {
        func durability(_ fsync: String, _ commit: String, _ standbys: String) -> String {
            "\(Durability.ofServer(fsync: fsync, commit: commit, standbys: standbys))".prefix { $0 != ":" }.description
        }
        #expect(durability("off", "on", "*") == "process")
        #expect(durability("on", "off", "*") == "process")
        #expect(durability("on", "on", "") == "disk")
        #expect(durability("on", "local", "*") == "disk")
        for commit in ["on", "remote_write", "remote_apply"] { #expect(durability("on", commit, "ANY 1 (b)") == "replicated") }
    }

    @Test func `It is asked of the server`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        _ = try PostgreSQLJournal.create(at: place)
        #expect(try PostgreSQLJournal(at: place).durability == .disk(how: "the log of a server of PostgreSQL is synced"))
        try server.run("ALTER ROLE samovar IN DATABASE postgres SET synchronous_commit = off")
        defer { #expect(throws: Never.self) { try server.run("ALTER ROLE samovar IN DATABASE postgres RESET synchronous_commit") } }
        let weak = try server.place()
        _ = try PostgreSQLJournal.create(at: weak)
        guard case .process = try PostgreSQLJournal(at: weak).durability else {
            Issue.record("it is not durable")
            return
        }
    }
}
