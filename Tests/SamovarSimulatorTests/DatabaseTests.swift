import Journal
import SamovarCore
import SamovarStore
import SamovarTesting
import Testing

@testable import SamovarSimulator

/// The database of the simulator keeps a journal like any other that several processes reach.
@Suite struct DatabaseTests {
    /// A database, and the journals of the stores that use it.
    private final class Bench {
        var now: Instant = 0
        var late: [() -> Void] = []
        private(set) lazy var database = Database { [unowned self] in
            now
        } later: { [unowned self] in
            late.append($0)
        }
        private var opened = 0

        func open(_ store: Int = 0) throws -> DatabaseJournal {
            opened += 1
            return try DatabaseJournal(database, store: store, nonce: [UInt8(opened)])
        }

        /// The next statement has this fate, those after it are done.
        func next(_ fate: Database.Fate) {
            var fates = [fate]
            database.fate = { _ in fates.popLast() ?? .done }
        }
    }

    private static func batch(_ turn: Int, _ byte: UInt8 = 1) -> Batch { Batch(first: turn, last: turn, bytes: [byte]) }

    @Test(arguments: JournalContract.Rule.allCases)
    func `It keeps the contract of journals`(_ rule: JournalContract.Rule) throws {
        var bench = Bench()
        let contract = JournalContract {
            bench = Bench()
            return try bench.open()
        } reopen: { journal in
            (journal as? DatabaseJournal)?.close()
            return try bench.open()
        }
        try contract.verify(rule)
    }

    @Test(arguments: FencedJournalContract.Rule.allCases)
    func `It keeps that of journals with a fence`(_ rule: FencedJournalContract.Rule) throws {
        var bench = Bench()
        let contract = FencedJournalContract {
            bench = Bench()
            return try bench.open()
        } takeOver: { _ in
            try bench.open(1)
        }
        try contract.verify(rule)
    }

    @Test(arguments: Database.Fate.allCases)
    func `A batch whose answer is lost is in the journal once, whenever it gets there`(_ fate: Database.Fate) throws {
        for isLateBeforeRetry in [true, false] {
            let bench = Bench()
            let journal = try bench.open()
            try journal.append(Self.batch(1))
            bench.next(fate)
            if fate == .done {
                try journal.append(Self.batch(2))
            } else {
                #expect(throws: JournalError.self) { try journal.append(Self.batch(2)) }
                if isLateBeforeRetry { bench.late.forEach { $0() } }
                try journal.append(Self.batch(2))
                if !isLateBeforeRetry { bench.late.forEach { $0() } }
            }
            try journal.append(Self.batch(3))
            #expect(bench.database.contents.batches.map(\.batch.first) == [1, 2, 3])
        }
    }

    @Test(arguments: [Database.Fate.lostBefore, .lostAfter, .late])
    func `A take whose answer is lost is found out and not guessed`(_ fate: Database.Fate) throws {
        let bench = Bench()
        let journal = try bench.open()
        bench.next(fate)
        do { _ = try journal.beginWriting() } catch { try #require(error.code == .unavailable) }
        bench.late.forEach { $0() }
        _ = try journal.beginWriting()
        #expect(journal.epoch == 1 && bench.database.contents.row.epoch == 1)
    }

    @Test func `The late append of a store that is dead writes nothing once another has the journal`() throws {
        let bench = Bench()
        let former = try bench.open()
        try former.append(Self.batch(1))
        bench.next(.late)
        former.abandon(Self.batch(2))
        let latter = try bench.open(1)
        _ = try latter.beginWriting()
        bench.late.forEach { $0() }
        #expect(bench.database.contents.batches.count == 1)
        try latter.append(Self.batch(2, 9))
        #expect(bench.database.epochs == [1, 2])
    }

    @Test func `What is committed without the replica is confirmed by nobody until it is back`() throws {
        let bench = Bench()
        var confirmed: [Int] = []
        bench.database.confirmed = { batch, _, _ in confirmed.append(batch.last) }
        let journal = try bench.open()
        try journal.append(Self.batch(1))
        bench.database.isReplicaAway = true
        #expect(throws: JournalError.self) { try journal.append(Self.batch(2)) }
        #expect(confirmed == [1] && bench.database.contents.batches.count == 2)
        bench.database.isReplicaAway = false
        try journal.append(Self.batch(2))
        #expect(confirmed == [1, 2])
    }

    @Test func `A fail-over keeps what was confirmed, and what was not is sent again`() throws {
        let bench = Bench()
        let journal = try bench.open()
        try journal.append(Self.batch(1))
        bench.database.isReplicaAway = true
        #expect(throws: JournalError.self) { try journal.append(Self.batch(2)) }
        bench.database.failOver(losing: 0, skew: 0)
        #expect(bench.database.contents.batches.count == 1)
        try journal.append(Self.batch(2))
        #expect(bench.database.contents.batches.count == 2)
    }

    @Test func `Who has written what a fail-over has lost is told so`() throws {
        let bench = Bench()
        let journal = try bench.open()
        for turn in 1...3 { try journal.append(Self.batch(turn)) }
        bench.database.failOver(losing: 2, skew: 0)
        let error = #expect(throws: JournalError.self) { try journal.append(Self.batch(4)) }
        #expect(error?.code == .damaged)
    }

    @Test func `The lock of a process that is gone is free, a lease ends by the clock of the server`() throws {
        let bench = Bench()
        let journal = try bench.open()
        _ = try journal.beginWriting()
        func look() -> [Bool] {
            let found = bench.database.ownership(1) { "\($0)" }
            return [found.isReleased, found.isLockFree, found.isExpired]
        }
        #expect(look() == [false, false, false])
        bench.database.unlock(0)
        #expect(look() == [false, true, false])
        bench.now = 9 * seconds
        bench.database.renew(0)
        bench.now = 11 * seconds
        #expect(look() == [false, false, false])
        bench.database.failOver(losing: 0, skew: 9 * seconds)
        #expect(look() == [false, true, true])
        try journal.release()
        #expect(look() == [true, true, false])
    }
}
