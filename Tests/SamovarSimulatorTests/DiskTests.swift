import Journal
import SamovarCore
import SamovarTesting
import Testing

@testable import SamovarSimulator

/// The disk of the simulator is a journal like any other.
@Suite struct DiskTests {
    private static func disk() -> Disk {
        Disk(timeline: Timeline(high: 1, low: 1), secret: Secret(high: 2, low: 2))
    }

    @Test(arguments: JournalContract.Rule.allCases)
    func `It keeps the contract of journals`(_ rule: JournalContract.Rule) throws {
        let contract = JournalContract(make: Self.disk) { journal in
            let disk = try #require(journal as? Disk)
            disk.close()
            disk.reopen()
            return disk
        }
        try contract.verify(rule)
    }

    @Test func `What rots is noticed when it is read`() throws {
        let disk = Self.disk()
        for turn in 1...3 { try disk.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)])) }
        try disk.save(Snapshot(turn: 2, bytes: [2]))
        disk.rot(batch: 1)
        disk.rot(snapshot: 0)
        #expect(throws: JournalError.self) { try disk.read(from: 1) { _ in } }
        #expect(throws: JournalError.self) { _ = try disk.snapshot(at: 2) }
        var read: [Int] = []
        try disk.read(from: 3) { read.append($0.last) }
        #expect(read == [3])
        disk.repair()
        try disk.read(from: 1) { read.append($0.last) }
        #expect(read == [3, 1, 2, 3])
    }

    @Test func `After a failed sync nothing is written until the next process`() throws {
        let disk = Self.disk()
        disk.failure = (JournalError(.inputOutput, "no sync"), isKept: true)
        #expect(throws: JournalError.self) { try disk.append(Batch(first: 1, last: 1, bytes: [1])) }
        #expect(throws: JournalError.self) { try disk.append(Batch(first: 2, last: 2, bytes: [1])) }
        #expect(disk.last == 1, "it was kept all the same")
        disk.reopen()
        try disk.append(Batch(first: 2, last: 2, bytes: [1]))
    }
}
