import Foundation
import Logging
import ProcessSupport
import SamovarText
import Subprocess
import Synchronization
import Testing

#if canImport(System)
import System
#else
import SystemPackage
#endif

@testable import SamovarCommands

/// What the ends of stores and workers mean for the others. Shells stand for both.
struct SupervisorTests {
    /// Ends with its lifeline, as a store does.
    private static let serving = "cat > /dev/null"

    /// As every command does: what is written to a child that has just ended is an error, and not the end of all tests.
    init() { signal(SIGPIPE, SIG_IGN) }

    private func supervisor(
        _ stores: String..., worker: String? = nil, executable: Subprocess.Executable = .name("sh"),
        earlyLife: Duration = .seconds(10), log: LogText = LogText()
    ) -> Supervisor {
        var arguments: [Supervisor.Role: [String]] = [:]
        for (number, store) in stores.enumerated() { arguments[.store(number)] = ["-c", store] }
        arguments[.worker(0)] = worker.map { ["-c", $0] }
        let logger = Logger(label: "test") { StreamLogHandler(label: $0, stream: log) }
        return Supervisor(arguments, executable: executable, earlyLife: earlyLife, logger: logger)
    }

    @Test(arguments: [65, 70]) func `A store that ends for good leaves the other one alone`(_ code: Int32) async throws {
        try await expectOtherGoesOn(after: code, earlyLife: .seconds(10))
    }

    @Test(arguments: [64, 78]) func `What ends the first start of a store late is no mistake, and leaves the other one alone`(
        _ code: Int32
    ) async throws {
        try await expectOtherGoesOn(after: code, earlyLife: .zero)
    }

    @Test(arguments: [64, 77, 78]) func `The first store, which alone may begin a journal, is started again whatever ends it late`(
        _ code: Int32
    ) async throws {
        let scratch = try Scratch()
        let starts = scratch.folder("starts")
        let supervisor = supervisor("echo start >> \(starts); exit \(code)", Self.serving, earlyLife: .zero)
        async let end: Void = supervisor.run()
        try await eventually("it is started again") {
            FileManager.default.contents(atPath: starts)?.starts(with: Data("start\nstart\n".utf8)) == true
        }
        #expect(supervisor.children.contains { $0.role == .store(1) }, "and the other one goes on")
        await supervisor.end()
        try await end
    }

    /// A store that ends so when both run is not started again, and the other one serves.
    private func expectOtherGoesOn(after code: Int32, earlyLife: Duration) async throws {
        let scratch = try Scratch()
        let sign = scratch.folder("sign")
        let supervisor = supervisor(
            Self.serving, "while [ ! -e \(sign) ]; do sleep 0.01; done; exit \(code)", earlyLife: earlyLife)
        async let end: Void = supervisor.run()
        try await eventually("both run") { supervisor.children.map(\.role) == [.store(0), .store(1)] }
        try scratch.write("", to: "sign")
        try await eventually("one runs") { supervisor.children.map(\.role) == [.store(0)] }
        await supervisor.end()
        try await end
    }

    @Test func `Where no store can run, the whole ends as the last one did`() async throws {
        let error = await #expect(throws: CommandFailure.self) { try await supervisor("exit 65", "exit 65").run() }
        #expect(error?.code == .badData)
    }

    @Test func `A mistake in the settings, which all stores have, ends the whole`() async throws {
        let error = await #expect(throws: CommandFailure.self) { try await supervisor(Self.serving, "exit 78").run() }
        #expect(error?.code == .configuration)
    }

    @Test(arguments: [64, 78]) func `A mistake in the settings of a worker ends the whole`(_ code: Int32) async throws {
        let error = await #expect(throws: CommandFailure.self) {
            try await supervisor(Self.serving, worker: "exit \(code)").run()
        }
        #expect(error?.code.rawValue == code)
    }

    @Test(arguments: [65, 70, 75]) func `A worker may end with any code that is none of its settings, at once as well`(
        _ code: Int32
    ) async throws {
        try await expectRestarts("exit \(code)")
    }

    @Test(arguments: [64, 78]) func `A worker that was started again may end with any code`(_ code: Int32) async throws {
        try await expectRestarts("[ $(grep -c start $starts) -gt 1 ] && exit \(code); exit 1")
    }

    /// A worker that ends so is started again, and the store goes on.
    ///
    /// - Parameter end: in it, `$starts` is a file with a line for each start.
    private func expectRestarts(_ end: String) async throws {
        let scratch = try Scratch()
        let (starts, begun) = (scratch.folder("starts"), scratch.folder("begun"))
        let supervisor = supervisor(
            "echo start >> \(begun); \(Self.serving)", worker: "starts=\(starts); echo start >> $starts; \(end)")
        async let whole: Void = supervisor.run()
        try await eventually("the worker is started three times") {
            FileManager.default.contents(atPath: starts)?.starts(with: Data("start\nstart\nstart\n".utf8)) == true
        }
        try await eventually("the store is started once") { FileManager.default.contents(atPath: begun) == Data("start\n".utf8) }
        await supervisor.end()
        try await whole
    }

    @Test func `A child that closes its standard output goes on`() async throws {
        let scratch = try Scratch()
        let (begun, sign, starts) = (scratch.folder("begun"), scratch.folder("sign"), scratch.folder("starts"))
        // The worker is the clock: its third start comes some tenths of a second after the sign.
        let supervisor = supervisor(
            "echo start >> \(begun); exec > /dev/null; echo > \(sign); \(Self.serving)",
            worker: "while [ ! -e \(sign) ]; do sleep 0.01; done; echo start >> \(starts); exit 1")
        async let end: Void = supervisor.run()
        try await eventually("the worker is started three times") {
            FileManager.default.contents(atPath: starts)?.starts(with: Data("start\nstart\nstart\n".utf8)) == true
        }
        #expect(FileManager.default.contents(atPath: begun) == Data("start\n".utf8))
        #expect(supervisor.children.contains { $0.role == .store(0) })
        await supervisor.end()
        try await end
    }

    /// A store that ends with 1, and then with this code, is started a third time.
    ///
    /// - Parameter first: in place of 1.
    private func requireTriedAgain(after code: Int, first: Int = 1, earlyLife: Duration = .seconds(10)) async throws {
        let scratch = try Scratch()
        let starts = scratch.folder("starts")
        let supervisor = supervisor(
            "echo start >> \(starts); case $(grep -c start \(starts)) in 1) exit \(first);; 2) exit \(code);; *) \(Self.serving);; esac",
            earlyLife: earlyLife)
        async let end: Void = supervisor.run()
        try await eventually("it is started a third time") {
            FileManager.default.contents(atPath: starts) == Data("start\nstart\nstart\n".utf8)
        }
        await supervisor.end()
        try await end
    }

    @Test func `A store that finds its folder in use when it is started again is tried until it serves`() async throws {
        try await requireTriedAgain(after: 75)
    }

    @Test func `A store that finds its folder in use late in its first start is tried until it serves`() async throws {
        try await requireTriedAgain(after: 75, first: 75, earlyLife: .zero)
    }

    @Test func `A folder that is in use at the first start ends the whole`() async throws {
        let error = await #expect(throws: CommandFailure.self) { try await supervisor("exit 75").run() }
        #expect(error?.code == .tryLater)
    }

    @Test func `A folder that a store may not have ends the whole at the first start, and none behind it`() async throws {
        let error = await #expect(throws: CommandFailure.self) { try await self.supervisor("exit 77").run() }
        #expect(error?.code == .noPermission)
        try await requireTriedAgain(after: 77)
    }

    @Test func `A store that starts later is told which workers have ended`() async throws {
        let scratch = try Scratch()
        let sign = scratch.folder("sign")
        let news = scratch.folder("news")
        // The first store has its successor started once it was told itself.
        let store = "read word id code; [ -e \(sign) ] && echo \"$word $code\" > \(news) && \(Self.serving); echo > \(sign); exit 1"
        let supervisor = supervisor(store, worker: "[ -e \(sign) ] && \(Self.serving); exit 3")
        async let end: Void = supervisor.run()
        try await eventually("the second store is told") {
            FileManager.default.contents(atPath: news) == Data("gone exit code 3\n".utf8)
        }
        await supervisor.end()
        try await end
    }

    @Test func `An executable that is away when a store ends is tried until it is back`() async throws {
        let scratch = try Scratch()
        let (tool, starts) = (scratch.folder("tool"), scratch.folder("starts"))
        try FileManager.default.createSymbolicLink(atPath: tool, withDestinationPath: "/bin/sh")
        let log = LogText()
        let store = "echo start >> \(starts); [ $(grep -c start \(starts)) -gt 1 ] && \(Self.serving); rm \(tool); exit 1"
        let supervisor = supervisor(store, executable: .path(FilePath(tool)), log: log)
        async let end: Void = supervisor.run()
        try await eventually("it cannot be started: \(log.text)") { log.text.contains("could not be started") }
        try FileManager.default.createSymbolicLink(atPath: tool, withDestinationPath: "/bin/sh")
        try await eventually("it is started again") {
            FileManager.default.contents(atPath: starts) == Data("start\nstart\n".utf8)
        }
        await supervisor.end()
        try await end
    }

    @Test func `An executable that is not there at the start ends the whole, which says so`() async throws {
        let scratch = try Scratch()
        let supervisor = supervisor(Self.serving, executable: .path(FilePath(scratch.folder("tool"))))
        let error = await #expect(throws: CommandFailure.self) { try await supervisor.run() }
        #expect(error?.code == .inputOutput)
        #expect(error?.description.hasPrefix("the store could not be started: ") == true)
    }

    #if os(Linux)
    @Test func `What a worker has started ends with it, whether it died or was told to end`() async throws {
        let scratch = try Scratch()
        let file = scratch.folder("started")
        // It has the worker's standard output, and would keep that open.
        let supervisor = supervisor(
            Self.serving,
            worker: "sleep 600 & echo $! >> \(file); [ $(grep -c . \(file)) -gt 1 ] || exit 1; \(Self.serving)")
        func started() -> [Int32] {
            String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
                .split(separator: "\n").compactMap { Int32($0) }
        }
        async let end: Void = supervisor.run()
        try await eventually("a second worker runs") { started().count == 2 }
        try await eventually("what the first one has started has ended") { ProcessTable.entry(started()[0]) == nil }
        #expect(ProcessTable.entry(started()[1]) != nil)
        await supervisor.end()
        try await end
        try await eventually("what the second one has started has ended") { ProcessTable.entry(started()[1]) == nil }
    }

    @Test func `A store that does not read its lifeline keeps no worker from being started again`() async throws {
        let scratch = try Scratch()
        let sign = scratch.folder("sign")
        let starts = scratch.folder("starts")
        let supervisor = supervisor(
            "exec sleep 600", worker: "echo start >> \(starts); while [ ! -e \(sign) ]; do sleep 0.01; done; exit 1")
        async let end: Void = supervisor.run()
        let store = try await eventually("both run") {
            supervisor.children.map(\.role) == [.store(0), .worker(0)] ? supervisor.children.first?.process : nil
        }
        try fillInput(of: store)
        try scratch.write("", to: "sign")
        try await eventually("the worker is started twice more") {
            FileManager.default.contents(atPath: starts)?.starts(with: Data("start\nstart\nstart\n".utf8)) == true
        }
        supervisor.killAll()
        try await end
    }

    /// Leaves no room in the pipe that is its standard input.
    private func fillInput(of process: Int32) throws {
        let pipe = open("/proc/\(process)/fd/0", O_WRONLY | O_NONBLOCK)
        try #require(pipe >= 0)
        defer { close(pipe) }
        let bytes = [UInt8](repeating: 0, count: 4_096)
        while write(pipe, bytes, bytes.count) > 0 {}
        #expect(errno == EAGAIN)
    }
    #endif
}

/// Keeps what is logged.
private final class LogText: TextOutputStream, Sendable {
    private let lines = Mutex("")

    var text: String { lines.withLock { $0 } }

    func write(_ text: String) { lines.withLock { $0 += text } }
}
