import Foundation
import Journal
import JournalChain
import PostgreSQL
import PostgreSQLSupport
import ProcessSupport
import SamovarCore
import Synchronization
import Testing

@testable import PostgreSQLJournal

/// Who has a journal, as its place says: what stores that share one decide by.
@Suite(.enabled("there is no PostgreSQL: leases in it are not tested") { TestServer.programs != nil })
struct LeaseTests {
    /// Ends when nobody holds it.
    private let server: TestServer

    init() async throws {
        server = try await TestServer.common()
    }

    private func lease(of journal: PostgreSQLJournal, _ address: String = "here") -> PostgreSQLLease {
        PostgreSQLLease(journal.place, id: journal.nonce, address: address)
    }

    /// A journal that is taken, with its lease.
    private func taken(_ server: TestServer? = nil) throws -> (journal: PostgreSQLJournal, lease: PostgreSQLLease) {
        let journal = try (server ?? self.server).journal()
        let lease = lease(of: journal)
        _ = try lease.renew(for: .seconds(10))
        _ = try journal.beginWriting(beyond: 0)
        return (journal, lease)
    }

    @Test func `A new journal is nobody's`() async throws {
        let journal = try server.journal()
        let owner = try lease(of: journal).look()
        #expect(owner.isReleased && owner.epoch == 0 && owner.head == 0 && !owner.isOwn && !owner.isWanted)
    }

    @Test func `Who holds the lease is neither gone nor expired, and says where it is`() async throws {
        let (journal, lease) = try taken()
        try journal.append(Batch(first: 1, last: 3, bytes: [1]))
        #expect(
            try lease.renew(for: .seconds(10))
                == JournalOwnership(
                    of: journal.identity, epoch: 1, head: 3, digest: journal.end.digest, isOwn: true, owner: "here"))
        let other = try PostgreSQLJournal(at: journal.place)
        #expect(
            try self.lease(of: other).look()
                == JournalOwnership(of: journal.identity, epoch: 1, head: 3, digest: journal.end.digest, owner: "here"))
    }

    @Test func `Of a replica, which may be behind, nobody learns who has the journal`() async throws {
        let primary = try await TestServer()
        let (journal, lease) = try taken(primary)
        let replica = try await TestServer(replicaOf: primary)
        let place = try #require(PostgreSQLPlace(replica.address, schema: journal.place.schema))
        let other = PostgreSQLLease(place, id: journal.nonce, address: "there")
        for _ in 0..<2 {
            let error = #expect(throws: JournalError.self) { try other.look() }
            #expect(error?.code == .unavailable && error?.underlying?.contains("the server is a replica") == true)
        }
        try replica.promote()
        try await eventually("it is the primary") { (try? other.look().epoch) == 1 }
        withExtendedLifetime(lease) {}
    }

    @Test func `A lease that is not renewed expires, and its lock stays as long as its session`() async throws {
        let (journal, lease) = try taken()
        _ = try lease.renew(for: .milliseconds(1))
        let other = try self.lease(of: PostgreSQLJournal(at: journal.place))
        try await eventually("the lease is over") { try other.look().isExpired }
        #expect(try !other.look().isLockFree)
        _ = try lease.renew(for: .seconds(10))
        #expect(try !other.look().isExpired)
    }

    @Test func `A session that ends is seen by its owner and by others, and the next renewal begins another`() async throws {
        let server = try await TestServer()
        let (journal, lease) = try taken(server)
        let other = try self.lease(of: PostgreSQLJournal(at: journal.place), "there")
        #expect(!lease.hasEnded)
        try server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()")
        try await eventually("the lock is free") { try other.look().isLockFree }
        try await eventually("the owner knows") { lease.hasEnded }
        #expect(try !other.look().isExpired)
        try await eventually("the owner has a session again") {
            do { return try lease.renew(for: .seconds(10)).isOwn } catch { return false }
        }
        #expect(try !other.look().isLockFree)
    }

    @Test func `Who has another session since it looked has the lock with its next renewal`() async throws {
        let server = try await TestServer()
        let (journal, lease) = try taken(server)
        let other = try self.lease(of: PostgreSQLJournal(at: journal.place), "there")
        try server.run(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND pid <> pg_backend_pid()")
        try await eventually("the lock is free") { try other.look().isLockFree }
        try await eventually("the owner has a session again") {
            do { return try lease.look().isOwn } catch { return false }
        }
        #expect(try !lease.renew(for: .seconds(10)).isLockFree)
    }

    @Test func `Who has another session while the server has not noticed the end of the former one is told that it lacks the lock`()
        async throws
    {
        let server = try await TestServer()
        let (journal, lease) = try taken(server)
        let other = try self.lease(of: PostgreSQLJournal(at: journal.place), "there")
        var connection = try server.connect()
        let frozen = pid_t(try connection.run("SELECT pid FROM pg_locks WHERE locktype = 'advisory'", []).integer(0, 0))
        kill(frozen, SIGSTOP)
        try await eventually("a renewal in another session") {
            do { return try lease.renew(for: .seconds(10)).isLockFree } catch { return false }
        }
        #expect(try !other.look().isLockFree, "the former session has it")
        kill(frozen, SIGCONT)
        try await eventually("the lock is free") { try other.look().isLockFree }
        #expect(try !lease.renew(for: .seconds(10)).isLockFree)
        #expect(try !other.look().isLockFree)
    }

    @Test func `A wish is heard with the next renewal, and ends when the journal is taken`() async throws {
        let (journal, lease) = try taken()
        let other = try PostgreSQLJournal(at: journal.place)
        let wish = self.lease(of: other, "there")
        try wish.want(from: 1)
        #expect(try lease.renew(for: .seconds(10)).isWanted)
        try lease.release()
        #expect(try wish.look().isReleased)
        _ = try wish.renew(for: .seconds(10))
        #expect(try other.beginWriting(beyond: 0) == 2)
        #expect(
            try wish.look()
                == JournalOwnership(
                    of: journal.identity, epoch: 2, head: 0, digest: other.end.digest, isOwn: true, owner: "there"))
    }

    @Test func `A wish can be taken back, by whoever wished last`() async throws {
        let (journal, lease) = try taken()
        let other = try self.lease(of: PostgreSQLJournal(at: journal.place), "there")
        try other.want(from: 1)
        try self.lease(of: PostgreSQLJournal(at: journal.place), "elsewhere").withdraw()
        #expect(try lease.look().isWanted)
        try other.withdraw()
        #expect(try !lease.look().isWanted)
    }

    @Test func `A wish for the journal of an earlier epoch is none`() async throws {
        let (journal, lease) = try taken()
        try self.lease(of: PostgreSQLJournal(at: journal.place)).want(from: 0)
        #expect(try !lease.look().isWanted)
    }

    @Test func `Who has lost the journal cannot give it up`() async throws {
        let (journal, lease) = try taken()
        let other = try PostgreSQLJournal(at: journal.place)
        _ = try other.beginWriting(beyond: 0)
        try lease.release()
        #expect(try !self.lease(of: other).look().isReleased)
    }

    @Test func `A journal that a store has is not replaced`() async throws {
        let (journal, lease) = try taken()
        let error = #expect(throws: JournalError.self) { try journal.place.archive() }
        #expect(error?.code == .busy && error?.message == "A store (here) has the journal at \(journal.place).")
        try lease.release()
        let archive = try journal.place.archive()
        #expect(archive.contains("schema \(journal.place.schema)_2"))
        #expect(try PostgreSQLJournal(at: journal.place).epoch == 3, "whoever comes back with 1 is fenced")
    }

    @Test func `Whose journal was replaced by a shorter one sees another identity and a higher epoch`() async throws {
        let journal = try server.journal()
        try journal.append(Batch(first: 1, last: 2, bytes: [1]))
        let lease = lease(of: journal)
        let former = try lease.look()
        #expect(former.identity == journal.identity)
        try lease.release()
        _ = try journal.place.archive()
        let found = try lease.look()
        #expect(found.identity != former.identity && found.epoch > former.epoch && found.head == 0)
    }

    @Test func `A journal to which a store comes back while it is replaced stays in its place`() async throws {
        let journal = try server.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        let place = journal.place
        let isBack = JournalError(.busy, "A store has come back to the journal at \(place), which is not replaced.")
        let examined = try PostgreSQLJournal(at: place, access: .examination)
        try journal.append(Batch(first: 2, last: 2, bytes: [2]))
        #expect(throws: isBack) { _ = try place.draft(from: examined, as: .new, behind: nil) }

        let draft = try place.draft(from: PostgreSQLJournal(at: place, access: .examination), as: .new, behind: nil)
        try draft.finish()
        try journal.append(Batch(first: 3, last: 3, bytes: [3]))
        #expect(throws: isBack) { _ = try draft.install() }
        #expect(try PostgreSQLJournal(at: place).last == 3)
        try draft.discard()
    }

    @Test func `An append that waits while its journal is replaced is fenced, and does not end in the archive`() async throws {
        // Of its own, since it counts who waits.
        let server = try await TestServer()
        let journal = try server.journal()
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        var holder = try server.connect()
        try holder.run("BEGIN; SELECT 1 FROM \(journal.place.table("partitions")) FOR UPDATE")
        let archived = Mutex<Result<String, any Error>?>(nil)
        let appended = Mutex<Result<Void, any Error>?>(nil)
        func waiting() throws -> Int {
            var observer = try server.connect()
            return try observer.run("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'", []).count
        }
        Thread {
            let result: Result<String, any Error> = Result { try journal.place.archive() }
            archived.withLock { $0 = result }
        }.start()
        try await eventually("the archiving waits for the row") { try waiting() == 1 }
        Thread {
            let result: Result<Void, any Error> = Result { try journal.append(Batch(first: 2, last: 2, bytes: [2])) }
            appended.withLock { $0 = result }
        }.start()
        try await eventually("the append waits behind it") { try waiting() == 2 }
        try holder.run("COMMIT")
        try await eventually("it is archived") { archived.withLock { $0 != nil } }
        try await eventually("the append has ended") { appended.withLock { $0 != nil } }
        let outcome = appended.withLock { $0 }
        // Taken with 1, archived with 2.
        let isFenced = JournalError(.fenced, "Another store (epoch 3) has the journal at \(journal.place).")
        #expect(throws: isFenced) { try outcome?.get() }
        let archive = try archived.withLock { try $0?.get() }
        let name = try #require(archive?.split(separator: " ").last)
        let old = try #require(PostgreSQLPlace(server.address, schema: String(name)))
        #expect(try PostgreSQLJournal(at: old).last == 1)
        #expect(try PostgreSQLJournal(at: journal.place).last == 0)
    }

    @Test func `A role gets what a store needs, and no more`() async throws {
        let server = try await TestServer()
        let place = try server.place()
        try server.run("CREATE ROLE shop LOGIN")
        #expect(try place.create(for: "shop"))
        let address = try PostgreSQLAddress("\(server.address)".replacing("samovar@", with: "shop@"))
        let own = try #require(PostgreSQLPlace(address, schema: place.schema))
        let journal = try PostgreSQLJournal(at: own)
        let lease = lease(of: journal)
        _ = try lease.renew(for: .seconds(10))
        try journal.append(Batch(first: 1, last: 1, bytes: [1]))
        try journal.save(Snapshot(turn: 1, bytes: [2]))
        #expect(try !journal.trim(through: 1))
        try lease.release()
        let error = #expect(throws: JournalError.self) { try own.archive() }
        #expect(error?.message.hasSuffix("cannot be archived: that takes the role that made it.") == true)

        try server.run("CREATE TABLE \(place.table("orders")) ()")
        #expect(try !place.create(for: "shop"))
        var connection = try server.connect()
        let question = "SELECT has_table_privilege('shop', '\(place.schema).orders', 'SELECT')"
        let mayRead = try connection.run(question, []).boolean(0, 0)
        #expect(!mayRead, "what is made there beside the journal is nothing of the store's")
    }
}
