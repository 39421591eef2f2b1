public import Foundation
import Synchronization

/// A terminal with a process in it, and a person before it. The process is killed when nobody holds this.
public final class PseudoTerminal: Sendable {
    public let id: pid_t
    private let master: Int32
    /// Kept open, so that the settings can be looked at after the process's end.
    private let slave: Int32
    private let screen: Mutex<(double: TerminalDouble, all: [UInt8])>

    public init(_ executable: String, _ arguments: [String], columns: Int = 80, rows: Int = 24, in scratch: Scratch) throws {
        var ends: (master: Int32, slave: Int32) = (-1, -1)
        guard openpty(&ends.master, &ends.slave, nil, nil, nil) == 0, let name = ttyname(ends.slave) else {
            throw SpawnError(description: "no pseudo-terminal: \(String(cString: strerror(errno)))")
        }
        (master, slave) = ends
        let path = String(cString: name)
        for end in [master, slave] { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(master, F_SETFL, fcntl(master, F_GETFL) | O_NONBLOCK)
        screen = Mutex((TerminalDouble(columns: columns, rows: rows), []))
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("SAMOVAR_") }
        environment["SAMOVAR_RUNTIME_DIR"] = scratch.folder("run")
        environment["TERM"] = "xterm-256color"
        // The first terminal that the leader of a session opens becomes its own.
        id = try spawn(
            executable, arguments, environment, files: [(path, O_RDWR), (path, O_RDWR), (path, O_RDWR)], ownSession: true)
    }

    deinit {
        kill(id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
        close(master)
        close(slave)
    }

    /// What the screen shows.
    public var text: String { look { $0.text } }
    public var modes: [Int: Bool] { look { $0.modes } }

    /// Everything that the process has written.
    public var output: String {
        look { _ in }
        return screen.withLock { String(decoding: $0.all, as: UTF8.self) }
    }

    /// Whether lines are edited and echoed, as a shell wants it.
    public var isCooked: Bool {
        var settings = termios()
        tcgetattr(slave, &settings)
        return settings.c_lflag & tcflag_t(ICANON) != 0 && settings.c_lflag & tcflag_t(ECHO) != 0
    }

    public func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
    }

    public func resize(columns: Int, rows: Int) {
        look { _ in }
        screen.withLock { $0.double = TerminalDouble(columns: columns, rows: rows) }
        var size = winsize(ws_row: UInt16(rows), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
        _ = ioctl(master, UInt(TIOCSWINSZ), &size)
    }

    public func send(_ signal: Int32) { kill(id, signal) }

    /// How the process ended; nil while it runs. It can be asked once.
    public func end() -> Child.End? {
        look { _ in }
        var status: Int32 = 0
        guard waitpid(id, &status, WNOHANG) == id else { return nil }
        return status & 0x7f == 0 ? .exited((status >> 8) & 0xff) : .killed(status & 0x7f)
    }

    /// Reads what has been written meanwhile, and then looks at the screen.
    private func look<Result: Sendable>(_ body: (TerminalDouble) -> Result) -> Result {
        screen.withLock { screen in
            var buffer = [UInt8](repeating: 0, count: 65_536)
            while true {
                let count = read(master, &buffer, buffer.count)
                guard count > 0 else { return body(screen.double) }
                screen.all += buffer[..<count]
                screen.double.take(String(decoding: buffer[..<count], as: UTF8.self))
            }
        }
    }
}
