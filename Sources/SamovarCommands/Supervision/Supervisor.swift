import Foundation
package import Logging
import SamovarCore
import SamovarHost
import SamovarText
package import Subprocess
import Synchronization

#if canImport(System)
import System
#else
import SystemPackage
#endif

/// Keeps stores and their workers running, with a shadow and a page where they are wanted, and ends them in order.
///
/// Each child has a process group of its own, so a Ctrl-C on the terminal reaches only the supervisor, and a lifeline: its
/// standard input, whose end tells it to drain, however the supervisor died. A child that ends is started again at once; only
/// starts that did no work are spaced out.
///
/// SIGPIPE has to be ignored: a child may end while something is written to its lifeline.
package final class Supervisor: Sendable {
    /// Stores come before workers.
    package enum Role: Hashable, Comparable, Sendable {
        case store(Int)
        case worker(Int)
        case shadow
        case page

        package var isStore: Bool { if case .store = self { true } else { false } }

        package var name: String {
            switch self {
            case .store(0): "store"
            case .store(let number): "store \(number + 1)"
            case .worker(let number): "worker \(number + 1)"
            case .shadow: "shadow"
            case .page: "page"
            }
        }
    }

    private struct Child {
        let lifeline: StandardInputWriter
        let process: Int32
        /// Lines for its lifeline. Nobody waits for a child that does not read: the oldest ones are dropped then.
        let news: AsyncStream<String>.Continuation
    }

    private struct State {
        var running: [Role: Child] = [:]
        var isEndingWorkers = false
        var isEndingStores = false
        /// Stores that ended with what another start cannot mend.
        var finished: Set<Role> = []
        /// Workers that have ended, newest last, for stores that start later.
        var gone: [String] = []
    }

    /// Of each child, but for the id of a worker.
    private let arguments: [Role: [String]]
    private let executable: Executable
    /// A mistake in its settings ends the first start of a child sooner, also on a busy machine.
    private let earlyLife: Duration
    private let logger: Logger
    private let state = Mutex(State())

    private static let goneLimit = 256
    /// A child that is told to drain ends within 5 s by itself, and is ended after these.
    private static let drainLimit = Duration.seconds(7)
    /// A start that lived so long did some work.
    private static let usefulLife = Duration.seconds(1)
    private static let longestPause = Duration.seconds(5)

    package init(
        _ arguments: [Role: [String]], executable: Executable, earlyLife: Duration = .seconds(10), logger: Logger
    ) {
        (self.arguments, self.executable, self.earlyLife, self.logger) = (arguments, executable, earlyLife, logger)
    }

    /// Runs until `end` was called and all children have ended; throws if no store can run, or a worker finds a mistake in its settings
    /// when it is first started.
    package func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for role in arguments.keys.sorted() { group.addTask { try await self.keepRunning(role) } }
            do {
                // Not `waitForAll`, which would wait for the workers before it tells of the store's failure.
                while try await group.next() != nil {}
            } catch {
                killAll()
                throw error
            }
        }
    }

    /// Lets workers finish what they run and give the rest back, then stops the stores.
    package func end() async {
        let workers = state.withLock { state in
            state.isEndingWorkers = true
            return state.running.filter { !$0.key.isStore }
        }
        await finish(workers.values.map(\.lifeline))
        await waitUntil(Self.drainLimit) { !$0.running.keys.contains { !$0.isStore } }
        kill { !$0.isStore }
        let stores = state.withLock { state in
            state.isEndingStores = true
            return state.running.values.map(\.lifeline)
        }
        await finish(stores)
        await waitUntil(Self.drainLimit) { $0.running.isEmpty }
        killAll()
    }

    /// Ends every child without any further ado: all is safe on disk.
    package func killAll() {
        state.withLock { ($0.isEndingWorkers, $0.isEndingStores) = (true, true) }
        kill { _ in true }
    }

    private func kill(where isMeant: (Role) -> Bool) {
        let processes = state.withLock { $0.running.filter { isMeant($0.key) }.map(\.value.process) }
        for process in processes { _ = killGroup(process) }
    }

    /// Tells the stores to read their keys again.
    package func hangUp() {
        for process in state.withLock({ $0.running.filter(\.key.isStore).map(\.value.process) }) {
            _ = Foundation.kill(process, SIGHUP)
        }
    }

    package var children: [(role: Role, process: Int32)] {
        state.withLock { $0.running.map { ($0.key, $0.value.process) } }.sorted { $0.0 < $1.0 }
    }

    /// Ends one child as an accident would; it is started again. False if it does not run at present.
    package func kill(_ role: Role) -> Bool {
        state.withLock { $0.running[role].map { killGroup($0.process) } ?? false }
    }

    private func finish(_ lifelines: [StandardInputWriter]) async {
        for lifeline in lifelines {
            do {
                try await lifeline.finish()
            } catch {
                // The child has ended meanwhile, which is what this is for.
                logger.debug("a lifeline was closed already: \(error)")
            }
        }
    }

    private func waitUntil(_ limit: Duration, _ condition: (borrowing State) -> Bool) async {
        let end = ContinuousClock.now + limit
        while ContinuousClock.now < end, !state.withLock({ condition($0) }) {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
    }

    // MARK: One child

    private func keepRunning(_ role: Role) async throws {
        var pause = Duration.zero
        var isFirst = true
        while !isEnding(role) {
            let started = ContinuousClock.now
            var status: TerminationStatus?
            do {
                status = try await runOnce(role)
            } catch let error where !Task.isCancelled {
                guard !isFirst else {
                    throw CommandFailure(.inputOutput, "the \(role.name) could not be started: \(escapeForTerminal("\(error)"))")
                }
                // The executable may just be replaced, or the system have no room for another process.
                logger.error("\(role.name) could not be started, and is tried again: \(error)")
            }
            guard !isEnding(role) else { return }
            // A store that had folder and port before waits for whatever has one by now, such as a command that reads a long journal.
            let isEarly = isFirst && ContinuousClock.now - started < earlyLife
            let isInUse = role.isStore && !isEarly && status == .exited(CommandFailure.Code.tryLater.rawValue)
            let isWaitedFor = isFirstOfSeveral(role) && !isEarly && Self.isMistake(status)
            // A port that is taken stays so. What ends a page later is mended by another start.
            let isTaken = role == .page && isEarly && status == .exited(CommandFailure.Code.unavailable.rawValue)
            let isForbidden = role.isStore && isFirst && status == .exited(CommandFailure.Code.noPermission.rawValue)
            if !isInUse, !isWaitedFor, case .exited(let code) = status,
                isTaken || isForbidden || Self.finalCodes(of: role, isEarly: isEarly).contains(code),
                let failure = CommandFailure.Code(rawValue: code)
            {
                switch role {
                case .shadow: return tellOfShadow(failure)
                case .page: return logger.error("the page cannot run; see its message above. The store goes on")
                case .store:
                    // A mistake in the settings, which all of them have, shows early. What ends a store later may be its own.
                    let isMistake = isEarly && failure != .badData && failure != .internal
                    guard isMistake || noteEnd(of: role) else {
                        return logger.error("\(role.name) cannot run; see its message above. Another one goes on")
                    }
                case .worker: break
                }
                throw CommandFailure(failure, "the \(role.name) cannot run; see its message above")
            }
            let isPatient = isWaitedFor || isInUse && isFirst
            isFirst = false
            if let status { logger.warning("\(role.name) ended (\(status.words)); starting it again") }
            if ContinuousClock.now - started >= Self.usefulLife { pause = .zero }
            // It may have replayed all of the journal before.
            if isPatient { pause = Self.longestPause }
            if pause > .zero { try await Task.sleep(for: pause) }
            pause = min(max(pause * 2, .milliseconds(100)), Self.longestPause)
        }
    }

    /// Exit codes that a restart cannot mend.
    private static func finalCodes(of role: Role, isEarly: Bool) -> Set<Int32> {
        guard case .worker = role else { return [64, 65, 70, 75, 78] }
        // What a handler calls may end its worker with any code, at any time.
        return isEarly ? [64, 78] : []
    }

    /// The others wait for a journal that only the first store may begin, and it may be where the database was long away that a mistake
    /// shows late.
    private func isFirstOfSeveral(_ role: Role) -> Bool {
        role == .store(0)
            && state.withLock { state in arguments.keys.contains { $0.isStore && $0 != role && !state.finished.contains($0) } }
    }

    private static func isMistake(_ status: TerminationStatus?) -> Bool {
        [CommandFailure.Code.usage, .noPermission, .configuration].contains { status == .exited($0.rawValue) }
    }

    /// A store has ended for good.
    ///
    /// - Returns: whether it was the last one.
    private func noteEnd(of role: Role) -> Bool {
        state.withLock { state in
            state.finished.insert(role)
            return state.finished.count == arguments.keys.count { $0.isStore }
        }
    }

    /// Nobody needs it to serve. Another one would come to the same end.
    private func tellOfShadow(_ failure: CommandFailure.Code) {
        let what = failure == .badData ? "has found a difference" : "cannot run"
        logger.error("the shadow \(what); see its message above. The store goes on, and nothing is compared any more")
    }

    private func isEnding(_ role: Role) -> Bool {
        state.withLock { role.isStore ? $0.isEndingStores : $0.isEndingWorkers }
    }

    private func runOnce(_ role: Role) async throws -> TerminationStatus {
        var options = PlatformOptions()
        options.processGroupID = 0
        let id = WorkerID.random()
        var arguments = self.arguments[role] ?? []
        if case .worker = role { arguments += ["--id", "\(id)"] }
        defer { state.withLock { $0.running[role] = nil } }
        let result = try await Subprocess.run(
            executable, arguments: Arguments(arguments), platformOptions: options, input: .inputWriter,
            output: .sequence, error: .currentStandardError
        ) { execution in
            let process = execution.processIdentifier.value
            // The child has ended, or is killed, and is reaped only behind this closure: until then, no other group has its number.
            defer { _ = killGroup(process) }
            let lifeline = execution.standardInputWriter
            let (news, continuation) = AsyncStream<String>.makeStream(bufferingPolicy: .bufferingNewest(Self.goneLimit))
            let child = Child(lifeline: lifeline, process: process, news: continuation)
            let isTooLate = self.register(role, child)
            if isTooLate { await self.finish([lifeline]) }
            // Beside the rest, since it waits as long as the pipe is full. It is cancelled with the end of the child.
            async let _: Void = self.write(news, to: lifeline)
            // What a program prints is for a person: standard output of `up` is data.
            var printed = PrintedLines()
            var isLast = false
            for try await bytes in execution.standardOutput {
                for line in bytes.withUnsafeBytes({ printed.take($0) }) {
                    await printErrorWhenThereIsRoom("\(role.name): \(line)")
                }
                if isLast { break }
                // What it has printed before its end is in the pipe, and is read at once. What it has started may print for ever.
                isLast = hasEnded(process)
            }
            if let line = printed.end() { await printErrorWhenThereIsRoom("\(role.name): \(line)") }
            // A child may close its standard output and go on: the end of this closure is that of its lifeline.
            try await waitForEnd(of: process)
        }
        if case .worker = role { reportGone("\(id) \(result.terminationStatus.words)") }
        return result.terminationStatus
    }

    private func register(_ role: Role, _ child: Child) -> Bool {
        state.withLock { state in
            state.running[role] = child
            guard role.isStore else { return state.isEndingWorkers }
            for line in state.gone { child.news.yield(line) }
            return state.isEndingStores
        }
    }

    // MARK: News for the stores

    /// Tells the stores that a worker has ended, so that none has to wait for its silence.
    private func reportGone(_ line: String) {
        state.withLock { state in
            // A worker that we end gives its jobs back itself; its end is no evidence against what it ran.
            guard !state.isEndingWorkers else { return }
            state.gone.append(line)
            if state.gone.count > Self.goneLimit { state.gone.removeFirst() }
            for (role, child) in state.running where role.isStore { child.news.yield(line) }
        }
    }

    private func write(_ news: AsyncStream<String>, to store: StandardInputWriter) async {
        do {
            for await line in news { _ = try await store.write(Array("gone \(line)\n".utf8)) }
        } catch {
            // The store has ended; the next one is told from the list.
            logger.debug("the store's lifeline is closed: \(error)")
        }
    }
}

/// Looks again and again, at once after the first time: the standard output of a child ends a moment before it.
private func waitForEnd(of process: Int32) async throws {
    var pause = Duration.milliseconds(1)
    while !hasEnded(process) {
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(100))
    }
}

/// Whether a child has ended. It is left to be reaped.
private func hasEnded(_ process: Int32) -> Bool {
    var info = siginfo_t()
    // A child that cannot be waited for is none any more.
    return retrying { waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) } != 0 || info.si_signo != 0
}

/// Each child leads a process group, so what it has started ends with it.
private func killGroup(_ process: Int32) -> Bool {
    kill(-process, SIGKILL) == 0
}

extension Executable {
    /// This one, to run it as a child.
    package static var own: Executable { get throws { .path(FilePath(try ownExecutable())) } }
}

extension TerminationStatus {
    package var words: String {
        switch self {
        case .exited(let code): "exit code \(code)"
        case .signaled(let signal): "signal \(signal)"
        }
    }
}
