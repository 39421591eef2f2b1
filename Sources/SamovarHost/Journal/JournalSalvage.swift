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
    /// Whether secret, program and seed, which are kept as they stand, are for certain what was written.
    public internal(set) var hasSoundFacts = true
    /// The newest sound snapshot beyond the last batch, from which no journal can go on; nil if there is none.
    public internal(set) var lostSnapshot: Int?
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
            // Its timeline goes on elsewhere. After the plan, which tells of facts that cannot be read.
            if let moved = try OpenedJournal.place(ofMoved: journal) { throw StoreError(moved: moved, from: location) }
            guard accept else { return plan.salvage }
            return try plan.carryOut(journal, in: target)
        }
    }

    static func timeline(of journal: any StoredJournal) throws -> Timeline {
        try journal.fact(OpenedJournal.Fact.timeline).flatMap { UniqueID(bytes: $0) } ?? .zero
    }
}

/// How much is kept of batches that follow each other, if they are cut at a turn.
struct JournalCut: Sendable {
    private let limit: Int
    /// The last turn of the last batch that is kept whole; nil if none is.
    private(set) var whole: Int?
    /// The beginning of the batch in which the cut is; nil if the cut is between two batches.
    private(set) var part: Batch?
    /// What can be read behind the cut.
    private(set) var lost = JournalSalvage.LostTurns()

    init(upTo limit: Int) {
        self.limit = limit
    }

    /// The last turn that is kept; nil if nothing of the batches is.
    var kept: Int? { part?.last ?? whole }

    /// - Throws: `ReplayError` if the batch cannot be read.
    mutating func take(_ batch: Batch) throws {
        if batch.last <= limit {
            whole = batch.last
            return
        }
        if batch.first <= limit {
            let groups = try RecordBatch.groups(through: limit, first: batch.first, last: batch.last, bytes: batch.bytes)
            if !groups.isEmpty { part = Batch(first: groups.first, last: groups.last, bytes: groups.bytes) }
        }
        let kept = kept ?? 0
        try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
            if record.turn > kept { lost.add(record) }
        }
    }
}

/// What a salvage would keep and lose, found by reading everything.
private struct Plan {
    let salvage: JournalSalvage
    private let cut: JournalCut

    init(_ journal: any StoredJournal, upTo limit: Int?, in dataFolder: String) throws {
        let limit = limit ?? .max
        var cut = JournalCut(upTo: limit)
        let examination = try JournalExamination(of: journal, upTo: limit) { try cut.take($0) }
        if let newer = examination.newer, limit >= newer.first {
            let (what, advice) =
                examination.isDamaged ? ("not sound, and", "Let that one salvage it") : ("not damaged:", "Run that one")
            throw StoreError(
                .configuration,
                """
                the journal in \(dataFolder) is \(what) only a newer build can read what follows turn \(newer.first - 1). \
                \(advice); or give those turns up, with --upto \(newer.first - 1)
                """)
        }
        let lostSnapshot = examination.snapshots.first { $0.problem == nil && $0.turn > journal.last }?.turn
        if let rest = examination.rest {
            self.cut = rest.cut
            salvage = JournalSalvage(
                kept: rest.last, witnessed: examination.witnessed, problems: examination.problems, readable: rest.cut.lost,
                rest: rest, isWhole: journal.isWitnessed && journal.hasSoundFacts && examination.witnessed == rest.last,
                hasSoundFacts: journal.hasSoundFacts, lostSnapshot: lostSnapshot)
            return
        }
        let kept = cut.kept ?? journal.first - 1
        // Of a trimmed journal nothing is left of the turns before its beginning, and a snapshot there is of more than was asked for.
        guard examination.salvageable != nil, kept > 0, kept <= limit, examination.hasSnapshot(upTo: kept) else {
            throw StoreError(
                .damaged,
                "nothing of the journal in \(dataFolder) can be kept\(limit == .max ? "" : " up to turn \(limit)"); put a backup back, or archive it with --fresh and begin anew"
            )
        }
        guard kept < examination.witnessed || !examination.isSound else {
            throw StoreError(
                .configuration, "the journal in \(dataFolder) is sound up to its last turn \(kept): there is nothing to salvage")
        }
        self.cut = cut
        salvage = JournalSalvage(
            kept: kept, witnessed: examination.witnessed, problems: examination.problems, readable: cut.lost,
            hasSoundFacts: journal.hasSoundFacts, lostSnapshot: lostSnapshot)
    }

    func carryOut(_ journal: any StoredJournal, in target: JournalTarget) throws -> JournalSalvage {
        let (timeline, archive) = try JournalCopy.replace(
            target, by: journal, behind: salvage.rest?.snapshot, through: cut.whole ?? salvage.kept, and: cut.part,
            isSame: salvage.isWhole)
        var salvage = salvage
        salvage.result = JournalSalvage.Result(timeline: timeline, archive: archive)
        return salvage
    }
}
