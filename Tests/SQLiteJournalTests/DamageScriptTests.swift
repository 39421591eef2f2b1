import Foundation
import GRDB
import Journal
import JournalChain
import Testing

@testable import SQLiteJournal

/// Whatever is done to the files, the journal has all of its turns as they were, or an error: never a shorter or another history.
@Suite struct DamageScriptTests {
    /// A journal as a kill leaves it: some batches in the database, some in the log, two snapshots, facts.
    final class Specimen {
        let scratch: Scratch
        /// The same folder as it was some batches ago.
        let older: Scratch
        let batches: [Batch]
        let snapshots: [Snapshot]
        static let files = ["journal.sqlite", "journal.sqlite-wal", "head", "journal.id", "snapshots/10", "snapshots/30"]

        init() throws {
            let source = try Scratch()
            batches = (1...40).map {
                Batch(first: $0, last: $0, bytes: (0..<($0 * 37 % 900)).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            }
            snapshots = [10, 30].map { Snapshot(turn: $0, bytes: Array(repeating: UInt8($0), count: 500)) }
            var journal = try source.journal()
            try journal.record([1, 2, 3, 4], as: "secret")
            for batch in batches.prefix(20) { try journal.append(batch) }
            try journal.save(snapshots[0])
            try journal.close()
            older = try Scratch()
            try FileManager.default.copyItem(atPath: source.data, toPath: older.data)
            journal = try source.journal()
            for batch in batches.dropFirst(20) { try journal.append(batch) }
            try journal.save(snapshots[1])
            scratch = try Scratch()
            try FileManager.default.copyItem(atPath: source.data, toPath: scratch.data)
        }

        func copy() throws -> Scratch {
            let copy = try Scratch()
            try FileManager.default.copyItem(atPath: scratch.data, toPath: copy.data)
            return copy
        }

        /// Reads everything back; whether there was an error.
        func holds(_ damaged: Scratch, _ what: String) throws -> Bool {
            do {
                let journal = try damaged.journal(access: .readOnly)
                let found = try journal.batches()
                #expect(found == batches, "\(what): \(found.count) batches")
                #expect(try journal.fact("secret") == [1, 2, 3, 4], "\(what)")
                for snapshot in snapshots {
                    do throws(JournalError) {
                        let found = try journal.snapshot(at: snapshot.turn)
                        #expect(found == snapshot, "\(what)")
                    } catch {
                        #expect([.damaged, .missing].contains(error.code), "\(what): \(error)")
                    }
                }
                return true
            } catch let error as JournalError {
                #expect([.damaged, .lost, .format].contains(error.code), "\(what): \(error)")
                #expect(error.message.contains(damaged.data), "\(what): \(error)")
                // An examination reads it too, and what it hands over is true.
                try examine(damaged, what)
                return false
            }
        }

        private func examine(_ damaged: Scratch, _ what: String) throws {
            do {
                let journal = try damaged.journal(access: .examination)
                var found: [Batch] = []
                let problem = try journal.examine { found.append($0) }
                #expect(found == Array(batches.prefix(found.count)), "\(what)")
                #expect(problem != nil || !journal.findings.isEmpty, "\(what): the examination finds nothing")
            } catch let error as JournalError {
                #expect([.damaged, .lost, .format].contains(error.code), "\(what): \(error)")
            }
        }
    }

    @Test(arguments: Specimen.files)
    func `Flipped bits`(in file: String) throws {
        let specimen = try Specimen()
        var random = SplitMix(state: UInt64(file.utf8.count))
        let size = try Data(contentsOf: URL(filePath: specimen.scratch.data + "/" + file)).count
        var errors = 0
        let count = 40
        for _ in 0..<count {
            let copy = try specimen.copy()
            let byte = Int.random(in: 0..<size, using: &random)
            try copy.flip(byte: byte, of: file, mask: 1 << UInt8.random(in: 0..<8, using: &random))
            if try !specimen.holds(copy, "bit of byte \(byte) of \(file)") { errors += 1 }
        }
        // The fault must have shown: but pages of the database that the log overrides, and its unused end, are nothing.
        if file.hasPrefix("journal.sqlite") { #expect(errors > 0) }
    }

    @Test(arguments: Specimen.files)
    func `Truncations`(of file: String) throws {
        let specimen = try Specimen()
        let size = try Data(contentsOf: URL(filePath: specimen.scratch.data + "/" + file)).count
        var errors = 0
        for part in 0..<8 {
            let copy = try specimen.copy()
            try copy.truncate(file, to: size * part / 8)
            if try !specimen.holds(copy, "\(file) cut to \(part)/8") { errors += 1 }
        }
        if file.hasPrefix("journal.") { #expect(errors > 5) }
    }

    @Test(arguments: Specimen.files)
    func `Lost files`(_ file: String) throws {
        let specimen = try Specimen()
        let copy = try specimen.copy()
        try FileManager.default.removeItem(atPath: copy.data + "/" + file)
        let isWhole = try specimen.holds(copy, "\(file) lost")
        #expect(isWhole == !file.hasPrefix("journal.sqlite"))
    }

    @Test func `Older copies`() throws {
        let specimen = try Specimen()
        for files in [["journal.sqlite"], ["journal.sqlite-wal"], ["journal.sqlite", "journal.sqlite-wal"], ["snapshots/10"]] {
            let copy = try specimen.copy()
            for file in files {
                try FileManager.default.removeItem(atPath: copy.data + "/" + file)
                if FileManager.default.fileExists(atPath: specimen.older.data + "/" + file) {
                    try FileManager.default.copyItem(
                        atPath: specimen.older.data + "/" + file, toPath: copy.data + "/" + file)
                }
            }
            let isWhole = try specimen.holds(copy, "older copies of \(files)")
            // The database is as old as its last checkpoint anyway, so an older copy of it alone may be the very same.
            if files.contains("journal.sqlite-wal") { #expect(!isWhole, "\(files)") }
        }
    }
}

extension DamageScriptTests {
    /// What a store does with a damaged folder: the whole history, or a refusal that leaves every file as it is.
    @Test(arguments: ["small", "large"])
    func `Every variant serves the whole history or changes nothing`(journal: String) throws {
        let specimen = try journal == "small" ? DamageSpecimen.small() : .large()
        let old = try specimen.older.evidence()
        let variants = specimen.variants
        var (served, refused, warned) = (0, 0, 0)
        var unknowable: [String] = []
        for variant in variants {
            let damaged = try specimen.current.copy()
            try variant.apply(damaged)
            let what = "\(specimen.name): \(variant.name)"
            let before = try damaged.contents()
            do {
                let (end, warnings) = try start(damaged, specimen, what)
                if end == specimen.last {
                    served += 1
                } else if !warnings.isEmpty {
                    warned += 1
                } else {
                    // All that is left is as it was at an earlier time.
                    let left = try damaged.evidence(before)
                    #expect(left.allSatisfy { old[$0.key] == $0.value }, "\(what): served up to \(end): \(left.keys)")
                    unknowable.append(variant.name)
                }
            } catch let error as JournalError {
                refused += 1
                #expect(error.message.contains(damaged.data), "\(what): \(error)")
                // Without a lock nobody could even look.
                let after = try damaged.contents().filter { before["lock"] != nil || $0.key != "lock" }
                #expect(after == before, "\(what): \(error)")
                if !variant.isReplacement { try requireSalvage(of: damaged, specimen, "\(what): \(error)") }
            }
        }
        print(
            """
            \(specimen.name): \(variants.count) variants, \(served) served whole, \(refused) refused, \(warned) served with a warning, \
            not to be known: \(unknowable)
            """)
        #expect(variants.count >= 130)
    }

    /// As a store starts: newest readable snapshot, then the batches behind it.
    private func start(_ damaged: Scratch, _ specimen: DamageSpecimen, _ what: String) throws -> (end: Int, warnings: [String]) {
        // A child that another test starts has the lock of a folder until it runs its program, so it may have to be waited for.
        let folder = try DataFolder(at: damaged.data)
        let journal = try SQLiteJournal(in: folder, access: .readWrite)
        var from = 0
        var found: [Batch] = []
        struct Reader: ~Copyable {}
        do {
            _ = try journal.recover {
                Reader()
            } restore: { _, snapshot in
                from = snapshot.turn
                #expect(specimen.snapshots.contains(snapshot), "\(what)")
            } replay: { _, batch in
                found.append(batch)
            } note: { _ in
            }
        } catch is MissingBeginning {
            throw JournalError(.damaged, "\(damaged.data): no beginning")
        }
        let expected = specimen.batches.filter { $0.last > from && $0.last <= journal.last }
        #expect(found == expected, "\(what): \(found.count) of \(expected.count) batches behind turn \(from)")
        if journal.last > 0 { #expect(try journal.fact("secret") == DamageSpecimen.secret, "\(what)") }
        return (journal.last, journal.warnings)
    }

    private func requireSalvage(of damaged: Scratch, _ specimen: DamageSpecimen, _ what: String) throws {
        let sound = try soundBatches(of: try damaged.copy(), specimen)
        var found: [Batch] = []
        do {
            let folder = try DataFolder(at: damaged.data)
            let journal = try SQLiteJournal(in: folder, access: .examination)
            _ = try journal.examine { found.append($0) }
        } catch let error as JournalError {
            #expect([.damaged, .lost, .format, .missing].contains(error.code), "\(what): \(error)")
        }
        #expect(found.count >= sound, "\(what): \(found.count) batches, and there are \(sound)")
        // Of another folder it may be the journal of that.
        if !what.contains("another folder") { #expect(found.allSatisfy { specimen.all[$0.first - 1] == $0 }, "\(what)") }
    }

    /// What SQLite itself reads of the journal. Without its facts, such as its secret, nobody can go on with it.
    private func soundBatches(of copy: Scratch, _ specimen: DamageSpecimen) throws -> Int {
        var count = 0
        do {
            let queue = try DatabaseQueue(path: copy.database)
            try queue.writeWithoutTransaction { db in
                _ = try Row.fetchAll(db, sql: "SELECT name, value FROM facts")
                _ = try Row.fetchAll(db, sql: "SELECT value FROM facts WHERE name = 'anchor'")
                let rows = try Row.fetchCursor(db, sql: "SELECT first, last, data FROM batches ORDER BY first")
                while count < specimen.batches.count, let row = try rows.next() {
                    let batch = Batch(first: try row.integer(at: 0), last: try row.integer(at: 1), bytes: try row.bytes(at: 2))
                    guard batch == specimen.batches[count] else { return }
                    count += 1
                }
            }
        } catch {
            // What could be read before is sound.
        }
        return count
    }
}

extension Scratch {
    /// The files that tell of the end of a journal.
    func evidence(_ contents: [String: Data?]? = nil) throws -> [String: Data?] {
        try (contents ?? self.contents()).filter { name, bytes in
            guard let bytes, !bytes.isEmpty else { return false }
            return DamageSpecimen.witnesses.contains { name == $0 || name.hasPrefix("\($0)/") }
        }
    }
}

/// splitmix64, so that a failure repeats.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var word = state
        word = (word ^ (word >> 30)) &* 0xbf58_476d_1ce4_e5b9
        word = (word ^ (word >> 27)) &* 0x94d0_49bb_1331_11eb
        return word ^ (word >> 31)
    }
}
