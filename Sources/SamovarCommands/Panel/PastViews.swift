import Foundation
import SamovarCore
import SamovarHost
import SamovarText
import Subprocess
import Synchronization

/// Tells a monitor what the view was, by a child of the same executable: an `update` that traps, or never returns, ends the child and not the monitor.
///
/// The child is `replay --serve`; see ``PastServing``.
struct PastViews: Sendable {
    enum Answer: Equatable, Sendable {
        case view(timeline: String, turn: Int, time: String, bytes: [UInt8])
        case failed(String)
    }

    /// How long an answer may take: the first one reads the journal.
    private static let patience = Duration.seconds(10)
    /// Bytes of one answer.
    private static let maximumAnswer = 128 << 20

    /// Behind `replay --serve`.
    let arguments: [String]

    /// Answers turn after turn, until there are no more. A child that has died is followed by another one.
    func serve(_ turns: AsyncStream<Int>, _ answer: @escaping @Sendable (Answer) -> Void) async {
        for await turn in turns {
            do {
                try await runChild(asking: turn, turns, answer)
            } catch {
                answer(.failed("the past cannot be read: \(error)"))
            }
        }
    }

    /// One child, from its first question to its end.
    private func runChild(
        asking first: Int, _ turns: AsyncStream<Int>, _ answer: @escaping @Sendable (Answer) -> Void
    ) async throws {
        var options = PlatformOptions()
        options.processGroupID = 0
        let question = Question()
        _ = try await Subprocess.run(
            Executable.own, arguments: Arguments(["replay", "--serve"] + arguments), platformOptions: options, input: .inputWriter,
            output: .sequence, error: .discarded
        ) { execution in
            let process = execution.processIdentifier.value
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    while try await question.isInTime(Self.patience) {}
                    kill(-process, SIGKILL)
                }
                defer { group.cancelAll() }
                var lines = PrintedLines(limit: Self.maximumAnswer)
                var output = execution.standardOutput.makeAsyncIterator()
                func ask(_ turn: Int) async throws -> Bool {
                    question.ask(turn)
                    _ = try await execution.standardInputWriter.write(Array("\(turn)\n".utf8))
                    while let bytes = try await output.next() {
                        guard let line = bytes.withUnsafeBytes({ lines.take($0) }).first else { continue }
                        question.answered()
                        answer(Self.answer(in: line))
                        return true
                    }
                    return false
                }
                guard try await ask(first) else { return }
                for await turn in turns { guard try await ask(turn) else { return } }
                try await execution.standardInputWriter.finish()
            }
        }
        if let turn = question.open {
            answer(.failed("the program has ended while it replayed up to turn \(turn), or took longer than \(Self.patience.text)"))
        }
    }

    static func answer(in line: String) -> Answer {
        let words = line.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        if words.count == 5, words[0] == "view", let turn = Int(words[2]), let data = Data(base64Encoded: words[4]) {
            return .view(timeline: words[1], turn: turn, time: words[3], bytes: Array(data))
        }
        guard line.hasPrefix("error ") else { return .failed("the answer cannot be read: \(shortened(line, to: 100))") }
        return .failed(String(line.dropFirst("error ".count)))
    }
}

/// What a child was asked and has not answered, and since when.
private final class Question: Sendable {
    private let state = Mutex<(turn: Int, since: ContinuousClock.Instant)?>(nil)

    func ask(_ turn: Int) { state.withLock { $0 = (turn, .now) } }
    func answered() { state.withLock { $0 = nil } }
    var open: Int? { state.withLock { $0?.turn } }

    /// Looks once more in a while.
    func isInTime(_ limit: Duration) async throws -> Bool {
        try await Task.sleep(for: .milliseconds(500))
        return state.withLock { question in question.map { .now - $0.since < limit } ?? true }
    }
}
