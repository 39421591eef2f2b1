import Dispatch
import Foundation
import SamovarHost
import Synchronization

/// Writes what goes to standard error on a thread of its own, in order, for a process that must go on where nobody reads there.
///
/// What is beyond the limit is left out, and a line says how many lines as soon as somebody reads again.
final class ErrorThread: Sendable {
    private struct State {
        var waiting: [String] = []
        var bytes = 0
        var leftOut = 0
        var isWriting = false
        /// When something was last taken from this process, or began to wait.
        var moved = ContinuousClock.now
    }

    /// That of this process; nil where whoever prints writes, and waits for the reader.
    static var current: ErrorThread? { installed.withLock { $0 } }
    private static let installed = Mutex<ErrorThread?>(nil)

    /// In bytes; what is being written has as much room again.
    private static let limit = 4 << 20
    /// Bytes that are written at once: a reader who takes them reads, however long the line is.
    private static let piece = 4_096

    private let patience: Duration
    private let state = Mutex(State())
    private let news = DispatchSemaphore(value: 0)

    /// From here on all that this process prints to standard error is written so.
    static func install() throws {
        let thread = try ErrorThread(writingTo: STDERR_FILENO)
        installed.withLock { $0 = thread }
    }

    /// - Parameter patience: where nothing was taken for so long, nobody reads.
    init(writingTo file: Int32, patience: Duration = .seconds(5)) throws {
        self.patience = patience
        try startThread("samovar-errors") { [self] in
            while true {
                news.wait()
                write(to: file)
            }
        }
    }

    private func write(to file: Int32) {
        while true {
            let texts = take()
            if texts.isEmpty { return }
            // Each by itself: whatever else writes there comes between lines.
            for text in texts {
                // Where nobody reads what went wrong, there is nowhere left to say it.
                var rest = Array(text.utf8)[...]
                while !rest.isEmpty {
                    _ = writeAll(Array(rest.prefix(Self.piece)), to: file)
                    rest = rest.dropFirst(Self.piece)
                    state.withLock { $0.moved = .now }
                }
            }
        }
    }

    private func take() -> [String] {
        state.withLock { state in
            var texts = state.waiting
            if state.leftOut > 0 { texts.append("warning: \(state.leftOut) lines were left out here, since nobody read them\n") }
            (state.waiting, state.bytes, state.leftOut, state.isWriting) = ([], 0, 0, !texts.isEmpty)
            return texts
        }
    }

    func add(_ text: String) {
        state.withLock { state in
            if state.waiting.isEmpty, !state.isWriting { state.moved = .now }
            // Behind what is left out comes nothing before that is said.
            guard state.leftOut == 0, state.bytes + text.utf8.count <= Self.limit else {
                state.leftOut += 1
                return
            }
            state.waiting.append(text)
            state.bytes += text.utf8.count
        }
        news.signal()
    }

    /// Waits until there is room, as long as somebody reads.
    func room() async {
        while state.withLock({ $0.bytes > Self.limit / 2 && ContinuousClock.now - $0.moved < patience }) {
            do { try await Task.sleep(for: .milliseconds(10)) } catch { return }
        }
    }

    /// Waits until all is written, but for a reader who stands still no longer than a second. For the end of a process, in which nothing else
    /// is to run.
    func finish() {
        let end = ContinuousClock.now + .seconds(1)
        while !isDone, ContinuousClock.now < end { usleep(1_000) }
    }

    private var isDone: Bool { state.withLock { $0.waiting.isEmpty && $0.leftOut == 0 && !$0.isWriting } }
}

/// Ends this process when what it has printed to standard error is written.
func endProcess(_ code: Int32) -> Never {
    ErrorThread.current?.finish()
    exit(code)
}

/// One line for a person, from a task: it waits for room, as long as somebody reads.
func printErrorWhenThereIsRoom(_ text: String) async {
    await ErrorThread.current?.room()
    printError(text)
}
