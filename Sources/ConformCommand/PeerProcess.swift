import Foundation
import SamovarCommands
import Synchronization
import ZeroMQ

/// The process that is tried, in a group of its own, with pipes for its standard input and output.
final class PeerProcess: Sendable {
    enum News: Sendable {
        case line(String)
        /// Nothing more comes on standard output.
        case outputClosed
        /// Its exit code, or the signal that ended it as a negative number.
        case ended(Int32)
    }

    private struct State {
        var news: [News] = []
        var unwritten: [UInt8] = []
        var isInputClosed = false
        var isReaped = false
    }

    /// Those that run, each with its folder, to be ended with this process.
    private static let running = Mutex<[pid_t: String]>([:])
    private static let longestLine = 1 << 20

    let wakeup: Wakeup
    private let id: pid_t
    private let name: String
    private let input: Int32
    private var errorFile: String { folder + "/errors" }
    private let folder: String
    private let state = Mutex(State())

    /// - Parameter folder: that of its sockets, in which its standard error is kept.
    init(_ command: [String], variables: [String: String], in folder: String) throws {
        wakeup = try Wakeup()
        self.folder = folder
        name = command[0]
        let (inputEnd, input) = try makePipe()
        let (output, outputEnd) = try makePipe()
        defer {
            close(inputEnd)
            close(outputEnd)
        }
        self.input = input
        _ = fcntl(input, F_SETFL, O_NONBLOCK)
        do {
            // Whoever ends all meanwhile waits for this one.
            id = try Self.running.withLock { running in
                let id = try spawn(command, variables, input: inputEnd, output: outputEnd, errors: folder + "/errors")
                running[id] = folder
                return id
            }
        } catch {
            close(input)
            close(output)
            throw error
        }
        do {
            try SystemThread.start("conform-end") { [self] in waitForEnd() }
            try SystemThread.start("conform-output") { [self] in read(output) }
        } catch {
            // That there is no thread says more than what follows from it.
            try? end()
            close(output)
            throw error
        }
    }

    /// What it did since the last call.
    func takeNews() -> [News] {
        wakeup.drain()
        return state.withLock { state in
            defer { state.news.removeAll() }
            return state.news
        }
    }

    /// The end of what it has said on standard error.
    var errors: String {
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: errorFile))
            let size = try file.seekToEnd()
            try file.seek(toOffset: size > 2_000 ? size - 2_000 : 0)
            return String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        } catch {
            return "what it has said on standard error cannot be read: \(error.localizedDescription)"
        }
    }

    func write(_ line: String) { state.withLock { $0.unwritten += Array(line.utf8) + [UInt8(ascii: "\n")] } }
    func closeInput() { state.withLock { $0.isInputClosed = true } }

    /// Writes what the pipe takes; true if there is more.
    func flush() -> Bool {
        state.withLock { state in
            while !state.unwritten.isEmpty {
                let count = state.unwritten.withUnsafeBytes { Foundation.write(input, $0.baseAddress, $0.count) }
                guard count > 0 else { return errno == EAGAIN }
                state.unwritten.removeFirst(count)
            }
            if state.isInputClosed, !state.isReaped {
                state.isInputClosed = false
                // The descriptor itself is closed at the end, so that its number stays its own.
                if let null = FileHandle(forWritingAtPath: "/dev/null") { dup2(null.fileDescriptor, input) }
            }
            return false
        }
    }

    /// SIGTERM for all of the group, so that a shell around the program does not hold it up.
    func terminate() { kill(-id, SIGTERM) }

    /// Ends the whole group. To be called once, when nothing is written any more.
    ///
    /// - Throws: `SpawnError` if it runs as somebody whose processes are not ours to end.
    func end() throws {
        let isForbidden = kill(-id, SIGKILL) != 0 && errno == EPERM
        var status: Int32 = 0
        // Who is not killed may never end.
        let isAlive = waitpid(id, &status, isForbidden ? WNOHANG : 0) == 0
        state.withLock { $0.isReaped = true }
        Self.running.withLock { $0[id] = nil }
        close(input)
        guard isAlive else { return }
        throw SpawnError(
            description: "\(name) runs as another user: process \(id) cannot be ended, and goes on. Run this as that user")
    }

    /// Ends all, and this process, which has to: none begins in between.
    static func endAll(exiting code: Int32) -> Never {
        running.withLock { running in
            for (id, folder) in running {
                kill(-id, SIGKILL)
                // What cannot be removed is left to the system.
                try? FileManager.default.removeItem(atPath: folder)
            }
            exit(code)
        }
    }

    private func post(_ news: News) {
        state.withLock { $0.news.append(news) }
        wakeup.signal()
    }

    private func read(_ output: Int32) {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var lines = PrintedLines(limit: Self.longestLine)
        while true {
            let count = retrying { Foundation.read(output, &buffer, buffer.count) }
            guard count > 0 else { break }
            for line in lines.take(buffer.prefix(count)) { post(.line(line)) }
        }
        if let line = lines.end() { post(.line(line)) }
        close(output)
        post(.outputClosed)
    }

    /// Leaves it to be reaped, so that its number stays that of its group until that has ended.
    private func waitForEnd() {
        var info = siginfo_t()
        guard retrying({ waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) }) == 0 else { return }
        #if canImport(Darwin)
        let status = info.si_status
        #else
        let status = info._sifields._sigchld.si_status
        #endif
        post(.ended(Int(info.si_code) == Int(CLD_EXITED) ? status : -status))
    }
}

/// A command that cannot be started, or not be ended.
struct SpawnError: Error, CustomStringConvertible {
    let description: String
}

/// Neither end is for other children.
private func makePipe() throws -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw SpawnError(description: "no pipe: \(String(cString: strerror(errno)))") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

private func spawn(
    _ command: [String], _ variables: [String: String], input: Int32, output: Int32, errors: String
) throws -> pid_t {
    #if canImport(Darwin)
    var actions: posix_spawn_file_actions_t?
    var attributes: posix_spawnattr_t?
    #else
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, input, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    posix_spawnattr_setpgroup(&attributes, 0)
    // This process ignores signals, and its threads block some, which a child would inherit.
    var none = sigset_t()
    var all = sigset_t()
    sigemptyset(&none)
    sigfillset(&all)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setsigdefault(&attributes, &all)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var list: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
    var environment: [UnsafeMutablePointer<CChar>?] = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in list + environment { free(text) } }
    var id: pid_t = 0
    let error = posix_spawnp(&id, command[0], &actions, &attributes, &list, &environment)
    guard error == 0 else { throw SpawnError(description: "cannot start \(command[0]): \(String(cString: strerror(error)))") }
    return id
}
