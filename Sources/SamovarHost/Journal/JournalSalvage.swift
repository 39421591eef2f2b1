import Journal
import JournalChain
import SQLiteJournal
public import SamovarCore
import SamovarWire

/// Going on after damage: a new timeline of what a journal still holds for certain.
///
/// It keeps whole groups up to a turn, archives what was there and deletes nothing. It is the only way on, and never happens by
/// itself: a shorter history is a loss that a person has to accept.
public struct JournalSalvage: Sendable {
    /// The last turn that is kept.
    public let kept: Int
    /// The last turn that anything in the folder tells of.
    public let witnessed: Int
    /// What is wrong with the journal; empty if it is sound and was only cut.
    public let problems: [String]
    /// Of the lost turns, those that can still be read.
    public let readable: LostTurns
    /// What is kept, if it is not the beginning but a snapshot and what follows it.
    public internal(set) var rest: JournalExamination.Rest?
    /// Whether nothing is lost at the end, nor of the facts: then the timeline stays, because the peers know no turn that is not there.
    public internal(set) var isWhole = false
    /// What was done, once it was.
    public internal(set) var result: Result?

    /// What a salvage has done.
    public struct Result: Sendable {
        /// The new one.
        public let timeline: Timeline
        /// The folder in which the old journal is.
        public let archive: String?
    }

    /// What is in turns that are given up, counted.
    public struct LostTurns: Sendable {
        /// All of them.
        public private(set) var count = 0
        /// Inputs that were applied.
        public private(set) var applied = 0
        /// Inputs that were turned away.
        public private(set) var refused = 0
        /// Sessions whose inputs are among them.
        public private(set) var clients: Set<SessionID> = []
        /// Effects that they closed: open again, and run again.
        public private(set) var reopened = 0
        /// The last one that could be read.
        public private(set) var last = 0

        mutating func add(_ record: Record) {
            count += 1
            last = record.turn
            if case .client(let session, _) = record.origin {
                switch record.event {
                case .applied: applied += 1
                case .refused, .quarantined: refused += 1
                // The end of a session is no input.
                default: return
                }
                clients.insert(session)
                return
            }
            switch record.event {
            case .applied(_, _, closes: true), .done, .dead, .dropped: reopened += 1
            default: break
            }
        }
    }

    /// Whether it was begun earlier and cut short, and had only to be ended.
    public internal(set) var wasResumed = false

    /// - Parameters:
    ///   - turn: the last turn to keep; nil keeps as much as can be kept. A group that it would divide is lost as a whole.
    ///   - accept: whether to do it; else it only tells what would be lost.
    /// - Throws: `StoreError` if nothing can be kept, or the disk fails.
    public static func run(_ location: JournalLocation, upTo turn: Int?, accept: Bool) async throws -> JournalSalvage {
        try await onJournalThread {
            let target = try JournalTarget(location, creating: false)
            defer { target.close() }
            // It was accepted when it was begun.
            if let (journal, archive) = try target.resumed() {
                return JournalSalvage(
                    kept: journal.last, witnessed: journal.last, problems: [], readable: LostTurns(),
                    result: Result(timeline: try timeline(of: journal), archive: archive), wasResumed: true)
            }
            let journal = try target.examined()
            let plan = try Plan(journal, upTo: turn, in: "\(location)")
            guard accept else { return plan.salvage }
            return try plan.carryOut(journal, in: target)
        }
    }

    static func timeline(of journal: any StoredJournal) throws -> Timeline {
        try journal.fact(OpenedJournal.Fact.timeline).flatMap { UniqueID(bytes: $0) } ?? .zero
    }
}

/// What a salvage would keep and lose, found by reading everything once.
private struct Plan {
    let salvage: JournalSalvage
    /// The beginning of the batch in which the cut is; nil if the cut is between two batches.
    private let part: Batch?
    /// The last turn of the last batch that is kept whole.
    private let whole: Int

    init(_ journal: any StoredJournal, upTo limit: Int?, in dataFolder: String) throws {
        let limit = limit ?? .max
        var whole = journal.first - 1
        var part: Batch?
        var lost = JournalSalvage.LostTurns()
        let examination = try JournalExamination(of: journal) { batch in
            if batch.last <= limit {
                whole = batch.last
                return
            }
            if batch.first <= limit {
                let groups = try RecordBatch.groups(through: limit, first: batch.first, last: batch.last, bytes: batch.bytes)
                if !groups.isEmpty { part = Batch(first: groups.first, last: groups.last, bytes: groups.bytes) }
            }
            let kept = part?.last ?? whole
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if record.turn > kept { lost.add(record) }
            }
        }
        let kept = part?.last ?? whole
        if let rest = examination.rest, rest.last <= limit, rest.last > kept {
            self.whole = whole
            self.part = nil
            salvage = JournalSalvage(
                kept: rest.last, witnessed: examination.witnessed, problems: examination.problems,
                readable: JournalSalvage.LostTurns(), rest: rest,
                isWhole: journal.isWitnessed && journal.hasSoundFacts && examination.witnessed == rest.last)
            return
        }
        guard examination.salvageable != nil, kept > 0, examination.hasSnapshot(upTo: kept) else {
            throw StoreError(
                .damaged,
                "nothing of the journal in \(dataFolder) can be kept\(limit == .max ? "" : " up to turn \(limit)"); put a backup back, or archive it with --fresh and begin anew"
            )
        }
        guard kept < examination.witnessed || !examination.isSound else {
            throw StoreError(
                .configuration, "the journal in \(dataFolder) is sound up to its last turn \(kept): there is nothing to salvage")
        }
        self.whole = whole
        self.part = part
        salvage = JournalSalvage(
            kept: kept, witnessed: examination.witnessed, problems: examination.problems, readable: lost)
    }

    func carryOut(_ journal: any StoredJournal, in target: JournalTarget) throws -> JournalSalvage {
        let (timeline, archive) =
            if let rest = salvage.rest {
                try JournalCopy.replace(target, by: journal, behind: rest.snapshot, through: rest.last, isSame: salvage.isWhole)
            } else {
                try JournalCopy.replace(target, by: journal, through: whole, and: part)
            }
        var salvage = salvage
        salvage.result = JournalSalvage.Result(timeline: timeline, archive: archive)
        return salvage
    }
}
