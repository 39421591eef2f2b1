import SamovarCore

/// The newest attempts: which effect was handed to which worker, when, and what became of it. Memory alone: no decision depends on it, no
/// snapshot has it, and a restart forgets it.
///
/// The idea: a ring of rows of 32 bytes in one piece of memory, which is made for the first attempt. An attempt is a few stores at a place
/// that its number tells, so nothing is looked up or allocated for it; who asks looks at all rows.
struct FlightRecorder {
    /// Attempts that are remembered.
    static let limit = 65_536
    /// Workers that have left whose names are remembered.
    private static let nameLimit = 4_096
    /// Effects of one turn beyond so many are not recorded: a row has no room for their number.
    private static let ordinalLimit = 1 << 20

    struct Row {
        let turn: Int
        let handedOut: Timestamp
        /// Seconds after that; less than nothing while it runs.
        var ended: Float = -1
        /// Seconds until the job told of itself first; less than nothing before.
        var heard: Float = -1
        let worker: UInt32
        /// From the lowest: 3 bits for the outcome, 0 while it runs; 1 bit, whether the worker came with the job; 8 bits for the number of the
        /// attempt among those that count; 20 bits for the ordinal.
        var bits: UInt32

        var ordinal: Int { Int(bits >> 12) }

        @inline(__always)
        fileprivate mutating func end(_ outcome: AttemptOutcome, after duration: Int64) {
            ended = Float(duration) * 1e-6
            bits |= UInt32(truncatingIfNeeded: outcome.rawValue &+ 1)
        }
    }

    /// What is known of one attempt.
    struct Attempt: Equatable {
        /// Among those that count: attempts that failed, and deaths of workers. 255 stands for all beyond.
        var number: Int
        /// Nil if it is not known any more.
        var worker: WorkerID?
        var handedOut: Timestamp
        /// Its worker came with it, and had it before: it was handed out earlier.
        var isClaimed: Bool
        /// From the hand-out to the first word of the job itself; nil if it said nothing. It had begun by then.
        var heard: Duration?
        /// From the hand-out to the end; nil while it runs.
        var duration: Duration?
        var outcome: AttemptOutcome?
    }

    private(set) var rows: [Row] = []
    /// Attempts so far.
    private var count = 0
    /// The newest names of workers, by their numbers.
    private var names: [WorkerID] = []
    private var workers = 0

    // MARK: Recording

    /// The number of a worker that comes.
    mutating func joined(_ worker: WorkerID) -> UInt32 {
        let place = workers % Self.nameLimit
        if place < names.count { names[place] = worker } else { names.append(worker) }
        defer { workers += 1 }
        return UInt32(truncatingIfNeeded: workers)
    }

    /// An effect goes to a worker; returns the number of the attempt.
    ///
    /// - Parameter isClaimed: the worker had it already.
    @inline(__always)
    mutating func handedOut(
        _ effect: EffectID, attempt: Int, to worker: UInt32, isClaimed: Bool = false, now: Timestamp
    ) -> Int {
        let bits = Self.bits(of: effect.ordinal) | UInt32(min(attempt, 255)) << 4 | (isClaimed ? 8 : 0)
        let turn = effect.ordinal < Self.ordinalLimit ? effect.turn : 0
        let row = Row(turn: turn, handedOut: now, worker: worker, bits: bits)
        // Of these copies none is read before another attempt has taken its place.
        if rows.isEmpty { rows = [Row](repeating: row, count: Self.limit) }
        rows[count & (Self.limit - 1)] = row
        count &+= 1
        return count &- 1
    }

    @inline(__always)
    mutating func ended(_ attempt: Int, _ outcome: AttemptOutcome, since: Timestamp, now: Timestamp) {
        guard count &- attempt <= Self.limit else { return }
        rows[attempt & (Self.limit - 1)].end(outcome, after: now.microseconds &- since.microseconds)
    }

    /// A job has told of itself.
    mutating func heard(_ attempt: Int, now: Timestamp) {
        guard count - attempt <= Self.limit else { return }
        let place = attempt & (Self.limit - 1)
        guard rows[place].heard < 0 else { return }
        rows[place].heard = Float(now.microseconds &- rows[place].handedOut.microseconds) * 1e-6
    }

    private static func bits(of ordinal: Int) -> UInt32 { UInt32(truncatingIfNeeded: ordinal) << 12 }

    // MARK: Telling

    /// All attempts since then are known; nil if these are all of this process.
    var since: Timestamp? { count > Self.limit ? rows[count & (Self.limit - 1)].handedOut : nil }

    /// The attempts of an effect that are remembered, the newest first. Looks at all that are.
    ///
    /// - Parameter known: workers that are here, by their numbers.
    func attempts(of effect: EffectID, _ known: [UInt32: WorkerID]) -> [Attempt] {
        // A row of turn 0 is that of an effect beyond the limit of a turn.
        guard effect.turn != 0 else { return [] }
        return remembered.reversed().compactMap { number in
            let row = rows[number & (Self.limit - 1)]
            return row.turn == effect.turn && row.ordinal == effect.ordinal ? attempt(row, known) : nil
        }
    }

    /// Attempts of any effect, the newest first.
    ///
    /// - Parameters:
    ///   - end: where those before went on; nil for the newest.
    ///   - known: workers that are here, by their numbers.
    /// - Returns: at most so many, and where it goes on; nil if there are no more.
    func attempts(
        before end: Int?, count limit: Int, _ known: [UInt32: WorkerID]
    ) -> (attempts: [(effect: EffectID, attempt: Attempt)], next: Int?) {
        let numbers = remembered.lowerBound..<max(remembered.lowerBound, min(end ?? count, count))
        let page = numbers.suffix(limit)
        let attempts = page.reversed().compactMap { number -> (EffectID, Attempt)? in
            let row = rows[number & (Self.limit - 1)]
            // Of effects beyond the limit of a turn only the attempt is known.
            guard row.turn > 0 else { return nil }
            return (EffectID(turn: row.turn, ordinal: row.ordinal), attempt(row, known))
        }
        return (attempts, page.lowerBound > numbers.lowerBound ? page.lowerBound : nil)
    }

    private var remembered: Range<Int> { max(0, count - Self.limit)..<count }

    private func attempt(_ row: Row, _ known: [UInt32: WorkerID]) -> Attempt {
        Attempt(
            number: Int(row.bits >> 4 & 255), worker: known[row.worker] ?? name(of: row.worker), handedOut: row.handedOut,
            isClaimed: row.bits & 8 != 0, heard: Self.duration(row.heard), duration: Self.duration(row.ended),
            outcome: AttemptOutcome(rawValue: Int(row.bits & 7) - 1))
    }

    private func name(of worker: UInt32) -> WorkerID? {
        Int(worker) + names.count >= workers ? names[Int(worker) % Self.nameLimit] : nil
    }

    private static func duration(_ seconds: Float) -> Duration? {
        seconds < 0 ? nil : .microseconds(Int64((Double(seconds) * 1_000_000).rounded()))
    }
}
