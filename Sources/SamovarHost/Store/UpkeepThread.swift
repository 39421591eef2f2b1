import CrashPoints
import DequeModule
import Foundation
import Journal
import SamovarProtocol
import SQLiteJournal
import Synchronization

/// What a store does beside its service, on a thread of its own and at a low priority: snapshots, trimming, backups.
///
/// One after the other, so a backup never reads what is being trimmed. It reads the journal through the one connection, a
/// bounded page at a time, and commits go on in between.
final class UpkeepThread: Sendable {
    enum Work: Sendable {
        case save(Snapshot)
        /// Make a snapshot as of this turn from the journal.
        case snapshot(through: Int)
        /// Copy the journal up to this turn into a new folder.
        case export(through: Int, folder: String)
        case end
    }

    enum News: Sendable {
        /// A snapshot of so many bytes was kept.
        case saved(bytes: Int)
        case notSaved(String)
        case trimmed(through: Int)
        case notTrimmed(String)
        case copied(through: Int)
        case exported
        case notExported(String)
        /// The disk failed.
        case failed(JournalError)
    }

    private let queue = Mutex<Deque<Work>>([])
    private let available = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)
    private let stopping = Atomic<Bool>(false)
    private let opened: OpenedJournal
    private let retain: Int?
    private let machine: @Sendable () -> StoreMachine
    private let mark: UpkeepMark
    private let report: @Sendable (News) -> Void

    /// - Parameters:
    ///   - retain: the newest turns that are kept at least; nil keeps all.
    ///   - mark: says while the program is called; it has to outlive the thread.
    ///   - machine: makes one that has seen nothing yet.
    init(
        _ opened: OpenedJournal, retain: Int?, mark: UpkeepMark, machine: @escaping @Sendable () -> StoreMachine,
        report: @escaping @Sendable (News) -> Void
    ) {
        self.opened = opened
        self.retain = retain
        self.machine = machine
        self.mark = mark
        self.report = report
        let thread = Thread { [self] in run() }
        thread.name = "samovar-upkeep"
        // It replays a program, and a decoder follows nested values on the stack.
        thread.stackSize = 16 << 20
        thread.start()
    }

    func post(_ work: Work) {
        queue.withLock { $0.append(work) }
        available.signal()
    }

    /// Gives up what runs, keeps the snapshots that wait, and blocks until the thread has let go of the journal, or 2 s: on a
    /// busy machine its low priority may keep it longer at what cannot be interrupted.
    ///
    /// - Returns: whether it has let go.
    func end() -> Bool {
        stopping.store(true, ordering: .releasing)
        post(.end)
        return ended.wait(timeout: .now() + 2) == .success
    }

    private func run() {
        TrapSignals.withAlternateStack { work() }
    }

    private func work() {
        lowerPriority()
        var verified: Set<Int> = []
        // Behind the snapshots of earlier starts.
        trim(&verified)
        while true {
            available.wait()
            guard let work = queue.withLock({ $0.popFirst() }) else { continue }
            switch work {
            case .save(let snapshot):
                save { snapshot }
                trim(&verified)
            case .snapshot(let turn):
                guard !isStopping else { continue }
                save { try makeSnapshot(through: turn) }
                trim(&verified)
            case .export(let turn, let folder):
                guard !isStopping else { continue }
                export(through: turn, to: folder)
            case .end:
                ended.signal()
                return
            }
        }
    }

    private var isStopping: Bool { stopping.load(ordering: .acquiring) }

    private func proceed() throws(JournalError) {
        if isStopping { throw JournalError(.misuse, "The store stops.") }
    }

    // MARK: Snapshots

    /// A snapshot is a cache: the store goes on without it.
    private func save(_ make: () throws -> Snapshot) {
        do {
            let snapshot = try make()
            try opened.journal.save(snapshot)
            CrashPoint.pass(.storeAfterSnapshot)
            report(.saved(bytes: snapshot.bytes.count))
        } catch let error as JournalError where error.code == .inputOutput {
            report(.failed(error))
        } catch {
            report(.notSaved("\(error)"))
        }
    }

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

    // MARK: Trimming

    private func trim(_ verified: inout Set<Int>) {
        guard let retain else { return }
        do {
            let readable = try opened.journal.snapshots().filter { turn in
                guard !verified.contains(turn) else { return true }
                try proceed()
                guard isReadable(turn) else { return false }
                verified.insert(turn)
                return true
            }
            verified.formIntersection(readable)
            let journal = opened.journal
            guard let limit = Retention.limit(last: journal.last, keeping: retain, verified: readable), limit >= journal.first
            else { return }
            let first = journal.first
            while try journal.trim(through: limit) { try proceed() }
            if journal.first > first { report(.trimmed(through: journal.first - 1)) }
        } catch let error as JournalError where error.code == .inputOutput {
            report(.failed(error))
        } catch {
            if !isStopping { report(.notTrimmed("\(error)")) }
        }
    }

    /// Whether a snapshot on disk is whole, and whether this program understands it.
    private func isReadable(_ turn: Int) -> Bool {
        do {
            let snapshot = try opened.journal.snapshot(at: turn)
            try mark.during(thread: TrapSignals.thread) {
                var machine = machine()
                try machine.restore(snapshot: snapshot.bytes)
            }
            return true
        } catch {
            report(.notTrimmed("the snapshot of turn \(turn) cannot be used: \(error)"))
            return false
        }
    }

    // MARK: Backups

    private func export(through turn: Int, to folder: String) {
        do {
            try JournalCopy.export(opened.journal, through: turn, to: folder) { done throws(JournalError) in
                try proceed()
                report(.copied(through: done))
            }
            report(.exported)
        } catch {
            report(.notExported("\(error)"))
        }
    }

    /// On Linux a thread has a priority of its own; elsewhere this one is as good as the others.
    private func lowerPriority() {
        #if os(Linux)
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
        #endif
    }
}
