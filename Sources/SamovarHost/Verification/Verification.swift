public import SamovarStore

/// Compares what two processes with different hash seeds make of one journal, and finds the first turn at which they, or the
/// journal, disagree.
///
/// A `Set` has another order in each process. So a program whose commands or state depend on such an order, on the time or on
/// anything else but its arguments gives itself away: by a command that has not the recorded hash, or by states that differ
/// between the processes, or from a snapshot, although all commands agree. To look at a state costs its size, so digests are
/// taken at a few turns; between two of them the search goes on with closer ones.
///
/// The caller brings the processes, as a function from a plan to a report.
public struct Verification {
    /// How many digests a pass takes.
    private static let digestCount = 64
    /// How often a pass is repeated in the hope of meeting the same turn, by a program that is another each time.
    private static let patience = 4

    let subject: VerificationSubject
    let pass: (VerificationPlan) async throws -> VerificationReport

    /// - Parameter pass: runs a plan in a process of its own.
    public init(of subject: VerificationSubject, pass: @escaping (VerificationPlan) async throws -> VerificationReport) {
        self.subject = subject
        self.pass = pass
    }

    /// - Throws: `VerificationError` if the passes cannot be compared; `StoreError` if the journal is trimmed faster than it is read; what
    ///   they throw.
    public func verdict() async throws -> Verdict {
        let plan = VerificationPlan(
            last: subject.last, digests: Self.stops(after: 0, through: subject.last), comparesSnapshots: true)
        guard let (first, second) = try await both(plan, tellingCommand: true) else {
            throw StoreError(
                .again, "the journal was trimmed meanwhile (`--retain`): no two processes replayed the same of it; verify again")
        }
        guard first.hashSeed != second.hashSeed else { throw VerificationError.sameHashSeed }

        var verdict = Verdict(subject, first, second)
        verdict.finding = try await finding(first, second)
        return verdict
    }

    private func finding(_ first: VerificationReport, _ second: VerificationReport) async throws -> Verdict.Finding? {
        let stopped = [first, second].compactMap { $0.command?.differs == true ? $0.command?.turn : nil }.min() ?? .max
        let state = Self.firstDifference(first, second)
        let snapshot = first.snapshots.first { !$0.differences.isEmpty }
        if let state, state.upper <= min(stopped, snapshot?.turn ?? .max) {
            return try await search(state, passingOlderOver: first.passesOlderOver)
        }
        if let snapshot, snapshot.turn < stopped {
            let equal = first.snapshots.last { $0.turn < snapshot.turn && $0.differences.isEmpty && $0.problem == nil }
            return .snapshot(snapshot.turn, parts: snapshot.differences, lastEqual: equal?.turn)
        }
        guard stopped < .max else { return first.snapshots.last(where: \.isRefused).map { .refusedSnapshot($0) } }
        let known = [first.command, second.command]
        return .command(try await commands(at: stopped, known, passingOlderOver: first.passesOlderOver))
    }

    /// The command of both processes at a turn. One that was not computed yet, or at another turn, is asked for.
    private func commands(
        at turn: Int, _ known: [DivergenceReport?], passingOlderOver passesOlderOver: Bool
    ) async throws -> [DivergenceReport] {
        var turn = turn
        var known = known
        for _ in 0..<Self.patience {
            for index in known.indices where known[index]?.turn != turn {
                let plan = VerificationPlan(last: subject.last, shown: turn, passesOlderOver: passesOlderOver)
                known[index] = try await run(plan).command
            }
            guard let earlier = known.compactMap({ $0?.turn }).min(), earlier < turn else { break }
            turn = earlier
        }
        return known.compactMap { $0 }.filter { $0.turn == turn }
    }

    /// What two processes make of a plan.
    ///
    /// The replay of a trimmed journal begins with its oldest snapshot, which gives way as the store makes newer ones. Between two replays
    /// that begin elsewhere, what differs may be a snapshot and a replay, which is no matter of two processes. Then a third one is asked.
    ///
    /// - Parameter telling: whether the second one tells the command at which the first has stopped.
    /// - Returns: nil if they have nothing in common that could be compared.
    private func both(
        _ plan: VerificationPlan, tellingCommand telling: Bool = false
    ) async throws -> (VerificationReport, VerificationReport)? {
        var first = try await run(plan)
        for _ in 0..<Self.patience where first.begin <= plan.last {
            var next = plan
            next.passesOlderOver = first.passesOlderOver
            if telling { next.shown = first.command?.turn }
            let second = try await run(next)
            if Self.areComparable(first, second) { return (first, second) }
            first = second
        }
        return nil
    }

    private static func areComparable(_ first: VerificationReport, _ second: VerificationReport) -> Bool {
        if first.begin == second.begin { return true }
        return firstDifference(first, second) == nil && !commonTurns(first, second).isEmpty
    }

    /// Of which both have a digest.
    fileprivate static func commonTurns(_ first: VerificationReport, _ second: VerificationReport) -> Set<Int> {
        Set(first.digests.map(\.turn)).intersection(second.digests.map(\.turn))
    }

    // MARK: States

    private struct Gap {
        /// The last turn at which the digests were equal, or with whose state both began.
        var lower: Int
        var upper: Int
    }

    private func search(_ gap: Gap, passingOlderOver passesOlderOver: Bool) async throws -> Verdict.Finding {
        var gap = gap
        while gap.upper - gap.lower > 1 {
            let plan = VerificationPlan(
                last: gap.upper, digests: Self.stops(after: gap.lower, through: gap.upper), passesOlderOver: passesOlderOver)
            // The turns in between may be trimmed by now. That the processes differ is known none the less.
            guard let (first, second) = try await both(plan),
                let closer = Self.firstDifference(first, second, after: gap.lower)
            else { break }
            gap = closer
        }
        let plan = VerificationPlan(last: gap.upper, state: gap.upper, passesOlderOver: passesOlderOver)
        let states = [try await run(plan).state, try await run(plan).state].compactMap { $0 }
        guard gap.upper - gap.lower == 1 else { return .state(gap.upper, lastEqual: gap.lower, states: states, command: nil) }
        let shown = VerificationPlan(last: gap.upper, shown: gap.upper, passesOlderOver: passesOlderOver)
        let command = try await run(shown).command
        return .state(gap.upper, lastEqual: gap.lower, states: states, command: command?.turn == gap.upper ? command : nil)
    }

    private static func firstDifference(
        _ first: VerificationReport, _ second: VerificationReport, after lower: Int = 0
    ) -> Gap? {
        var lower = max(lower, first.begin, second.begin)
        let others = Dictionary(second.digests.map { ($0.turn, $0.value) }) { one, _ in one }
        for digest in first.digests {
            guard let other = others[digest.turn] else { continue }
            if digest.value != other { return Gap(lower: lower, upper: digest.turn) }
            lower = digest.turn
        }
        return nil
    }

    /// Evenly spread, with the last one among them.
    static func stops(after lower: Int, through upper: Int) -> [Int] {
        let length = upper - lower
        let count = min(length, digestCount)
        return count < 1 ? [] : (1...count).map { lower + Int((Double(length) * Double($0) / Double(count)).rounded()) }
    }

    private func run(_ plan: VerificationPlan) async throws -> VerificationReport {
        let report = try await pass(plan)
        guard report.timeline == subject.timeline else { throw VerificationError.otherJournal }
        return report
    }
}

/// Why nothing could be compared.
public enum VerificationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// Both processes have one hash seed.
    case sameHashSeed
    /// The journal was exchanged between two passes.
    case otherJournal

    /// What is wrong and what to do.
    public var description: String {
        switch self {
        case .sameHashSeed: "both processes hash alike, so nothing is proven: is SWIFT_DETERMINISTIC_HASHING set?"
        case .otherJournal: "the data folder got another journal meanwhile; verify again"
        }
    }
}

/// What a verification has found out.
public struct Verdict: Equatable, Sendable {
    /// What was verified.
    public var subject: VerificationSubject
    /// The turn of the snapshot with which the replay began, of a journal without its beginning; 0 for one from turn 1.
    public var begin: Int
    /// How many digests were compared.
    public var digests: Int
    /// Snapshots that are what the replay gives.
    public var snapshots: [Int]
    /// Those of them whose subscriptions another build wanted, so that they were not compared.
    public var wantOtherwise: [Int]
    /// Snapshots that could not be compared, and why. A start passes them over.
    public var unreadable: [VerificationReport.SnapshotFinding]
    /// Turns at which the journal says that another command was accepted.
    public var accepted: [Int]
    /// Of how many messages the commands were compared with the recorded ones.
    public var replayed: ReplayCounts
    /// Up to this turn nothing was replayed, since this build's `update` takes turns of older versions otherwise than theirs did; 0 if all was.
    public var passedOver: Int
    /// Nil if everything agrees.
    public var finding: Finding?

    /// The first thing that does not agree.
    public enum Finding: Equatable, Sendable {
        /// A command has not the recorded hash; one report for each process, as far as it came to that turn.
        case command([DivergenceReport])
        /// All commands agree and the states after this turn do not.
        case state(Int, lastEqual: Int, states: [[UInt8]], command: DivergenceReport?)
        /// The processes agree, and a snapshot tells something else.
        case snapshot(Int, parts: [String], lastEqual: Int?)
        /// All agrees, and a start would refuse to go on from this snapshot.
        case refusedSnapshot(VerificationReport.SnapshotFinding)
    }

    init(_ subject: VerificationSubject, _ first: VerificationReport, _ second: VerificationReport) {
        self.subject = subject
        begin = first.begin
        digests = Verification.commonTurns(first, second).count
        let findings = first.snapshots
        snapshots = findings.filter { $0.differences.isEmpty && $0.problem == nil }.map(\.turn)
        wantOtherwise = findings.filter { $0.differences.isEmpty && $0.wantsOtherwise }.map(\.turn)
        unreadable = findings.filter { $0.problem != nil }
        accepted = first.accepted
        replayed = first.replayed
        passedOver = first.passesOlderOver ? first.begin : 0
    }
}
