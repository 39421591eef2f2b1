import CrashPoints
import Journal
import JournalChain
import MessagePack
import SQLiteJournal
import SamovarCore
import SamovarStore
import SamovarWire

/// A journal, opened, and what it says of itself.
struct OpenedJournal: Sendable {
    /// Where it is, for people.
    let name: String
    /// The data folder of a store, locked; nil for a journal that is only read.
    let folder: DataFolder?
    let journal: any StoredJournal
    let timeline: Timeline
    let secret: Secret
    /// The seed of the timeline; nil if the journal is new.
    let seed: [UInt8]?
    /// Whether no store has begun its timeline.
    let isNew: Bool

    enum Fact {
        static let timeline = "timeline"
        static let secret = "secret"
        static let seed = "seed"
        static let program = "program"
        /// For people: which turn of which timeline this one goes on from.
        static let ancestor = "ancestor"
        /// Where the journal has gone, if it is closed for good.
        static let moved = "moved"
    }

    /// Opens a journal to read it; see ``JournalLocation/openBesideStore(examining:wait:)``.
    init(reading location: JournalLocation, wait: Duration = .seconds(5)) throws(StoreError) {
        try self.init(location, folder: nil) { () throws(StoreError) in
            try StoreError.replacing { () throws(JournalError) in try location.openBesideStore(wait: wait) }
        }
    }

    /// Opens the journal of a store, and waits for the lock of its data folder, which is made if it is not there. A journal that is there is
    /// not changed before ``beginWriting(_:)``.
    ///
    /// - Parameter isFresh: whether to archive what is there; false once that is done, whatever fails then.
    init(serving location: JournalLocation, isFresh: inout Bool, note: (String) -> Void) throws(StoreError) {
        let folder = try StoreError.replacing { () throws(JournalError) in
            try DataFolder(at: location.dataFolder, creating: true, waiting: note)
        }
        try self.init(location, folder: folder) { () throws(StoreError) in
            if isFresh, let place = try StoreError.replacing({ () throws(JournalError) in try location.archive(folder) }) {
                note(JournalLocation.words(forArchive: place))
            }
            isFresh = false
            return try location.open(in: folder)
        }
    }

    private init(
        _ location: JournalLocation, folder: DataFolder?, open: () throws(StoreError) -> any StoredJournal
    ) throws(StoreError) {
        name = "\(location)"
        self.folder = folder
        journal = try open()
        do throws(JournalError) {
            let known = try Self.identity(in: journal, Fact.timeline)
            timeline = known ?? .random()
            isNew = known == nil
            let key = try Self.identity(in: journal, Fact.secret) ?? .random()
            secret = Secret(high: key.high, low: key.low)
            // What was recorded without a timeline belongs to none.
            seed = try isNew ? nil : journal.fact(Fact.seed)
        } catch {
            throw StoreError(error)
        }
        if folder != nil { try requireNotMoved(location) }
    }

    /// Where a journal has gone; nil for one that has stayed.
    static func place(ofMoved journal: any StoredJournal) throws(JournalError) -> String? {
        try journal.fact(Fact.moved).map { String(decoding: $0, as: UTF8.self) }
    }

    /// A store does not go on with a journal that has gone elsewhere.
    func requireNotMoved(_ location: JournalLocation) throws(StoreError) {
        guard let moved = try StoreError.replacing({ () throws(JournalError) in try Self.place(ofMoved: journal) }) else { return }
        throw StoreError(moved: moved, from: location)
    }

    /// Whether another store has begun the timeline since the journal was opened. Who serves all the same would replace it under those
    /// that follow it.
    func isOfAnotherTimeline() throws(StoreError) -> Bool {
        let recorded = try StoreError.replacing { () throws(JournalError) in try Self.identity(in: journal, Fact.timeline) }
        return recorded.map { $0 != timeline } ?? false
    }

    /// Gives up a journal that was only read, or whose store does not get to serve. Only so are the witnesses of its end on disk before its
    /// log is taken away.
    func close() {
        // Nothing was written that anybody relies on, or it has failed already and that is told.
        try? journal.close()
    }

    func letGo() { folder?.close() }

    private static func identity(in journal: any StoredJournal, _ name: String) throws(JournalError) -> UniqueID? {
        guard let bytes = try journal.fact(name) else { return nil }
        guard let id = UniqueID(bytes: bytes) else {
            throw JournalError(.damaged, "The journal's \(name) has \(bytes.count) bytes, not 16.")
        }
        return id
    }

    /// Another program's journal would replay to nonsense; so would one of another version of its types, unless there are migrations
    /// from there.
    func requireProgram(of engine: any ProgramEngine) throws(StoreError) {
        let schema = engine.schema
        guard let text = try author(), text != schema.description else { return }
        let found = "\(name) holds the journal of \(text); this program is \(schema)"
        let prefix = "\(schema.name) version "
        guard text.hasPrefix(prefix), let version = Int(text.dropFirst(prefix.count)) else {
            throw StoreError(.configuration, found)
        }
        guard version < schema.version else {
            throw StoreError(.configuration, "\(found), which is older: run the newer program, or begin anew with --fresh")
        }
        guard version >= engine.oldestReadableVersion else {
            throw StoreError(
                .configuration,
                "\(found), and has no migration from version \(version): add one to `migrations`, or begin anew with --fresh")
        }
    }

    /// Name and version of the program whose journal it is; nil if it is new.
    func author() throws(StoreError) -> String? {
        if isNew { return nil }
        return try StoreError.replacing { () throws(JournalError) in
            try journal.fact(Fact.program).map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// A timeline has one seed, which another does not replace.
    func requireSeed(_ given: [UInt8]?) throws(StoreError) {
        guard let given, let seed, given != seed else { return }
        throw StoreError(
            .configuration,
            "\(name) was begun with another seed; go on without --seed, archive it with --fresh, or name another folder with --data"
        )
    }

    /// Has a machine that knows the journal write the record of a start.
    ///
    /// - Parameter given: the seed of a new timeline; nil for the empty map, which is what a seed without fields looks like.
    /// - Returns: the seed of the timeline.
    func start(
        _ machine: inout StoreMachine, seed given: [UInt8]?, accepting divergences: [Divergence], number: Int? = nil, now: Timestamp
    ) throws(StoreError) -> [UInt8] {
        let begin = given ?? seed ?? [0x80]
        do {
            try machine.start(seed: begin, now: now, accepting: divergences, number: number)
        } catch let error as TrapError {
            throw StoreError(.program, "cannot begin: \(error)")
        } catch {
            let advice = given == nil && seed == nil ? "; give a seed with --seed" : ""
            throw StoreError(.configuration, "cannot begin: \(error)\(advice)")
        }
        return begin
    }

    /// From here on the journal is written.
    func beginWriting(_ page: TrapPage) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in try journal.beginWriting() }
        journal.mark(in: page.memory)
    }

    /// From here on the journal is one of this version, which an older one cannot read.
    func adopt(_ schema: Schema) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in
            guard let known = try journal.fact(Fact.program), known != Array(schema.description.utf8) else { return }
            try journal.record(Array(schema.description.utf8), as: Fact.program)
        }
    }

    /// Records what a new journal must know of itself, before its first turn: the timeline last, because each fact is a commit of its own, and
    /// who sees the timeline, be it a store that follows or the next start, takes the others to be there.
    func establish(_ schema: Schema, seed: [UInt8]) throws(StoreError) {
        try StoreError.replacing { () throws(JournalError) in
            try journal.record(UniqueID(high: secret.high, low: secret.low).bytes, as: Fact.secret)
            try journal.record(Array(schema.description.utf8), as: Fact.program)
            try journal.record(seed, as: Fact.seed)
            try journal.record(timeline.bytes, as: Fact.timeline)
        }
    }

    /// A machine of this journal, which has seen nothing yet.
    func machine(_ engine: any ProgramEngine, settings: StoreSettings = StoreSettings(), build: String = "") -> StoreMachine {
        StoreMachine(settings: settings, engine: engine, timeline: timeline, secret: secret, build: build)
    }

    /// Brings a machine to the state of the journal's last turn: newest readable snapshot, then the later batches.
    ///
    /// - Parameters:
    ///   - accepted: the divergences that are accepted in the journal or by the caller.
    ///   - proceed: asked before each batch, and may throw to give up.
    /// - Throws: `StoreError`; of a divergence that nobody accepts, with a report of it.
    func recover(
        through last: Int = .max, accepting accepted: inout AcceptedDivergences, _ make: () -> StoreMachine,
        note: (String) -> Void, proceed: () throws(JournalError) -> Void = { () throws(JournalError) in }
    ) throws(StoreError) -> StoreMachine {
        while true {
            do {
                return try replay(through: last, accepted.terms, make, note: note, proceed: proceed)
            } catch {
                guard let divergence = (error as? ReplayError)?.divergence else { throw failure(error) }
                guard try isCovered(divergence, by: &accepted) else {
                    throw StoreError(divergence: try report(on: divergence, make), isFickle: accepted.isFresh(divergence))
                }
            }
        }
    }

    private func replay(
        through last: Int, _ terms: ReplayTerms, _ make: () -> StoreMachine, note: (String) -> Void,
        proceed: () throws(JournalError) -> Void
    ) throws -> StoreMachine {
        try requireKept(last)
        let machine = try journal.recover(through: last) {
            var machine = make()
            machine.terms = terms
            return machine
        } restore: { (machine: inout StoreMachine, snapshot) in
            try refusing(snapshot) { try machine.restore(snapshot: snapshot.bytes) }
        } replay: { (machine: inout StoreMachine, batch) in
            try proceed()
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last)
            CrashPoint.pass(.storeDuringRecovery)
        } note: {
            note($0)
        }
        if last >= journal.last { try machine.requireEndOfGroup() }
        return machine
    }

    /// What is said of a state that was computed of turns of an older version.
    static var ofOlder: String {
        "turns of an older version are shown as this one computes them from the snapshot before: no more is known of them"
    }

    /// - Throws: `StoreError` if the journal cannot tell the state of a turn, because it was trimmed.
    func requireKept(_ turn: Int) throws(StoreError) {
        guard journal.first > 1, turn < journal.first - 1 else { return }
        throw StoreError(
            .configuration,
            "turn \(turn) is not kept any more: the journal in \(name) was trimmed up to turn \(journal.first - 1), by `--retain` or by a salvage"
        )
    }

    /// Restores a snapshot. Without one that cannot be migrated, turns of the older version would be computed again, which orders what
    /// `update` says now: so no other is tried.
    func refusing(_ snapshot: Snapshot, _ restore: () throws -> Void) throws {
        do {
            try restore()
        } catch let error as MigrationError {
            throw Refused(
                error: StoreError(.configuration, "the snapshot of turn \(snapshot.turn) in \(name) cannot be migrated: \(error)"))
        }
    }

    /// Brings a machine that has been recovered to what the journal has by now.
    ///
    /// - Throws: `JournalError` of the journal, and `StoreError` of a divergence: one that was accepted since, a new start takes as it is.
    func follow(
        _ machine: inout StoreMachine, _ accepted: inout AcceptedDivergences, noting lag: inout StandbyLag, by clock: HostClock
    ) throws {
        do {
            try journal.read(from: machine.head + 1) { batch in
                try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
                lag.replayed(machine.newest, now: clock.now())
            }
        } catch let error as ReplayError {
            guard let divergence = error.divergence else { throw failure(error) }
            let isCovered = try isCovered(divergence, by: &accepted)
            throw isCovered
                ? StoreError(.again, "turn \(divergence.turn) orders something else, which was accepted")
                : StoreError(
                    divergence: DivergenceReport(divergence, traces: try traces(of: divergence.turn), kept: []), isFickle: false)
        } catch let error as TrapError {
            throw failure(error)
        }
    }

    /// A group is written whole, so that a part of one is what is left of it.
    func requireWhole(_ machine: borrowing StoreMachine) throws(StoreError) {
        do throws(ReplayError) { try machine.requireEndOfGroup() } catch { throw failure(error) }
    }

    func failure(_ error: any Error) -> StoreError {
        switch error {
        case let refused as Refused: refused.error
        case is MissingBeginning:
            StoreError(
                .damaged,
                "none of the snapshots in \(name) can be used, and the turns before \(journal.first) are not kept any more, by `--retain` or by a salvage"
            )
        case let error as TrapError: StoreError(.program, "the journal in \(name) cannot be replayed: \(error)")
        case let error as JournalError where error.code == .missing && journal is any SharedJournal:
            StoreError(.again, "another store has trimmed the journal meanwhile: \(error)", divergence: nil, isTransient: true)
        default: StoreError(reading: error, in: name)
        }
    }
}

/// What ends a recovery, whatever other snapshots there are.
private struct Refused: UnmendableError {
    let error: StoreError
}
