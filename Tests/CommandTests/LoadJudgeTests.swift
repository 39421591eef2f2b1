import ProcessSupport
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarWire
import Synchronization
import Testing

@testable import SamovarLoadTest

/// The judge before the journal of a real store, with true and with doctored accounts of what its client was told.
@Suite(.serialized) struct LoadJudgeTests {
    private typealias Receipt = (session: SessionID, sequence: Int, turn: Int)

    /// A journal with five inputs of one session, and what its client was told.
    private func history() async throws -> (store: CounterStore, receipts: [Receipt]) {
        let store = try await CounterStore()
        try await store.increment(5)
        try await store.stop()
        let receipts = Mutex<[Receipt]>([])
        try await JournalListing.records(in: JournalLocation(dataFolder: store.data), .turns(1...Int.max)) { record in
            // The end of a session is a record of its client, too.
            guard case .client(let session, let sequence) = record.origin, case .applied = record.event else { return }
            receipts.withLock { $0.append((session, sequence, record.turn)) }
        }
        return (store, receipts.withLock { $0 })
    }

    private func judge(_ data: String, _ receipts: [Receipt], sent: Int) async throws -> Judge.Findings {
        var ledger = SessionLedger()
        for receipt in receipts { ledger.append(receipt.sequence, turn: receipt.turn, .applied) }
        var judge = Judge()
        try judge.add(try #require(receipts.first).session, sent: sent, ledger: ledger.bytes)
        return try await JournalEvidence.read(JournalLocation(dataFolder: data), after: 0, for: judge).findings
    }

    @Test func `True accounts are sound, and doctored ones are found out`() async throws {
        let (store, receipts) = try await history()
        #expect(receipts.map(\.sequence) == [1, 2, 3, 4, 5])
        #expect(try await judge(store.data, receipts, sent: 5).isSound)

        var more = receipts
        more.append((receipts[0].session, 6, receipts[4].turn + 1))
        let lost = try await judge(store.data, more, sent: 6)
        #expect(lost.lost == 1 && lost.duplicated == 0, "\(lost)")

        // Its client knows of four, so the fifth is a record of an input that was never sent.
        let duplicated = try await judge(store.data, Array(receipts.dropLast()), sent: 4)
        #expect(duplicated.duplicated == 1 && duplicated.lost == 0, "\(duplicated)")

        var exchanged = receipts
        (exchanged[1].turn, exchanged[2].turn) = (exchanged[2].turn, exchanged[1].turn)
        let disordered = try await judge(store.data, exchanged, sent: 5)
        #expect(disordered.outOfOrder >= 1 && disordered.contradicted == 2, "\(disordered)")

        let untold = try await judge(store.data, Array(receipts.dropLast()), sent: 5)
        #expect(untold.unanswered == 1 && untold.lost == 0, "\(untold)")
        _ = store
    }

    @Test func `A journal that cannot be read is no evidence`() async throws {
        let (store, receipts) = try await history()
        await #expect(throws: StoreError.self) { try await judge(store.data + "-elsewhere", receipts, sent: 5) }
        _ = store
    }

    @Test func `A journal that only a newer build can read is not called damaged by the judge`() async throws {
        let (store, receipts) = try await history()
        let last = try store.appendNewer()
        let error = await #expect(throws: StoreError.self) { try await judge(store.data, receipts, sent: 5) }
        let text = try #require(error?.description)
        #expect(error?.code == .configuration && text.contains("turn \(last + 1): the record is of kind 127"), "\(text)")
    }
}
