import CrashPoints
import Foundation
import Journal
import JournalChain
import SamovarStore
import SQLiteJournal
import Synchronization

/// What a store does beside its service, on a thread of its own and at a low priority: snapshots, trimming, backups, and reading once what
/// the start from a snapshot has not read.
///
/// One after the other, so a backup never reads what is being trimmed. It reads the journal through the one connection, a
/// bounded page at a time, and commits go on in between.
final class MaintenanceThread: Sendable {
    enum Work: Sendable {
        case maintain(JournalMaintenance.Work)
        /// Copy the journal up to this turn into a new folder, with a snapshot of that turn.
        case export(through: Int, folder: String, withSnapshot: Bool)
        case end
    }

    enum Event: Sendable {
        case maintained(JournalMaintenance.Report)
        case copied(through: Int)
        /// - Parameter problem: why there is no copy; nil if there is one.
        case exported(problem: String?)
        /// The turns that a start from a snapshot does not read are what was written.
        case sound(through: Int)
        /// They are not, or cannot be read.
        case damaged(String)
    }

    private let queue = WorkQueue<Work>()
    private let ended = DispatchSemaphore(value: 0)
    private let stopping = Atomic<Bool>(false)
    private let opened: OpenedJournal
    private let retain: Int?
    private let machine: @Sendable () -> StoreMachine
    private let mark: MaintenanceMark
    private let report: @Sendable (Event) -> Void

    /// - Parameters:
    ///   - retain: the newest turns that are kept at least; nil keeps all.
    ///   - mark: says while the program is called; it has to outlive the thread.
    ///   - machine: makes one that has seen nothing yet.
    init(
        _ opened: OpenedJournal, retain: Int?, mark: MaintenanceMark, machine: @escaping @Sendable () -> StoreMachine,
        report: @escaping @Sendable (Event) -> Void
    ) throws {
        self.opened = opened
        self.retain = retain
        self.machine = machine
        self.mark = mark
        self.report = report
        try startThread("samovar-maintenance") { [self] in TrapSignals.withAlternateStack { work() } }
    }

    func post(_ work: Work) { queue.post(work) }

    /// Gives up what runs, keeps the snapshots that wait, and blocks until the thread has let go of the journal, or 2 s: on a
    /// busy machine its low priority may keep it longer at what cannot be interrupted.
    ///
    /// - Returns: whether it has let go.
    func end() -> Bool {
        stopping.store(true, ordering: .releasing)
        post(.end)
        return ended.wait(timeout: .now() + 2) == .success
    }

    private func work() {
        lowerThreadPriority()
        var journal = opened.journal
        var maintenance = JournalMaintenance(retain: retain) { [self] turn in
            try makeSnapshot(through: turn)
        } check: { [self] snapshot in
            try mark.during(thread: TrapSignals.thread) {
                var machine = machine()
                try machine.restore(snapshot: snapshot.bytes)
            }
        } isStopping: { [self] in
            isStopping
        } report: { [report] event in
            if case .saved = event { CrashPoint.pass(.storeAfterSnapshot) }
            report(.maintained(event))
        }
        maintenance.trim(&journal)
        var check = JournalCheck(of: journal)
        // Before the next piece; nil once there is none.
        var pause: DispatchTimeInterval? = Self.checkPause
        while true {
            switch queue.next(until: pause.map { .now() + $0 } ?? .distantFuture) {
            case nil: pause = proceed(&check, journal)
            case .maintain(let work): maintenance.perform(work, on: &journal)
            case .export(let turn, let folder, let withSnapshot):
                guard !isStopping else { continue }
                export(through: turn, to: folder, withSnapshot: withSnapshot)
            case .end:
                ended.signal()
                return
            }
        }
    }

    // MARK: The check

    /// Between two pieces of the check, which is in no hurry: commits wait for one piece at most.
    private static let checkPause = DispatchTimeInterval.milliseconds(50)
    /// While the journal is not reached.
    private static let awayPause = DispatchTimeInterval.seconds(1)

    /// Reads the next piece. Whatever is found, the store goes on, because its state does not come from there.
    ///
    /// - Returns: when to go on; nil at the end.
    private func proceed(_ check: inout JournalCheck, _ journal: any StoredJournal) -> DispatchTimeInterval? {
        do {
            switch try check.advance(in: journal) {
            case .more: return Self.checkPause
            case .away: return Self.awayPause
            case .end: report(.sound(through: check.end))
            }
        } catch {
            report(.damaged("\(error)"))
        }
        return nil
    }

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    private func proceed() throws(JournalError) {
        if isStopping { throw JournalError(.misuse, "The store stops.") }
    }

    // MARK: Snapshots

    /// Takes the newest snapshot and replays the batches after it in a second state, which does not outlive this call: to
    /// keep it would make the next snapshot cheaper, and double the memory of every store for good.
    private func makeSnapshot(through turn: Int) throws -> Snapshot {
        var accepted = AcceptedDivergences()
        return try mark.during(thread: TrapSignals.thread) {
            let shadow = try opened.recover(through: turn, accepting: &accepted, machine) { _ in
            } proceed: { () throws(JournalError) in
                try proceed()
            }
            return Snapshot(turn: shadow.head, bytes: try shadow.snapshot())
        }
    }

    // MARK: Backups

    private func export(through turn: Int, to folder: String, withSnapshot: Bool) {
        do {
            let snapshot = withSnapshot ? try makeSnapshot(through: turn) : nil
            try JournalCopy.export(
                opened.journal, through: turn, to: folder, outside: opened.folder?.path, with: snapshot
            ) { done throws(JournalError) in
                try proceed()
                report(.copied(through: done))
            }
            report(.exported(problem: nil))
        } catch {
            report(.exported(problem: "\(error)"))
        }
    }
}
