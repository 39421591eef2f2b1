import Foundation
public import Journal
import Synchronization

/// A folder with a journal in it, locked for this process.
///
/// Opening takes an exclusive lock on the file `lock` in the folder before anything else is touched, so two stores, or a
/// store and an offline command, can never work on one journal. The lock ends with ``close()``, with the last reference
/// to the folder, or with the process, however that dies. It may be used from any thread.
///
/// ```swift
/// let folder = try DataFolder(at: ".samovar/orders")
/// let journal = try SQLiteJournal(in: folder)
/// ```
public final class DataFolder: Sendable {
    static let lockFile = "lock"

    public let path: String
    private let lock: Mutex<Lock>

    private struct Lock {
        /// The descriptor that holds the lock; -1 after `close()`.
        var descriptor: CInt
        /// What the file said before, to be put back unless the folder is written; nil once it is.
        var former: String?
    }

    /// Opens a folder and locks it, waiting in this thread for another process to let it go.
    ///
    /// - Parameters:
    ///   - creating: Whether a folder that is not there is created, for its owner alone. Commands that only read pass
    ///     `false`; they take the same lock.
    ///   - wait: How long to wait for the lock.
    ///   - waiting: Told once, with who has the lock, if it has to be waited for.
    /// - Throws: ``JournalError/Code/busy`` naming the process that has the lock, ``JournalError/Code/missing``,
    ///   ``JournalError/Code/forbidden``, or ``JournalError/Code/inputOutput``.
    public init(
        at path: String, creating: Bool = true, wait: Duration = .seconds(5), waiting: (String) -> Void = { _ in }
    ) throws(JournalError) {
        if creating {
            try FileSystem.makeFolder(path)
        } else if !FileSystem.exists(path) {
            throw JournalError(.missing, "There is no data folder \(path).")
        }
        let file = "\(path)/\(Self.lockFile)"
        // A link might lead to a file that must not be written.
        let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(file) cannot be opened.", isDoor: true) }
        let former: String
        do throws(JournalError) {
            try Self.lock(descriptor, at: file, of: path, wait: wait, waiting: waiting)
            former = try FileSystem.contents(of: descriptor, at: file)
            do throws(JournalError) {
                try FileSystem.overwrite(descriptor, at: file, with: "\(getpid())\n")
            } catch  where error.code == .full {
                // The lock is held all the same, and who waits for it is told of “another process”.
            }
        } catch {
            closeFile(descriptor)
            throw error
        }
        self.path = path
        self.lock = Mutex(Lock(descriptor: descriptor, former: former))
    }

    deinit {
        close()
    }

    /// Lets the folder go. The file `lock` stays: to remove it would let two processes lock two different files.
    ///
    /// Whoever has changed nothing else in the folder leaves what it says as it was, too.
    public func close() {
        lock.withLock { lock in
            guard lock.descriptor >= 0 else { return }
            // The number of a process that has ended is of no use, so that a failure to put an older one back is none.
            if let former = lock.former { try? FileSystem.overwrite(lock.descriptor, at: file(Self.lockFile), with: former) }
            closeFile(lock.descriptor)
            lock.descriptor = -1
        }
    }

    /// The folder is about to be written.
    func beginWriting() {
        lock.withLock { $0.former = nil }
    }

    /// Who has the folder, such as “process 17”; nil if nobody has, or that cannot be told.
    package static func holder(of path: String) -> String? {
        let file = "\(path)/\(lockFile)"
        let descriptor = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard descriptor >= 0 else { return nil }
        defer { closeFile(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) != 0, errno == EWOULDBLOCK else { return nil }
        // A file that cannot be read tells of nobody.
        return try? holder(descriptor, at: file)
    }

    private static func holder(_ descriptor: CInt, at file: String) throws(JournalError) -> String {
        let process = Int(try FileSystem.contents(of: descriptor, at: file).prefix { $0 != "\n" })
        return process.map { "process \($0)" } ?? "another process"
    }

    /// Checks that the folder is still where it was: by now its path may lead to another one, or nowhere.
    func requireInPlace() throws(JournalError) {
        var (known, found) = (stat(), stat())
        let isKnown = lock.withLock { fstat($0.descriptor, &known) == 0 }
        guard isKnown, stat(file(Self.lockFile), &found) == 0, (known.st_dev, known.st_ino) == (found.st_dev, found.st_ino) else {
            throw JournalError(
                .unavailable,
                "The data folder \(path) was moved or replaced, or has lost its file \(Self.lockFile): nothing is written there.")
        }
    }

    /// Checks that the lock is still held.
    func requireOpen() throws(JournalError) {
        guard lock.withLock({ $0.descriptor >= 0 }) else { throw JournalError(.misuse, "The data folder \(path) is closed.") }
    }

    func file(_ name: String) -> String {
        "\(path)/\(name)"
    }

    private static func lock(
        _ descriptor: CInt, at file: String, of path: String, wait: Duration, waiting: (String) -> Void
    ) throws(JournalError) {
        let deadline = ContinuousClock.now + wait
        var isTold = false
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            let failure = errno
            switch failure {
            case EINTR:
                continue
            case EWOULDBLOCK:
                let holder = try holder(descriptor, at: file)
                guard ContinuousClock.now < deadline else { throw JournalError(.busy, "\(path) is in use by \(holder).") }
                if !isTold { waiting("\(path) is in use by \(holder): waiting for it for at most \(wait)") }
                isTold = true
                poll(nil, 0, 20)
            default:
                throw JournalError(errno: failure, "\(file) cannot be locked.")
            }
        }
    }
}

/// The system's `close`, which the method hides.
private func closeFile(_ descriptor: CInt) { close(descriptor) }
