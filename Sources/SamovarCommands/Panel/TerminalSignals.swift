import Foundation
import Synchronization

/// Signals as bytes of a pipe that a loop can wait for together with keys. Other threads wake the loop by it, too.
struct TerminalSignals: ~Copyable, Sendable {
    let readEnd: Int32

    static let watched: [Int32] = [SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGTSTP]

    init() throws(RawTerminal.Failure) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            throw RawTerminal.Failure(description: "no pipe for signals: \(String(cString: strerror(errno)))")
        }
        for end in ends { _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK) }
        readEnd = ends[0]
        writeEnd.store(ends[1], ordering: .sequentiallyConsistent)
        for number in Self.watched { install(number, note) }
    }

    deinit {
        // The pipe stays: another thread may be about to write into it, and its number must not come to mean another file.
        for number in Self.watched { signal(number, SIG_DFL) }
    }

    /// The signals since the last call; those that other threads sent by `wake` are left out.
    func take() -> [Int32] {
        var buffer = [UInt8](repeating: 0, count: 256)
        let count = retrying { read(readEnd, &buffer, buffer.count) }
        return count > 0 ? buffer[..<count].filter { $0 != 0 }.map { Int32($0) } : []
    }

    /// Stops this process as control-Z does by itself: unlike SIGSTOP, not where there is no shell to have it go on.
    func stop() {
        signal(SIGTSTP, SIG_DFL)
        // To this thread: sent to the process, another thread might take it, and this one take the terminal again before it stops. A thread
        // of Foundation may block it.
        raise(SIGTSTP)
        var (stop, former) = (sigset_t(), sigset_t())
        sigemptyset(&stop)
        sigaddset(&stop, SIGTSTP)
        pthread_sigmask(SIG_UNBLOCK, &stop, &former)
        pthread_sigmask(SIG_SETMASK, &former, nil)
        install(SIGTSTP, note)
    }

    /// Ends the loop's waiting. A full pipe wakes it as well, and after the end there is nobody to wake.
    static func wake() { send(0) }
}

private let writeEnd = Atomic<Int32>(-1)

private func send(_ byte: UInt8) {
    var byte = byte
    let error = errno
    _ = write(writeEnd.load(ordering: .sequentiallyConsistent), &byte, 1)
    errno = error
}

private func note(_ number: Int32) {
    send(UInt8(truncatingIfNeeded: number))
}
