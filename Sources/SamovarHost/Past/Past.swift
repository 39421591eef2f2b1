import Journal
import JournalChain
public import Logging
public import MessagePack
import SQLiteJournal
public import SamovarCore
public import SamovarStore
public import SamovarWire

/// The past of a journal: the state as of any turn that is still known, and the turns from there on.
///
/// It is read beside the store, too, and then ends with the turn that was the newest on disk when it was opened. Reading changes nothing, and
/// holds one state, one batch of records and some around the record that was asked for last, however long the journal is. Used by one thread.
///
/// Turns of an older version of the program are computed by this one, from each snapshot up to the next, for no more is known of what that version
/// made of them. At the next snapshot the state begins anew, whichever way it was come to.
public final class Past: PastReader {
    /// Of the journal.
    public let timeline: Timeline
    /// Of which turns the state is known.
    public private(set) var span: PastSpan
    /// Of which the random numbers of turns are computed.
    package var secret: Secret { opened.secret }
    let opened: OpenedJournal
    let makeEngine: (Secret) -> any ProgramEngine
    let logger: Logger
    var accepted = AcceptedDivergences()
    private var machine: PastMachine?
    /// See `PastMachine.mark`; set before the first state is asked for.
    public var mark: (Int?) -> Void = { _ in }
    /// The turn that was asked for or told of last, to go on from after an accepted divergence.
    private var told = 0
    private var hasWarned = false
    /// Of ``record(of:)``.
    private var page = RecordPage()

    /// Opens the past of a journal and hands it to `body`, on a thread of its own.
    ///
    /// - Parameters:
    ///   - wait: for the lock of the data folder.
    ///   - engine: of the journal's program.
    /// - Throws: `StoreError` if the journal cannot be read or is not of this program; what `body` throws.
    public static func read<Result: Sendable>(
        _ location: JournalLocation, wait: Duration = .seconds(5), logger: Logger,
        engine: @escaping @Sendable (Secret) -> any ProgramEngine, _ body: @escaping @Sendable (Past) throws -> Result
    ) async throws -> Result {
        try await onThread("samovar-past") {
            let opened = try OpenedJournal(reading: location, wait: wait)
            defer { opened.close() }
            return try body(try Past(opened, logger: logger, engine: engine))
        }
    }

    private init(_ opened: OpenedJournal, logger: Logger, engine: @escaping (Secret) -> any ProgramEngine) throws(StoreError) {
        try opened.requireProgram(of: engine(opened.secret))
        for warning in opened.journal.warnings { logger.warning("\(warning)") }
        self.opened = opened
        self.logger = logger
        timeline = opened.timeline
        makeEngine = engine
        let journal = opened.journal
        guard journal.last > 0 else {
            throw StoreError(.configuration, "the journal in \(opened.name) has no turn yet: its store never came to serve")
        }
        let snapshots = try StoreError.replacing { () throws(JournalError) in try journal.snapshots() }
        guard let span = PastSpan(first: journal.first, last: journal.last, snapshots: snapshots) else {
            throw opened.failure(MissingBeginning())
        }
        self.span = span
    }

    /// Whether no store can begin while this is open: it has the lock of the data folder.
    package var isExclusive: Bool { opened.journal is SQLiteJournal }

    // MARK: States

    /// The turn as of which the state is; 0 before the first ``move(to:)``.
    public var turn: Int { machine?.turn ?? 0 }

    /// The version of the program that wrote the record of ``turn``.
    public var author: Int? { machine?.author }

    /// The state as of ``turn``, in MessagePack.
    public func state() throws -> [UInt8] { try moved().state() }

    /// What outsiders saw of it, in MessagePack.
    public func view() throws -> [UInt8] { try moved().view() }

    /// Whether the state as of ``turn`` keeps the invariant at a place among ``invariants``.
    public func keeps(invariant index: Int) throws -> Bool { try moved().keeps(invariant: index) }

    /// Makes the state the one as of a turn: from the newest snapshot before it, unless the present state is nearer.
    ///
    /// - Throws: `StoreError`, also for a turn that is not known.
    public func move(to turn: Int) throws {
        try require(turn)
        told = turn
        try going { try approach(turn) }
    }

    /// Goes on from ``turn``, up to `last` or until `body` returns false, whose turn is then the present one.
    ///
    /// - Parameter body: is told of each record when the state is that after it.
    /// - Throws: `StoreError`; what `body` throws.
    public func walk(through last: Int, _ body: (Record) throws -> Bool) throws {
        try require(last)
        try going {
            if machine == nil { try approach(told) }
            try replay(through: last) { record in
                told = record.turn
                guard try body(record) else { throw Enough() }
            }
        }
    }

    /// The record of a turn; nil if it is not kept, or not there yet.
    public func record(of turn: Int) throws -> Record? {
        // A salvage may keep a snapshot and no record.
        let (first, last) = (firstRecord, opened.journal.last)
        guard first <= turn, turn <= last else { return nil }
        do {
            return try page.record(of: turn, among: first...last) { turns, body in
                try opened.journal.read(from: turns.lowerBound, through: turns.upperBound, body)
            }
        } catch {
            throw opened.failure(error)
        }
    }

    // MARK: Spans

    /// Tells of each span that ends in one of these turns, in their order. It holds a state of its own, and the effects that are open.
    ///
    /// - Returns: how many effects are open behind the last of them: their spans have no end.
    /// - Throws: `StoreError`; what `tell` throws.
    public func trace(_ turns: ClosedRange<Int>, _ tell: (TraceSpan) throws -> Void) throws -> Int {
        try require(turns.upperBound)
        try require(turns.lowerBound)
        // A trimmed journal begins behind a snapshot, whose own turn is not kept.
        let before = max(turns.lowerBound - 1, span.known.lowerBound > 1 ? span.known.lowerBound : 0)
        var (told, newest, open) = (before, before, 0)
        try going {
            told = newest
            var tracer = try tracer(at: before)
            while true {
                let snapshot = crossing(from: tracer.turn, through: turns.upperBound, followsOlder: tracer.followsOlder)
                let last = snapshot ?? turns.upperBound
                try opened.journal.read(from: tracer.turn + 1, through: last) { batch in
                    try tracer.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last) { span, turn in
                        newest = turn
                        if turn > told { try tell(span) }
                    }
                }
                warn(ofOlder: tracer.followsOlder)
                guard let snapshot else { break }
                if tracer.followsOlder { tracer = try self.tracer(at: snapshot) }
            }
            open = tracer.openCount
        }
        return open
    }

    private func tracer(at turn: Int) throws -> TraceMachine {
        try opened.journal.recover(through: turn) {
            TraceMachine(makeEngine(opened.secret), terms: accepted.terms)
        } restore: { (tracer: inout TraceMachine, snapshot) in
            try opened.refusing(snapshot) { try tracer.restore(snapshot: snapshot.bytes) }
        } replay: { (tracer: inout TraceMachine, batch) in
            try tracer.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
        } note: {
            logger.warning("\($0)")
        }
    }

    // MARK: Moving

    private func moved() throws(StoreError) -> PastMachine {
        guard let machine else { throw StoreError(.configuration, "no turn was asked for") }
        return machine
    }

    /// Replays; where the journal says that another command was accepted, once more, with that in its terms.
    func going(_ body: () throws -> Void) throws {
        while true {
            do {
                return try body()
            } catch is Enough {
                return
            } catch let error as ReplayError {
                guard let divergence = error.divergence else { throw opened.failure(error) }
                guard try opened.isCovered(divergence, by: &accepted) else {
                    if try followsOlder(divergence.turn) { throw unknown(divergence.turn) }
                    throw StoreError(divergence: try opened.report(on: divergence, storeMachine), isFickle: false)
                }
                machine = nil
            } catch let error where error is JournalError || error is MissingBeginning || error is any UnmendableError {
                throw opened.failure(error)
            }
        }
    }

    /// Whether turns of an older version were computed on the way from the snapshot before a turn.
    private func followsOlder(_ turn: Int) throws -> Bool {
        let version = makeEngine(opened.secret).schema.version
        var (begin, author): (Int, Int?) = (0, nil)
        for snapshot in span.snapshots.reversed() where snapshot < turn && author == nil {
            // What cannot be read was passed over on that way, too.
            author = try? StoreSnapshot.content(of: opened.journal.snapshot(at: snapshot).bytes).author
            begin = author == nil ? 0 : snapshot
        }
        var isFound = false
        try records(of: begin + 1...turn) { record in
            if case .started(_, _, let schema, _) = record.event { author = schema.version }
            if let author, author < version { isFound = true }
            return !isFound
        }
        return isFound
    }

    /// The error of a turn that does not follow from those of an older version, as this one takes them.
    private func unknown(_ turn: Int) -> StoreError {
        let next = span.snapshots.first { $0 >= turn }.map { "that of turn \($0) is the next one that is" } ?? "no later one is"
        return StoreError(
            .configuration,
            "the state of turn \(turn) is not known any more: it follows from turns of an older version, which this one takes otherwise; "
                + next)
    }

    private func approach(_ turn: Int) throws {
        if let machine, span.goesOn(from: machine.turn, to: turn) { return try replay(through: turn) }
        try recover(through: turn)
    }

    /// Makes the state the one as of a turn, from the newest snapshot before it.
    private func recover(through turn: Int) throws {
        machine = nil
        machine = try opened.journal.recover(through: turn) {
            makeMachine()
        } restore: { (machine: inout PastMachine, snapshot) in
            try opened.refusing(snapshot) { try machine.restore(snapshot: snapshot.bytes) }
        } replay: { (machine: inout PastMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
        } note: {
            logger.warning("\($0)")
        }
        if !span.snapshots.contains(turn) { warn(ofOlder: machine?.followsOlder ?? false) }
    }

    /// The next snapshot at which the state begins anew.
    private func crossing(from turn: Int, through last: Int, followsOlder: Bool) -> Int? {
        followsOlder ? span.snapshots.first { $0 > turn && $0 <= last } : nil
    }

    func warn(ofOlder followsOlder: Bool) {
        guard !hasWarned, followsOlder else { return }
        hasWarned = true
        logger.warning("\(OpenedJournal.ofOlder)")
    }

    private func makeMachine() -> PastMachine {
        let machine = PastMachine(makeEngine(opened.secret), terms: accepted.terms)
        machine.mark = mark
        return machine
    }

    private func replay(through last: Int, each: (Record) throws -> Void = { _ in }) throws {
        while let snapshot = try crossing(from: turn, through: last, followsOlder: moved().followsOlder) {
            var newest: Record?
            try compute(through: snapshot) { record in
                if record.turn < snapshot { try each(record) } else { newest = record }
            }
            let machine = try moved()
            if machine.followsOlder {
                let orders = machine.orders
                try recover(through: snapshot)
                self.machine?.orders = orders
            }
            if let newest { try each(newest) }
        }
        try compute(through: last, each: each)
    }

    private func compute(through last: Int, each: (Record) throws -> Void) throws {
        let machine = try moved()
        guard machine.turn < last else { return }
        try opened.journal.read(from: machine.turn + 1, through: last) { batch in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last, each: each)
        }
        warn(ofOlder: machine.followsOlder)
    }

    func storeMachine() -> StoreMachine { opened.machine(makeEngine(opened.secret)) }

    func require(_ turn: Int) throws(StoreError) {
        guard turn <= span.known.upperBound else {
            throw StoreError(.configuration, "the journal in \(opened.name) ends at turn \(span.known.upperBound)")
        }
        try opened.requireKept(turn)
        guard span.known.contains(turn) else {
            throw StoreError(
                .configuration,
                "the state of turn \(turn) is not known: that of \(span.known.lowerBound) is the first in \(opened.name)")
        }
    }
}

/// Ends a reading that has come far enough.
struct Enough: Error {}

extension Past: FollowedPast {
    /// Takes the turns into ``span`` that have come since, of a journal at a place.
    public func refresh() throws {
        let journal = opened.journal
        span = try StoreError.replacing { () throws(JournalError) in
            try journal.refresh()
            return PastSpan(first: journal.first, last: journal.last, snapshots: try journal.snapshots()) ?? span
        }
    }

    /// The first turn whose record is kept.
    public var firstRecord: Int { max(opened.journal.first, 1) }

    /// Tells of the records of some turns, in their order, until `body` returns false.
    public func records(of turns: ClosedRange<Int>, _ body: (Record) throws -> Bool) throws {
        // A salvage may keep a snapshot and no record.
        let (first, last) = (firstRecord, opened.journal.last)
        guard first <= last, turns.overlaps(first...last) else { return }
        let kept = turns.clamped(to: first...last)
        do {
            try opened.journal.read(from: kept.lowerBound, through: kept.upperBound) { batch in
                try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                    if kept.contains(record.turn), try !body(record) { throw Enough() }
                }
            }
        } catch is Enough {
        } catch {
            throw opened.failure(error)
        }
    }

    /// The state as of ``turn`` as a later beginning; nil where a replay cannot begin.
    public func checkpoint() throws -> PastCheckpoint? { try machine?.checkpoint() }

    /// Makes the state the one of a checkpoint, from which ``move(to:)`` goes on.
    public func begin(at checkpoint: PastCheckpoint) throws {
        // Accepted divergences would have to be found again, before it.
        let machine = makeMachine()
        try machine.restore(checkpoint)
        self.machine = machine
        told = checkpoint.turn
    }

    /// What the turn ordered to which ``walk(through:_:)`` has come, for people.
    public var orders: [MessagePackValue] { machine?.orders ?? [] }
}
