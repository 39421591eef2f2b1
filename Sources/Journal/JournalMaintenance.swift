/// What a store does to its journal beside its service, one thing after the other: it keeps snapshots, and removes the turns that they stand
/// for. It decides what is kept, what may go and which errors end the store; when it is called, and on which thread, is its host's
/// business, and so is how a program reads a journal.
public struct JournalMaintenance {
    /// What a store may ask for.
    public enum Work: Sendable {
        case save(Snapshot)
        /// Make a snapshot as of this turn from the journal.
        case snapshot(through: Int)
    }

    /// What came of it.
    public enum Report: Sendable {
        /// A snapshot of so many bytes was kept.
        case saved(bytes: Int)
        case notSaved(String)
        case trimmed(through: Int)
        case notTrimmed(String)
        /// The disk failed: the store must end.
        case failed(JournalError)
    }

    private let retain: Int?
    private let snapshot: (_ turn: Int) throws -> Snapshot
    private let check: (Snapshot) throws -> Void
    private let isStopping: () -> Bool
    private let report: (Report) -> Void
    /// Turns of snapshots that were read back and understood.
    private var verified: Set<Int> = []

    /// - Parameters:
    ///   - retain: the newest turns that are kept at least; nil keeps all.
    ///   - snapshot: makes a snapshot as of a turn from the journal.
    ///   - check: throws unless this program can read a snapshot.
    ///   - isStopping: asked between two steps: the store is about to end, and nothing new is begun.
    public init(
        retain: Int?, snapshot: @escaping (_ turn: Int) throws -> Snapshot, check: @escaping (Snapshot) throws -> Void,
        isStopping: @escaping () -> Bool, report: @escaping (Report) -> Void
    ) {
        self.retain = retain
        self.snapshot = snapshot
        self.check = check
        self.isStopping = isStopping
        self.report = report
    }

    /// Does one thing, and trims behind it.
    public mutating func perform(_ work: Work, on journal: inout some Journal) {
        switch work {
        case .save(let snapshot): save(on: &journal) { snapshot }
        case .snapshot(let turn):
            guard !isStopping() else { return }
            save(on: &journal) { try snapshot(turn) }
        }
        trim(&journal)
    }

    /// Ends what runs with an error, if the store is about to end.
    public func proceed() throws(JournalError) {
        if isStopping() { throw JournalError(.misuse, "The store stops.") }
    }

    /// A snapshot is a cache: the store goes on without it.
    private func save(on journal: inout some Journal, _ make: () throws -> Snapshot) {
        do {
            let snapshot = try make()
            // The oldest goes for it. Where turns are gone, those that nobody can read must not take the place of the last one that can be.
            if journal.first > 1, let newest = try journal.snapshots().first, !verified.contains(newest) {
                try check(snapshot)
            }
            try journal.save(snapshot)
            report(.saved(bytes: snapshot.bytes.count))
        } catch let error as JournalError where error.code == .inputOutput || error.code == .forbidden {
            report(.failed(error))
        } catch {
            report(.notSaved("\(error)"))
        }
    }

    /// Removes the turns that nobody needs any more. Call it once at a start, for the snapshots of earlier ones.
    public mutating func trim(_ journal: inout some Journal) {
        guard let retain else { return }
        do {
            let readable = try readableSnapshots(of: journal)
            verified.formIntersection(readable)
            guard let limit = Self.limit(last: journal.last, keeping: retain, verified: readable), limit >= journal.first
            else { return }
            let first = journal.first
            while try journal.trim(through: limit) { try proceed() }
            if journal.first > first { report(.trimmed(through: journal.first - 1)) }
        } catch let error as JournalError where error.code == .inputOutput || error.code == .forbidden {
            report(.failed(error))
        } catch {
            if !isStopping() { report(.notTrimmed("\(error)")) }
        }
    }

    /// The last turn that may go.
    ///
    /// - Parameters:
    ///   - turns: how many of the newest turns are kept at least.
    ///   - verified: the turns of the snapshots that were read back and understood, newest first. Two are asked for: should the
    ///     newer one be found damaged one day, the older one and the batches after it still tell everything.
    /// - Returns: nil if nothing may go.
    package static func limit(last: Int, keeping turns: Int, verified: [Int]) -> Int? {
        guard verified.count >= 2 else { return nil }
        let limit = min(last - turns, verified[1])
        return limit > 0 ? limit : nil
    }

    private mutating func readableSnapshots(of journal: some Journal) throws -> [Int] {
        var readable: [Int] = []
        for turn in try journal.snapshots() {
            if !verified.contains(turn) {
                try proceed()
                guard isReadable(turn, in: journal) else { continue }
                verified.insert(turn)
            }
            readable.append(turn)
        }
        return readable
    }

    /// Whether a snapshot on disk is whole, and whether this program understands it.
    private func isReadable(_ turn: Int, in journal: some Journal) -> Bool {
        do {
            try check(try journal.snapshot(at: turn))
            return true
        } catch {
            report(.notTrimmed("the snapshot of turn \(turn) cannot be used: \(error)"))
            return false
        }
    }
}
