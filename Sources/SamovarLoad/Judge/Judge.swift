public import SamovarCore
public import SamovarWire

/// Compares what clients were told with what is in the journal, input by input.
///
/// The idea: the numbers of a session have no holes, so the journal must hold each of 1 … n exactly once, in order, and in the turn
/// of its receipt. Nothing is inferred from the program's state, which could not tell two equal inputs apart.
///
/// Takes 9 bytes of memory for each input.
public struct Judge: Sendable {
    /// What is wrong, in numbers; all zero in a sound history.
    public struct Findings: Codable, Equatable, Sendable {
        /// Sent, and neither its client nor the journal knows of it; or its client has a receipt, and the journal does not have it.
        public var lost = 0
        /// A record too many of one input.
        public var duplicated = 0
        /// A record after one of a later input of its session, or receipts whose turns do not rise.
        public var outOfOrder = 0
        /// A receipt that says another turn or another verdict than the journal.
        public var contradicted = 0
        /// In the journal, and its client was never told.
        public var unanswered = 0
        /// The first few, in words.
        public var examples: [String] = []

        public init() {}

        public var isSound: Bool { lost == 0 && duplicated == 0 && outOfOrder == 0 && contradicted == 0 && unanswered == 0 }
    }

    private struct Session {
        /// The turn that the client was told, at the place of its sequence number less one; negative if it was turned away, and 0 if it
        /// was told nothing.
        var told: [Int]
        var recorded: [Bool]
        /// The newest sequence number in the journal.
        var newest = 0
    }

    private var sessions: [SessionID: Session] = [:]
    private var findings = Findings()
    private static let exampleLimit = 10

    public init() {}

    /// A session that takes part, with how many inputs it sent, and what it was told of them.
    public mutating func add(_ id: SessionID, sent: Int, ledger: [UInt8]) throws {
        // Each entry has two bytes at least, and no client has more inputs without one than its window; so a number that was made up
        // takes no memory.
        guard (0...ledger.count / 2 + LoadClient.window).contains(sent) else { throw SessionLedger.Malformed() }
        var told = [Int](repeating: 0, count: sent)
        var last = (sequence: 0, turn: 0)
        var disordered: [SessionLedger.Entry] = []
        try SessionLedger.read(ledger) { entry in
            guard entry.verdict != .unknown else { return }
            guard (1...max(1, sent)).contains(entry.sequence), sent > 0, entry.turn > 0 else { throw SessionLedger.Malformed() }
            told[entry.sequence - 1] = entry.verdict == .applied ? entry.turn : -entry.turn
            if last.sequence > 0, (entry.sequence > last.sequence) != (entry.turn > last.turn) { disordered.append(entry) }
            last = (entry.sequence, entry.turn)
        }
        for entry in disordered {
            find(\.outOfOrder, "session \(id): input \(entry.sequence) has turn \(entry.turn), beyond that of a neighbour")
        }
        sessions[id] = Session(told: told, recorded: [Bool](repeating: false, count: sent))
    }

    /// A record of the journal; to be called for all of them in order.
    public mutating func read(_ record: Record) {
        guard case .client(let id, let sequence) = record.origin, sessions[id] != nil else { return }
        let isApplied: Bool
        switch record.event {
        case .applied: isApplied = true
        case .refused, .quarantined: isApplied = false
        default: return
        }
        guard sequence >= 1, sequence <= sessions[id]?.recorded.count ?? 0 else {
            return find(\.duplicated, "turn \(record.turn) has input \(sequence) of session \(id), which never sent that many")
        }
        guard sessions[id]?.recorded[sequence - 1] == false else {
            return find(\.duplicated, "turn \(record.turn) has input \(sequence) of session \(id) again")
        }
        sessions[id]?.recorded[sequence - 1] = true
        let newest = sessions[id]?.newest ?? 0
        if sequence < newest {
            find(\.outOfOrder, "turn \(record.turn) has input \(sequence) of session \(id) after its input \(newest)")
        }
        sessions[id]?.newest = max(newest, sequence)
        let told = sessions[id]?.told[sequence - 1] ?? 0
        if told == 0 {
            find(\.unanswered, "turn \(record.turn) has input \(sequence) of session \(id), whose client was not told")
        } else if told != (isApplied ? record.turn : -record.turn) {
            find(
                \.contradicted,
                "turn \(record.turn) \(isApplied ? "applied" : "turned away") input \(sequence) of session \(id), "
                    + "whose client was told that turn \(abs(told)) \(told > 0 ? "applied it" : "turned it away")")
        }
    }

    /// The verdict, when all records were read.
    public consuming func verdict() -> Findings {
        for (id, session) in sessions.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            for (index, isRecorded) in session.recorded.enumerated() where !isRecorded {
                let told = session.told[index]
                find(
                    \.lost,
                    told == 0
                        ? "input \(index + 1) of session \(id) was sent, and neither client nor journal knows of it"
                        : "input \(index + 1) of session \(id) has a receipt for turn \(abs(told)), and is not in the journal")
            }
        }
        return findings
    }

    /// The verdict by the receipts alone, for a journal that cannot be read: it knows nothing of duplicates.
    public consuming func verdictOfReceipts() -> Findings {
        for (id, session) in sessions.sorted(by: { "\($0.key)" < "\($1.key)" }) {
            for (index, told) in session.told.enumerated() where told == 0 {
                find(\.lost, "input \(index + 1) of session \(id) was sent, and its client was not told")
            }
        }
        return findings
    }

    private mutating func find(_ count: WritableKeyPath<Findings, Int>, _ example: @autoclosure () -> String) {
        findings[keyPath: count] += 1
        if findings.examples.count < Self.exampleLimit { findings.examples.append(example()) }
    }
}
