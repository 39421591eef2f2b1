#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif
import Synchronization

/// A place where a test can let a process die, as if it had been killed there.
///
/// `SAMOVAR_CRASH_AT=store.after-update:3` ends the process by SIGKILL when it passes that place for the third time. With
/// `SAMOVAR_CRASH_MARK=FILE` only the first process to get there dies: it leaves the file, and who finds it lives. With
/// `SAMOVAR_CRASH_BY=stop` it is stopped there instead, and goes on at a SIGCONT.
///
/// Only in debug builds. In others the calls are empty, and the variables mean nothing.
public enum CrashPoint: String, CaseIterable, Sendable {
    /// A frame was handed to the machine, and caused nothing yet.
    case storeAfterReceive = "store.after-receive"
    /// There are turns that only memory knows.
    case storeAfterUpdate = "store.after-update"
    case storeBeforeAppend = "store.before-append"
    /// The batch is on disk, and the loop does not know it.
    case storeAfterAppend = "store.after-append"
    /// The gate is open, and nothing has left.
    case storeAfterCommit = "store.after-commit"
    case storeAfterReceipt = "store.after-receipt"
    case storeBeforeTask = "store.before-task"
    case storeBeforeView = "store.before-view"
    /// A part of a snapshot's file is on disk.
    case storeWithinSnapshot = "store.within-snapshot"
    /// The file is whole, and has not got its name.
    case storeDuringSnapshot = "store.during-snapshot"
    /// It has its name, which the disk may not know yet.
    case storeBeforeSnapshotSync = "store.before-snapshot-sync"
    case storeAfterSnapshot = "store.after-snapshot"
    case storeDuringCheckpoint = "store.during-checkpoint"
    case storeAfterCheckpoint = "store.after-checkpoint"
    /// The oldest batches are removed, in a transaction that has not ended.
    case storeDuringTrim = "store.during-trim"
    /// They are gone, and nothing but the database knows.
    case storeAfterTrim = "store.after-trim"
    /// A batch was replayed.
    case storeDuringRecovery = "store.during-recovery"

    /// A part of the batches is in the copy; in the store that makes it, or in the command without one.
    case copyAfterPiece = "copy.after-piece"
    /// The copy is whole, and has not got its name.
    case copyBeforeName = "copy.before-name"
    /// It has its name, and nobody was told.
    case copyAfterName = "copy.after-name"

    case workerBeforeEffect = "worker.before-effect"
    /// For handlers of tests to pass.
    case workerDuringEffect = "worker.during-effect"
    case workerAfterEffect = "worker.after-effect"
    case workerBeforeResult = "worker.before-result"
    /// The store has the answer, and the worker does not know it.
    case workerBeforeAcknowledge = "worker.before-acknowledge"

    /// Inputs are on their way, and their outcomes are not known.
    case clientAfterSend = "client.after-send"
    /// The outcome is here, and nobody was told.
    case clientBeforeReceipt = "client.before-receipt"

    /// Dies here if the environment says so.
    @inlinable
    public static func pass(_ point: CrashPoint, if isHere: @autoclosure () -> Bool = true) {
        #if DEBUG
        if isHere(), isDue(point) { die() }
        #endif
    }

    /// Dies within two milliseconds if the environment says so, while what follows runs.
    @inlinable
    public static func passSoon(_ point: CrashPoint) {
        #if DEBUG
        if isDue(point) { dieSoon() }
        #endif
    }
}

#if DEBUG
extension CrashPoint {
    private struct Plan {
        let point: CrashPoint
        let passage: Int
        let mark: String?
        let isStop: Bool

        init?() {
            guard let words = variable("SAMOVAR_CRASH_AT")?.split(separator: ":"), let name = words.first,
                let point = CrashPoint(rawValue: String(name))
            else { return nil }
            self.point = point
            passage = words.count > 1 ? Int(words[1]) ?? 1 : 1
            mark = variable("SAMOVAR_CRASH_MARK")
            isStop = variable("SAMOVAR_CRASH_BY") == "stop"
        }
    }

    private static let plan = Plan()
    private static let passages = Atomic(0)

    @usableFromInline
    static func isDue(_ point: CrashPoint) -> Bool {
        guard let plan, plan.point == point, passages.add(1, ordering: .relaxed).newValue == plan.passage else { return false }
        guard let mark = plan.mark else { return true }
        let descriptor = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        if descriptor >= 0 { close(descriptor) }
        return descriptor >= 0
    }

    @usableFromInline
    static func die() {
        if plan?.isStop == true {
            // To this thread: a signal to the process may be taken by another, and this one would run on until that has stopped it.
            raise(SIGSTOP)
            return
        }
        kill(getpid(), SIGKILL)
        // The signal may take another thread first; nothing may happen here meanwhile.
        while true { pause() }
    }

    @usableFromInline
    static func dieSoon() {
        #if canImport(Glibc)
        var thread = pthread_t()
        #else
        var thread: pthread_t?
        #endif
        pthread_create(
            &thread, nil,
            { _ in
                usleep(.random(in: 0...2_000))
                kill(getpid(), SIGKILL)
                return nil
            }, nil)
    }
}

private func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}
#endif
