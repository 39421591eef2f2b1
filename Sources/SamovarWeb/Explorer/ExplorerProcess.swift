import Foundation
import Logging
import MessagePack
import SamovarCommands
import SamovarCore
import SamovarHost
import SamovarText
import Subprocess
import Synchronization

/// The page's server's side of the explorer: starts it when somebody asks, asks it one thing after the other, ends it when it does not come on, and
/// starts another one.
final class ExplorerProcess: Sendable {
    private struct Job {
        let line: String
        let continuation: CheckedContinuation<String, Never>
        /// How many explorers have died while they had it.
        var deaths = 0
    }

    private struct Contents {
        var waiting: [Job] = []
        var current: Job?
        /// When it was sent.
        var since = ContinuousClock.now
        var bell: AsyncStream<Void>.Continuation?
        var process: Int32?
        /// Turns of this timeline that no explorer of this executable has come through, and how it ended.
        var blocked: [Int: String] = [:]
        /// Of the newest explorer.
        var executable: ExecutableFile?
        var timeline: String?
        /// Why it was ended.
        var reason: String?
        var isClosed = false
    }

    /// What waits for an answer: more are no person's.
    private static let jobs = 64
    /// A turn that takes longer does not end.
    private static let turnTime = Duration.seconds(10)
    /// Whatever else takes longer has gone wrong.
    private static let answerTime = Duration.seconds(120)
    private static let usefulLife = Duration.seconds(1)
    private static let longestPause = Duration.seconds(5)
    private static let deaths = 3
    private static let blockedTurns = 100
    private static let closing = "the page's server ends"

    private let arguments: [String]
    private let logger: Logger
    private let folder: String
    private let mark: ExplorerMark
    private let contents = Mutex(Contents())

    /// - Parameter arguments: of the own executable.
    init(_ arguments: [String], logger: Logger) throws(CommandFailure) {
        (self.arguments, self.logger) = (arguments, logger)
        folder = FileManager.default.temporaryDirectory.appending(path: "samovar-explore-\(UUID().uuidString)").path
        mark = try ExplorerMark.shared(in: folder) {
            logger.warning("\($0): no state is kept, and a turn that ends the explorer is not known by its number")
        }
    }

    /// The answer in JSON, or why there is none.
    ///
    /// - Parameter timeline: that the store has, if it is known.
    func ask(_ request: MessagePackValue, timeline: String?) async -> String {
        await withCheckedContinuation { continuation in
            let refusal = contents.withLock { contents -> String? in
                guard !contents.isClosed else { return Self.closing }
                guard contents.waiting.count < Self.jobs else { return "too much is asked at once" }
                if let timeline, contents.timeline != timeline { begin(timeline, &contents) }
                contents.waiting.append(Job(line: JSONTranscoder.text(of: request), continuation: continuation))
                contents.bell?.yield()
                return nil
            }
            if let refusal { continuation.resume(returning: Self.problem(refusal)) }
        }
    }

    /// Turns of another timeline have nothing to do with those of this one.
    private func begin(_ timeline: String, _ contents: inout Contents) {
        contents.timeline = timeline
        guard !contents.blocked.isEmpty else { return }
        contents.blocked = [:]
        if let process = contents.process { _ = kill(-process, SIGKILL) }
    }

    private static func problem(_ text: String) -> String { JSONTranscoder.text(of: ["problem": .string(text)]) }

    /// Until the task is cancelled.
    func run() async {
        var pause = Duration.zero
        while !Task.isCancelled {
            for await _ in bell() { break }
            if Task.isCancelled { break }
            let started = ContinuousClock.now
            await runOnce()
            if ContinuousClock.now - started >= Self.usefulLife { pause = .zero }
            // Ends early with the task.
            try? await Task.sleep(for: pause)
            pause = min(max(pause * 2, .milliseconds(100)), Self.longestPause)
        }
        let left = contents.withLock { contents in
            contents.isClosed = true
            defer { contents.waiting = [] }
            return contents.waiting
        }
        for job in left { job.continuation.resume(returning: Self.problem(Self.closing)) }
        // What cannot be removed is in the folder for temporary files.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Rings when there may be something to ask.
    private func bell() -> AsyncStream<Void> {
        let (bell, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        contents.withLock { contents in
            contents.bell = continuation
            if !contents.waiting.isEmpty { continuation.yield() }
        }
        return bell
    }

    // MARK: One process

    private var environment: Environment {
        .inherit.updating([
            // Copies go where they are removed, whatever ends the explorer.
            "TMPDIR": folder,
            // What is large goes back to the system as soon as it is free, so that a state leaves nothing behind.
            "MALLOC_MMAP_THRESHOLD_": "1048576",
        ])
    }

    private func runOnce() async {
        var options = PlatformOptions()
        options.processGroupID = 0
        // One that cannot be found is not started either, and says nothing of the next.
        let executable = (try? ownExecutable()).flatMap { ExecutableFile(at: $0) }
        let blocked = contents.withLock { contents in
            contents.reason = nil
            // Another build may come through what ended the former.
            if let executable, executable != contents.executable { (contents.executable, contents.blocked) = (executable, [:]) }
            return contents.blocked.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        }
        let arguments = arguments + ["--folder", folder] + (blocked.isEmpty ? [] : ["--blocked"] + blocked)
        mark.leave()
        do {
            let result = try await Subprocess.run(
                .own, arguments: Arguments(arguments),
                environment: environment, platformOptions: options, input: .inputWriter, output: .sequence,
                error: .currentStandardError
            ) { execution in
                let process = execution.processIdentifier.value
                self.contents.withLock { $0.process = process }
                await withTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for await _ in self.bell() { await self.send(to: execution.standardInputWriter) }
                    }
                    group.addTask { await self.watch(process) }
                    do {
                        var lines = AnswerLines()
                        for try await bytes in execution.standardOutput {
                            for line in try bytes.withUnsafeBytes({ try lines.take($0) }) { self.take(line) }
                        }
                    } catch {
                        self.end(process, "\(error)")
                    }
                    group.cancelAll()
                }
                self.contents.withLock { $0.process = nil }
                // Where the server ends, it may be in the program's code.
                _ = kill(-process, SIGKILL)
            }
            died(result.terminationStatus)
        } catch {
            contents.withLock { $0.reason = $0.reason ?? "\(error)" }
            died(nil)
        }
    }

    private func send(to writer: StandardInputWriter) async {
        let line = contents.withLock { contents -> String? in
            guard contents.current == nil, !contents.waiting.isEmpty else { return nil }
            let job = contents.waiting.removeFirst()
            (contents.current, contents.since) = (job, .now)
            return job.line
        }
        guard let line else { return }
        do {
            _ = try await writer.write(Array((line + "\n").utf8))
        } catch {
            // It has ended, which is seen at its output; the job is still its own.
            logger.debug("the explorer hears nothing any more: \(error)")
        }
    }

    private func take(_ line: String) {
        let job = contents.withLock { contents in
            defer {
                contents.current = nil
                if !contents.waiting.isEmpty { contents.bell?.yield() }
            }
            return contents.current
        }
        job?.continuation.resume(returning: line)
    }

    /// Ends it when the program's code stays in one turn, or it does not answer.
    private func watch(_ process: Int32) async {
        var (seen, since) = (mark.reading, ContinuousClock.now)
        while !Task.isCancelled {
            // Ends early with the task.
            try? await Task.sleep(for: .milliseconds(250))
            let (reading, now) = (mark.reading, ContinuousClock.now)
            if reading != seen { (seen, since) = (reading, now) }
            if reading.isInProgram, now - since >= Self.turnTime {
                block(reading.turn, "its replay did not end")
                return end(process, "turn \(reading.turn) did not end")
            }
            let isLate = contents.withLock { $0.current != nil && now - max($0.since, since) >= Self.answerTime }
            if isLate { return end(process, "no answer came") }
        }
    }

    private func end(_ process: Int32, _ reason: String) {
        contents.withLock { $0.reason = $0.reason ?? reason }
        _ = kill(-process, SIGKILL)
    }

    private func block(_ turn: Int, _ how: String) {
        contents.withLock { contents in
            if contents.blocked.count < Self.blockedTurns { contents.blocked[turn] = how }
        }
    }

    /// What was asked is asked again: the next one knows what ended this one. Where none could be started, all who wait are told.
    ///
    /// - Parameter status: nil if it is not known, or there was none.
    private func died(_ status: TerminationStatus?) {
        let reading = mark.reading
        if let how = status?.programsEnd, reading.isInProgram { block(reading.turn, "its replay \(how)") }
        guard !Task.isCancelled else { return take(Self.problem(Self.closing)) }
        let (lost, text) = contents.withLock { contents -> ([Job], String) in
            let reason = contents.reason ?? status.map { "it ended (\($0))" } ?? "for no known reason"
            guard var job = contents.current else {
                guard status == nil else { return ([], "the explorer has ended: \(reason)") }
                // None of them has ended one, and nobody knows when there will be one: whoever wants to asks again.
                defer { contents.waiting = [] }
                return (contents.waiting, "the explorer cannot be started: \(reason)")
            }
            contents.current = nil
            job.deaths += 1
            guard job.deaths < Self.deaths else { return ([job], "the explorer has ended, \(Self.deaths) times: \(reason)") }
            contents.waiting.insert(job, at: 0)
            return ([], "the explorer has ended: \(reason)")
        }
        logger.warning("\(text)")
        for job in lost { job.continuation.resume(returning: Self.problem(text)) }
    }
}

extension TerminationStatus {
    /// How the program has ended its process, if it was that which did.
    fileprivate var programsEnd: String? {
        switch self {
        case .exited(let code): "ended the process with exit code \(code)"
        case .signaled(SIGKILL), .signaled(SIGTERM), .signaled(SIGINT), .signaled(SIGHUP): nil
        case .signaled(let signal): "trapped (signal \(signal))"
        }
    }
}

/// Lines of an explorer, as far as they have come.
struct AnswerLines {
    private var rest: [UInt8] = []

    mutating func take(_ bytes: UnsafeRawBufferPointer) throws(CommandFailure) -> [String] {
        rest.append(contentsOf: bytes)
        guard let end = rest.lastIndex(of: 0x0A) else {
            guard rest.count <= ExplorerAnswers.maximumBytes else { throw CommandFailure(.unavailable, "its answer is too long") }
            return []
        }
        let lines = rest[..<end].split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
        rest.removeSubrange(...end)
        return lines
    }
}
