import Foundation
import Synchronization

/// Takes the terminal for a whole-screen picture, and gives it back as it was: at the end, when the process is stopped, and when it
/// dies of anything but SIGKILL and real-time signals. One at a time.
///
/// The settings that signal handlers need are globals, because a handler has no other way to them.
struct RawTerminal: ~Copyable {
    /// Whether both ends are a terminal: keys come from there, and a picture can go there.
    static var isThere: Bool { isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 }

    /// Whether others have the terminal, such as the shell of a process that goes on without being called back to it.
    static var isInBackground: Bool {
        let group = tcgetpgrp(STDIN_FILENO)
        return group > 0 && group != getpgrp()
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    init() throws(Failure) {
        handled = crashes + requests.filter(isDeadly)
        guard tcgetattr(STDIN_FILENO, &savedSettings) == 0 else {
            throw Failure(description: "the terminal does not tell its settings: \(String(cString: strerror(errno)))")
        }
        try enter()
        for signal in handled { install(signal, restoreAndDie) }
    }

    private let handled: [Int32]

    deinit {
        leave()
        for number in handled { signal(number, SIG_DFL) }
    }

    /// Keys one by one and unechoed; a screen of its own without wrapping, and pastes marked as such. Control-C and control-Z stay
    /// signals, so that they work whatever this process does.
    func enter() throws(Failure) {
        var raw = savedSettings
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | IEXTEN)
        raw.c_iflag &= ~tcflag_t(IXON | ICRNL)
        let error = retrying { tcsetattr(STDIN_FILENO, TCSAFLUSH, &raw) }
        guard error == 0 else {
            throw Failure(description: "the terminal does not take settings: \(String(cString: strerror(errno)))")
        }
        isEntered.store(true, ordering: .sequentiallyConsistent)
        guard write(Array("\u{1b}[?1049h\u{1b}[?7l\u{1b}[?2004h\u{1b}[?25l".utf8)) else {
            throw Failure(description: "the terminal cannot be written to")
        }
    }

    func leave() {
        restoreTerminal()
        let lines = heldLines.withLock { lines in
            defer { lines = [] }
            return lines
        }
        for line in lines { StandardStream.error.write(line) }
    }

    /// Keeps a line for standard error until the terminal is given back, since it would shift the picture: the newest 100.
    ///
    /// - Returns: false if there is nothing to shift.
    static func holds(_ line: String) -> Bool {
        guard isatty(STDERR_FILENO) == 1, isOfPicture(STDERR_FILENO) else { return false }
        return heldLines.withLock { lines in
            guard isEntered.load(ordering: .sequentiallyConsistent) else { return false }
            lines.append(line)
            if lines.count > 100 { lines.removeFirst() }
            return true
        }
    }

    /// Whether what is written there comes to the terminal with the picture.
    private static func isOfPicture(_ descriptor: Int32) -> Bool {
        var (picture, other) = (stat(), stat())
        return fstat(STDOUT_FILENO, &picture) == 0 && fstat(descriptor, &other) == 0 && picture.st_rdev == other.st_rdev
    }

    /// What was typed, as much as is there; nil at the end of the terminal.
    func read() -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 1_024)
        let count = retrying { Foundation.read(STDIN_FILENO, &buffer, buffer.count) }
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    /// False if nobody reads any more.
    func write(_ bytes: [UInt8]) -> Bool { writeAll(bytes, to: STDOUT_FILENO) == nil }
}

/// Sets what a signal does. A call that it interrupts returns, so that loops see it.
func install(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void) {
    var action = sigaction()
    #if canImport(Darwin)
    action.__sigaction_u.__sa_handler = handler
    #elseif canImport(Musl)
    action.__sa_handler.sa_handler = handler
    #else
    action.__sigaction_handler.sa_handler = handler
    #endif
    sigemptyset(&action.sa_mask)
    sigaction(number, &action, nil)
}

/// Whether a process dies of it: others may be ignored, or have a handler.
private func isDeadly(_ number: Int32) -> Bool {
    var action = sigaction()
    guard sigaction(number, nil, &action) == 0 else { return false }
    #if canImport(Darwin)
    return action.__sigaction_u.__sa_handler == nil
    #elseif canImport(Musl)
    return action.__sa_handler.sa_handler == nil
    #else
    return action.__sigaction_handler.sa_handler == nil
    #endif
}

/// Signals of which a process dies without asking.
private let crashes = [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGQUIT, SIGSYS]

/// Those that others send, which may have been ignored from the beginning, or be a profiler's.
private let requests: [Int32] = {
    let common = [SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGXCPU, SIGXFSZ]
    #if canImport(Darwin)
    return common
    #else
    return common + [SIGIO, SIGPWR, SIGSTKFLT]
    #endif
}()

/// Written before any handler is installed, and from then on only read.
nonisolated(unsafe) private var savedSettings = termios()
private let isEntered = Atomic<Bool>(false)
private let heldLines = Mutex<[String]>([])
/// Everything that `enter` asked for, back to what is usual.
private let farewell: StaticString = "\u{1b}[0m\u{1b}[?25h\u{1b}[?2004l\u{1b}[?7h\u{1b}[?1049l"

/// Calls only what a signal handler may call.
private func restoreTerminal() {
    guard isEntered.exchange(false, ordering: .sequentiallyConsistent) else { return }
    // Nothing can be done about an error here.
    _ = write(STDOUT_FILENO, farewell.utf8Start, farewell.utf8CodeUnitCount)
    tcsetattr(STDIN_FILENO, TCSANOW, &savedSettings)
}

private func restoreAndDie(_ number: Int32) {
    restoreTerminal()
    // The signal is held back until this returns, and then does what it always does.
    signal(number, SIG_DFL)
    raise(number)
}
