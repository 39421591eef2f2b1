import Journal
public import SamovarCore
public import SamovarStore
import SamovarWire

/// What one process of a verification shall do.
public struct VerificationPlan: Codable, Equatable, Sendable {
    /// The last turn to replay.
    public var last: Int
    /// Take a digest after each of these turns.
    public var digests: [Int] = []
    /// Compare with the snapshots on the way.
    public var comparesSnapshots = false
    /// Stop at this turn, with its command.
    public var shown: Int?
    /// Hand back the state after this turn.
    public var state: Int?
    /// Begin with the oldest snapshot behind all turns of older versions.
    public var passesOlderOver = false
}

/// What one process of a verification has found.
public struct VerificationReport: Codable, Equatable, Sendable {
    /// Tells two hash seeds apart: the hash of a constant.
    public var hashSeed: Int
    /// The identity of the journal, because it may be exchanged between two passes.
    public var timeline: String
    /// The turn of the snapshot with which the replay of a trimmed journal begins; 0 for one from turn 1.
    public var begin = 0
    /// That snapshot stands for turns of older versions, which this build's `update` takes otherwise than theirs did. No store computes them
    /// again, either.
    public var passesOlderOver = false
    /// As the plan asked for them, as far as they are behind that.
    public var digests: [Digest] = []
    /// Of each snapshot on the way.
    public var snapshots: [SnapshotFinding] = []
    /// Of the turn at which the replay stopped; nil if it came to its end.
    public var command: DivergenceReport?
    /// In MessagePack.
    public var state: [UInt8]?
    /// Turns at which another command was accepted, in the journal.
    public var accepted: [Int] = []
    /// Of how many messages the commands were compared.
    public var replayed = ReplayCounts()

    /// The state after a turn, as a number.
    public struct Digest: Codable, Equatable, Sendable {
        /// After this turn.
        public var turn: Int
        /// Equal for equal states.
        public var value: UInt64
    }

    /// How a snapshot compares with the replay.
    public struct SnapshotFinding: Codable, Equatable, Sendable {
        /// Whose state it is.
        public var turn: Int
        /// The parts in which it is not what the replay gives.
        public var differences: [String]
        /// Why it cannot be compared: a start would pass it over, too.
        public var problem: String?
        /// A start refuses it instead: an older version wrote it, and no migration makes it readable.
        public var isRefused = false
        /// The subscriptions are other ones than a replay gives, which asks this build, and another build wanted them: no difference.
        public var wantsOtherwise = false
    }
}

/// What there is to verify.
public struct VerificationSubject: Equatable, Sendable {
    /// Of the journal.
    public var timeline: String
    /// Its last turn.
    public var last: Int
}

/// One process's part of `verify`: a replay from turn 1 without the help of any snapshot. It changes nothing, and
/// a store may be running on the journal.
public enum VerificationPass<P: Program> {
    /// - Throws: `StoreError`.
    public static func subject(of location: JournalLocation) async throws -> VerificationSubject {
        try await onThread("samovar-verify") {
            let opened = try OpenedJournal(reading: location)
            defer { opened.close() }
            try opened.requireProgram(of: TypedEngine(P.self, secret: opened.secret))
            return VerificationSubject(timeline: "\(opened.timeline)", last: opened.journal.last)
        }
    }

    /// - Parameter build: names this build, as in the journal.
    /// - Throws: `StoreError` if the journal cannot be read. A command that is not the recorded one is a finding and no error.
    public static func run(
        _ plan: VerificationPlan, of location: JournalLocation, build: String,
        engine: @escaping @Sendable (Secret) -> any ProgramEngine = { TypedEngine(P.self, secret: $0) }
    ) async throws -> VerificationReport {
        try await onThread("samovar-verify") {
            let opened = try OpenedJournal(reading: location)
            defer { opened.close() }
            try opened.requireProgram(of: TypedEngine(P.self, secret: opened.secret))
            let replay = VerifyingReplay(opened: opened, plan: plan) {
                opened.machine(engine(opened.secret), build: build)
            }
            return try replay.run()
        }
    }
}

/// The replay of one pass: like that of a start, but from turn 1, and with stops at which it takes digests and compares.
private struct VerifyingReplay {
    let opened: OpenedJournal
    let plan: VerificationPlan
    let make: () -> StoreMachine

    func run() throws(StoreError) -> VerificationReport {
        var accepted = AcceptedDivergences(shown: plan.shown)
        var begin = plan.passesOlderOver ? try snapshotBehindOlder() : nil
        while true {
            var report = VerificationReport(hashSeed: Self.hashSeed, timeline: "\(opened.timeline)")
            var counts = ReplayCounts()
            do {
                try attempt(accepted.terms, begin, &report, &counts)
            } catch {
                guard let divergence = (error as? ReplayError)?.divergence else {
                    if begin != nil, (error as? JournalError)?.code == .missing { throw trimmed }
                    throw StoreError(reading: error, in: opened.name)
                }
                if divergence.turn != plan.shown, try opened.isCovered(divergence, by: &accepted) { continue }
                let agreed = counts.states - (divergence.subject == .state ? 1 : 0)
                let isState = divergence.subject == .state || report.snapshots.contains { !$0.differences.isEmpty }
                if isState, divergence.turn != plan.shown, counts.uncompared > 0, agreed == 0,
                    let next = try snapshotBehindOlder()
                {
                    begin = next
                    continue
                }
                report.command = try opened.report(on: divergence, make)
            }
            let differs = report.snapshots.contains { !$0.differences.isEmpty }
            if differs, counts.uncompared > 0, counts.states == 0, let next = try snapshotBehindOlder() {
                begin = next
                continue
            }
            report.accepted = accepted.terms.accepted.keys.sorted()
            return report
        }
    }

    private var trimmed: StoreError {
        StoreError(.again, "the journal was trimmed meanwhile (`--retain`): verify again")
    }

    /// The same in one process, and in no two but by chance.
    private static var hashSeed: Int { "samovar".hashValue }

    /// The oldest snapshot with which nothing that an older version wrote is left to replay; nil if there is none.
    ///
    /// What differs has to do with older turns if a state was the first to do so, and none of a store of this version has agreed before.
    private func snapshotBehindOlder() throws(StoreError) -> Int? {
        let version = make().schema.version
        var (last, isOlder) = (0, true)
        do {
            try opened.journal.read(from: opened.journal.first) { batch in
                try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                    guard case .started(_, _, let schema, _) = record.event else { return }
                    if isOlder, schema.version >= version { last = record.turn - 1 }
                    isOlder = schema.version < version
                }
            }
            guard !isOlder else { return nil }
            return try opened.journal.snapshots().last { $0 >= max(last, 1) && $0 <= plan.last }
        } catch let error as JournalError where error.code == .missing {
            throw trimmed
        } catch {
            throw StoreError(reading: error, in: opened.name)
        }
    }

    /// - Parameter begin: the snapshot with which it begins; nil for the first turn that is left.
    private func attempt(
        _ terms: ReplayTerms, _ begin: Int?, _ report: inout VerificationReport, _ counts: inout ReplayCounts
    ) throws {
        let snapshots = plan.comparesSnapshots ? try opened.journal.snapshots() : []
        var stops = Set(plan.digests + snapshots + [plan.state ?? plan.last]).filter { $0 <= plan.last }.sorted()[...]
        var machine = make()
        machine.terms = terms
        // A trimmed journal begins at the oldest snapshot that leads into what is kept; there is nothing older to compare with.
        let first = opened.journal.first
        report.passesOlderOver = begin != nil
        defer { counts = machine.replayed }
        if let begin = try begin ?? (first > 1 ? opened.journal.snapshots().last { $0 + 1 >= first } : nil) {
            try machine.restore(snapshot: try opened.journal.snapshot(at: begin).bytes)
            let known = machine.head
            report.begin = known
            stops = stops.drop { $0 <= known }
        }
        try opened.journal.read(from: machine.head + 1) { batch in
            while let stop = stops.first, stop <= batch.last {
                stops.removeFirst()
                try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: stop)
                if plan.digests.contains(stop) { report.digests.append(.init(turn: stop, value: try machine.digest())) }
                if plan.state == stop { report.state = try machine.stateBytes() }
                if snapshots.contains(stop) { report.snapshots.append(compare(machine, at: stop)) }
            }
            guard machine.head < min(batch.last, plan.last) else { return }
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: plan.last)
        }
        report.replayed = machine.replayed
    }

    private func compare(_ machine: borrowing StoreMachine, at turn: Int) -> VerificationReport.SnapshotFinding {
        do {
            var other = make()
            try other.restore(snapshot: try opened.journal.snapshot(at: turn).bytes)
            let differences = try machine.differences(from: other)
            if differences.isEmpty || machine.isOfOneBuild { return .init(turn: turn, differences: differences, problem: nil) }
            let others = try machine.differences(from: other, subscriptions: false)
            return .init(turn: turn, differences: others, problem: nil, wantsOtherwise: true)
        } catch {
            return .init(turn: turn, differences: [], problem: "\(error)", isRefused: error is MigrationError)
        }
    }
}
