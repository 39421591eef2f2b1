import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// What a start or an offline command knows of accepted divergences: those in the journal, and those that its caller accepts.
///
/// The journal is asked only when a replay has come across a difference, so that journals without any cost nothing.
struct AcceptedDivergences {
    /// Turns at which the caller accepts whatever this build orders.
    let requested: Set<Int>
    private(set) var terms = ReplayTerms()
    /// Accepted by the caller on the way, to be written down.
    private(set) var fresh: [Divergence] = []
    private var isRead = false

    init(requested: Set<Int> = [], shown: Int? = nil) {
        self.requested = requested
        terms.shown = shown
    }

    /// Whether the replay may be tried again, with the new terms.
    mutating func covers(_ divergence: Divergence, in journal: some Journal) throws -> Bool {
        if !isRead {
            isRead = true
            try readAccepted(in: journal)
            if terms.accepts(divergence) { return true }
        }
        // An update that orders something else each time cannot be accepted: the next start would find a third command.
        guard requested.contains(divergence.turn), !isFresh(divergence) else { return false }
        fresh.append(divergence)
        terms.accepted[divergence.turn, default: []].insert(divergence.hash)
        return true
    }

    /// Whether another command of this turn was accepted by the caller a moment ago.
    func isFresh(_ divergence: Divergence) -> Bool { fresh.contains { $0.turn == divergence.turn } }

    /// Turns at which there was nothing to accept that was not accepted before.
    var unused: Set<Int> { requested.subtracting(fresh.map(\.turn)).subtracting(terms.accepted.keys) }

    private mutating func readAccepted(in journal: some Journal) throws {
        var found: [Int: Set<UInt64>] = [:]
        // An acceptance comes after its turn, so one that was trimmed is not missed.
        try journal.read(from: journal.first) { batch in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .divergenceAccepted(let turn, let hash, _) = record.event { found[turn, default: []].insert(hash) }
            }
        }
        terms.accepted = found
    }
}

extension OpenedJournal {
    func isCovered(_ divergence: Divergence, by accepted: inout AcceptedDivergences) throws(StoreError) -> Bool {
        do {
            return try accepted.covers(divergence, in: journal)
        } catch {
            throw StoreError(reading: error, in: name)
        }
    }

    /// Reads all that the journal knows of the command of a turn.
    func report(on divergence: Divergence, _ make: () -> StoreMachine) throws(StoreError) -> DivergenceReport {
        do {
            let traces = try traces(of: divergence.turn)
            return DivergenceReport(divergence, traces: traces, kept: try keptEffects(of: divergence.turn, make))
        } catch {
            throw StoreError(reading: error, in: name)
        }
    }

    func traces(of turn: Int) throws -> TurnTraces {
        var traces = TurnTraces(of: turn)
        try journal.read(from: journal.first) { batch in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { traces.note($0) }
        }
        return traces
    }

    /// The effects of a turn as the oldest readable snapshot after it has them: while they are open, or dead.
    private func keptEffects(of turn: Int, _ make: () -> StoreMachine) throws -> [OpenEffect] {
        for snapshot in try journal.snapshots().reversed() where snapshot >= turn {
            var machine = make()
            do {
                try machine.restore(snapshot: try journal.snapshot(at: snapshot).bytes)
            } catch {
                // A snapshot is a cache, and here it would only have told more.
                continue
            }
            return machine.effects(orderedBy: turn)
        }
        return []
    }
}

extension StoreError {
    init(reading error: any Error, in path: String) {
        switch error {
        case let error as StoreError: self = error
        case let error as JournalError: self.init(error)
        case let error as ReplayError where error.isOfNewerBuild:
            self.init(.configuration, "the journal in \(path) cannot be replayed: \(error)")
        default: self.init(.damaged, "the journal in \(path) cannot be replayed: \(error)")
        }
    }

    init(divergence report: DivergenceReport, isFickle: Bool) {
        let (each, now) =
            switch report.subject {
            case .command: ("`update` orders something else in each replay", "`update` orders another command than it did")
            case .state:
                (
                    "`update` makes another state in each replay",
                    "the state before it is not the one that the store had: `update` makes another"
                )
            }
        let text =
            isFickle
            ? "turn \(report.turn): \(each): it is not deterministic, which cannot be accepted"
            : "turn \(report.turn): \(now): it has changed or is not deterministic"
        self.init(.damaged, text, divergence: report)
    }
}
