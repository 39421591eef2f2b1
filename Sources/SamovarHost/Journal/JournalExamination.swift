import Journal
import JournalChain
public import SamovarCore
import SamovarStore
import SamovarWire

/// What `journal verify` finds: everything that can be told of a journal without its program.
///
/// That the program still does what the journal says is told by a replay.
public struct JournalExamination: Sendable {
    /// A sound snapshot behind the damage, and the sound batches after it.
    public struct Rest: Sendable {
        /// Of the snapshot.
        public let snapshot: Int
        /// The first turn of the batches that are kept with it.
        public let first: Int
        /// The last turn that can be kept.
        public let last: Int
        /// Where the batches end that are kept with it.
        let cut: JournalCut
    }

    /// A batch that only a newer build can read. That is no damage, and nothing to salvage.
    public struct NewerBatch: Sendable {
        /// Its first turn.
        public let first: Int
        /// What is to be said of it, which is one of the problems.
        public let problem: String
    }

    /// What is to be said of one snapshot.
    public struct SnapshotFinding: Sendable {
        /// Whose state it is.
        public let turn: Int
        /// Nil if it is sound.
        public let problem: String?
    }

    /// Of the journal; nil if that cannot be told.
    public internal(set) var timeline: Timeline?
    /// Name and version of the program that wrote it.
    public internal(set) var program: String?
    /// Which turn of which timeline this one goes on from, if it was salvaged or imported.
    public internal(set) var ancestor: String?
    /// Where it has gone, if it was moved and is closed for good.
    public internal(set) var moved: String?
    /// The first turn that is kept.
    public internal(set) var first = 1
    /// The last turn of the last sound batch.
    public internal(set) var sound = 0
    /// The last turn that anything in the folder tells of.
    public internal(set) var witnessed = 0
    /// How many there are.
    public internal(set) var batches = 0
    /// What their records take.
    public internal(set) var bytes = 0
    /// Newest first.
    public internal(set) var snapshots: [SnapshotFinding] = []
    /// What is left behind the first bad batch; nil if there is no such batch, or nothing behind it is of use.
    public internal(set) var rest: Rest?
    /// What makes a store refuse the journal, the first bad batch among it.
    public internal(set) var problems: [String] = []
    /// The first one, behind the sound batches or behind a snapshot of which the rest was looked for; nil if there is none.
    public internal(set) var newer: NewerBatch?
    /// What is odd and does no harm.
    public internal(set) var warnings: [String] = []

    /// Timeline and secret cannot be read: nobody can go on without them.
    private var hasLostFacts = false

    /// Whether a store would take it.
    public var isSound: Bool { problems.isEmpty }

    /// Whether more is wrong than that only a newer build can read on.
    public var isDamaged: Bool { problems.contains { $0 != newer?.problem } }

    /// The last turn that a salvage can keep; nil if it can keep nothing. A trimmed journal is of use only with a snapshot from
    /// which its batches go on.
    public var salvageable: Int? {
        if let rest { return rest.last }
        return sound > 0 && !hasLostFacts && hasSnapshot(upTo: sound) ? sound : nil
    }

    /// Whether there is a sound one for a trimmed journal to begin with; any other needs none.
    func hasSnapshot(upTo turn: Int) -> Bool {
        first == 1 || snapshots.contains { $0.problem == nil && $0.turn >= first - 1 && $0.turn <= turn }
    }

    /// Reads a whole journal, and changes nothing.
    ///
    /// - Throws: `StoreError` if there is nothing to read, or the disk fails. Damage is no error but a finding.
    public static func run(_ location: JournalLocation) async throws -> JournalExamination {
        try await onJournalThread {
            try JournalReading.run {
                let journal = try StoreError.replacing { () throws(JournalError) in
                    try location.openBesideStore(examining: true)
                }
                return try JournalExamination(of: journal)
            }
        }
    }

    /// - Parameters:
    ///   - limit: the last turn of which ``rest`` may tell.
    ///   - body: gets every sound batch before the first bad one.
    init(of journal: any StoredJournal, upTo limit: Int = .max, _ body: (Batch) throws -> Void = { _ in }) throws {
        problems = journal.findings.map(\.description)
        warnings = journal.warnings
        first = journal.first
        sound = first - 1
        witnessed = journal.witnessed
        try readFacts(journal)
        // Before the batches, which take long: a store that serves takes older snapshots away as it makes newer ones.
        try readSnapshots(journal)
        try readBatches(journal, body)
        if !hasSnapshot(upTo: .max) {
            problems.append("The turns before \(first) were trimmed, and no snapshot that stands for them can be read.")
        }
        if sound < journal.last, !hasLostFacts, newer == nil { rest = try readRest(journal, upTo: limit) }
    }

    /// From the snapshot from which the most turns are left; of several, the oldest.
    private mutating func readRest(_ journal: any StoredJournal, upTo limit: Int) throws -> Rest? {
        var best: Rest?
        for snapshot in snapshots.reversed() where snapshot.problem == nil && snapshot.turn > sound && snapshot.turn <= limit {
            if let rest = try rest(behind: snapshot.turn, upTo: limit, journal), rest.last > best?.last ?? sound { best = rest }
        }
        return best
    }

    private mutating func rest(behind snapshot: Int, upTo limit: Int, _ journal: any StoredJournal) throws -> Rest? {
        var first: Int?
        var cut = JournalCut(upTo: limit)
        do {
            _ = try journal.examine(behind: snapshot) { batch in
                try requireReadable(batch, "behind the snapshot of turn \(snapshot)")
                try cut.take(batch)
                first = first ?? batch.first
            }
            // Without batches after it, a snapshot is of use if one ends with it.
            let last = try cut.kept ?? journal.chain(behind: snapshot).last
            guard last >= snapshot else { return nil }
            return Rest(snapshot: snapshot, first: cut.kept == nil ? snapshot + 1 : first ?? snapshot + 1, last: last, cut: cut)
        } catch let error as JournalError where error.code == .damaged || error.code == .missing {
            return nil
        }
    }

    private mutating func readFacts(_ journal: any StoredJournal) throws {
        do throws(JournalError) {
            timeline = try journal.fact(OpenedJournal.Fact.timeline).flatMap { UniqueID(bytes: $0) }
            program = try journal.fact(OpenedJournal.Fact.program).map { String(decoding: $0, as: UTF8.self) }
            _ = try journal.fact(OpenedJournal.Fact.secret)
            ancestor = try journal.fact(OpenedJournal.Fact.ancestor).map { String(decoding: $0, as: UTF8.self) }
            moved = try OpenedJournal.place(ofMoved: journal)
        } catch {
            guard error.code == .damaged else { throw error }
            hasLostFacts = true
            problems.append(error.description)
        }
    }

    private mutating func readBatches(_ journal: any StoredJournal, _ body: (Batch) throws -> Void) throws {
        let problem = try journal.examine(behind: nil) { batch in
            batches += 1
            bytes += batch.bytes.count
            try requireReadable(batch, "batch \(batches)")
            try body(batch)
            sound = batch.last
        }
        if let problem, !problems.contains(problem.description) { problems.append(problem.description) }
    }

    /// Takes note of a batch that only a newer build can read.
    ///
    /// - Throws: `JournalError` of damage, which ends an examination, for each that cannot be read.
    private mutating func requireReadable(_ batch: Batch, _ place: String) throws {
        do {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { _ in }
        } catch let error as ReplayError {
            let turns = batch.first == batch.last ? "turn \(batch.first)" : "turns \(batch.first) to \(batch.last)"
            let problem = JournalError(.damaged, "\(place) (\(turns)): \(error).")
            if error.isOfNewerBuild, newer == nil {
                newer = NewerBatch(first: batch.first, problem: problem.description)
                problems.append(problem.description)
            }
            throw problem
        }
    }

    /// A damaged snapshot is no problem of the journal, unless no other one leads into what was kept. Newest first, which is the last to
    /// be taken away.
    private mutating func readSnapshots(_ journal: any StoredJournal) throws {
        for turn in try journal.snapshots() {
            do {
                try StoreSnapshot.check(try journal.snapshot(at: turn).bytes, turn: turn)
                snapshots.append(SnapshotFinding(turn: turn, problem: nil))
            } catch let error as JournalError where error.code == .missing {
                // It has given way to a newer one since it was listed.
            } catch let error as JournalError where error.code != .damaged {
                throw error
            } catch {
                snapshots.append(SnapshotFinding(turn: turn, problem: "\(error)"))
            }
        }
    }
}
