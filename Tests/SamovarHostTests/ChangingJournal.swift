import Journal
import JournalChain
import MessagePack
import SamovarCore
import Synchronization

/// A trimmed journal. Its store gives up the snapshots that it had while the batches are read.
final class ChangingJournal: StoredJournal {
    private let kept: [Int]
    private let gone: Mutex<Set<Int>>
    private let trouble: JournalError?

    let identity = UniqueID(high: 1, low: 2)
    let first = 11
    let last = 10
    let witnessed = 10
    let isWitnessed = true
    let hasSoundFacts = true

    init(snapshots: [Int], gone: Set<Int> = [], trouble: JournalError? = nil) {
        kept = snapshots
        self.gone = Mutex(gone)
        self.trouble = trouble
    }

    func snapshots() throws(JournalError) -> [Int] { kept }

    func snapshot(at turn: Int) throws(JournalError) -> Snapshot {
        if let trouble { throw trouble }
        guard !gone.withLock({ $0.contains(turn) }) else { throw JournalError(.missing, "There is no snapshot of turn \(turn).") }
        var writer = MessagePackWriter()
        writer.writeArrayHeader(18)
        for number in [9, 1, turn] { writer.write(number) }
        for _ in 3..<18 { writer.writeNil() }
        return Snapshot(turn: turn, bytes: writer.bytes)
    }

    func examine(behind turn: Int?, _ body: (Batch) throws -> Void) throws -> JournalError? {
        gone.withLock { $0.formUnion(kept) }
        return nil
    }

    func read(from turn: Int, _ body: (Batch) throws -> Void) throws {}
    func chain(behind turn: Int?) throws(JournalError) -> BatchChain { BatchChain(last: last) }
    func fact(_ name: String) throws(JournalError) -> [UInt8]? { nil }
    func facts() throws(JournalError) -> [(name: String, value: [UInt8])] { [] }
    func close() throws(JournalError) {}

    // MARK: What only a store does

    private static let readOnly = JournalError(.misuse, "This journal is only read.")

    func beginWriting() throws(JournalError) { throw Self.readOnly }
    func append(_ batch: Batch) throws(JournalError) { throw Self.readOnly }
    func save(_ snapshot: Snapshot) throws(JournalError) { throw Self.readOnly }
    func record(_ value: [UInt8], as name: String) throws(JournalError) { throw Self.readOnly }
    func trim(through turn: Int) throws(JournalError) -> Bool { throw Self.readOnly }
}
