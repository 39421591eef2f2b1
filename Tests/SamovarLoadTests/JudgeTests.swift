import SamovarCore
import SamovarLoad
import SamovarWire
import Testing

/// Histories with one fault each: a judge that finds none of them would be worth nothing.
struct JudgeTests {
    private static let session = UniqueID(high: 1, low: 2)

    private func judge(sent: Int, told: [(sequence: Int, turn: Int, SessionLedger.Verdict)]) throws -> Judge {
        var ledger = SessionLedger()
        for entry in told { ledger.append(entry.sequence, turn: entry.turn, entry.2) }
        var judge = Judge()
        try judge.add(Self.session, sent: sent, ledger: ledger.bytes)
        return judge
    }

    private func record(_ turn: Int, _ sequence: Int, _ session: SessionID = session, isRefused: Bool = false) -> Record {
        Record(
            turn: turn, time: Timestamp(microseconds: 0), origin: .client(session: session, sequence: sequence),
            event: isRefused ? .refused(.refused([])) : .applied(message: [], hash: 0, closes: false))
    }

    private func verdict(
        sent: Int = 3,
        told: [(sequence: Int, turn: Int, SessionLedger.Verdict)] = [(1, 5, .applied), (2, 7, .refused), (3, 8, .applied)],
        _ records: [Record]
    ) throws -> Judge.Findings {
        var judge = try judge(sent: sent, told: told)
        for record in records { judge.read(record) }
        return judge.verdict()
    }

    @Test(arguments: [0, -1, Int.min])
    func `A turn that is none is no account of a session`(turn: Int) {
        #expect(throws: SessionLedger.Malformed.self) { _ = try judge(sent: 1, told: [(1, turn, .applied)]) }
    }

    @Test func `A history in which each input stands once, in order and as it was told is sound`() throws {
        let other = UniqueID(high: 9, low: 9)
        let findings = try verdict([
            record(5, 1), record(6, 1, other), record(7, 2, isRefused: true), record(8, 3), record(9, 2, other),
        ])
        #expect(findings.isSound, "\(findings)")
        #expect(findings.examples == [])
    }

    @Test func `A receipt without a record is a lost input`() throws {
        let findings = try verdict([record(5, 1), record(7, 2, isRefused: true)])
        #expect(findings.lost == 1 && !findings.isSound)
        #expect(findings.examples == ["input 3 of session \(Self.session) has a receipt for turn 8, and is not in the journal"])
    }

    @Test func `An input of which nobody knows is lost`() throws {
        let findings = try verdict(sent: 2, told: [(1, 5, .applied)], [record(5, 1)])
        #expect(findings.lost == 1)
        #expect(findings.examples == ["input 2 of session \(Self.session) was sent, and neither client nor journal knows of it"])
    }

    @Test func `A second record of an input is a duplicate`() throws {
        let findings = try verdict([record(5, 1), record(7, 2, isRefused: true), record(8, 3), record(9, 1)])
        #expect(findings.duplicated == 1 && !findings.isSound)
        #expect(findings.examples == ["turn 9 has input 1 of session \(Self.session) again"])
    }

    @Test func `A record after a later input of its session is out of order`() throws {
        let findings = try verdict(
            sent: 2, told: [(1, 8, .applied), (2, 5, .applied)], [record(5, 2), record(8, 1)])
        // Once by the receipts, once by the journal.
        #expect(findings.outOfOrder == 2 && !findings.isSound)
    }

    @Test func `A receipt that says another turn or verdict than the journal is a contradiction`() throws {
        let findings = try verdict([record(5, 1), record(7, 2), record(9, 3)])
        #expect(findings.contradicted == 2 && !findings.isSound)
        #expect(
            findings.examples.first
                == "turn 7 applied input 2 of session \(Self.session), whose client was told that turn 7 turned it away")
    }

    @Test func `An applied input whose client was not told is unanswered`() throws {
        let findings = try verdict(sent: 2, told: [(1, 5, .applied), (2, 5, .unknown)], [record(5, 1), record(6, 2)])
        #expect(findings.unanswered == 1 && findings.lost == 0 && !findings.isSound)
    }

    @Test func `Without a journal, an input without an outcome is lost`() throws {
        #expect(try judge(sent: 2, told: [(1, 5, .applied)]).verdictOfReceipts().lost == 1)
    }

    @Test func `A thousand faults are counted, and ten of them told`() throws {
        let findings = try verdict(sent: 1_000, told: [], [])
        #expect(findings.lost == 1_000 && findings.examples.count == 10)
    }

    @Test func `A ledger gives back what was written, whatever it was`() throws {
        var ledger = SessionLedger()
        let entries: [(Int, Int, SessionLedger.Verdict)] = [
            (1, 5, .applied), (2, 900_000, .refused), (9, 3, .rejected), (3, Int.max, .unknown), (4, 0, .applied),
        ]
        for entry in entries { ledger.append(entry.0, turn: entry.1, entry.2) }
        var read: [SessionLedger.Entry] = []
        try SessionLedger.read(ledger.bytes) { read.append($0) }
        #expect(read.map(\.sequence) == entries.map(\.0))
        #expect(read.map(\.turn) == entries.map(\.1))
        #expect(read.map(\.verdict) == entries.map(\.2))
    }

    @Test func `What is no ledger is an error and never a trap`() throws {
        #expect(throws: SessionLedger.Malformed.self) { try SessionLedger.read([0x80]) { _ in } }
        #expect(throws: SessionLedger.Malformed.self) { try SessionLedger.read([0]) { _ in } }
        #expect(throws: SessionLedger.Malformed.self) {
            try SessionLedger.read([UInt8](repeating: 0xff, count: 20)) { _ in }
        }
        var ledger = SessionLedger()
        ledger.append(7, turn: 1, .applied)
        var judge = Judge()
        #expect(throws: SessionLedger.Malformed.self) { try judge.add(Self.session, sent: 6, ledger: ledger.bytes) }
        #expect(throws: SessionLedger.Malformed.self) { try judge.add(Self.session, sent: -1, ledger: []) }
        #expect(throws: SessionLedger.Malformed.self) { try judge.add(Self.session, sent: 1 << 40, ledger: []) }
    }
}
