import Foundation

/// Lines of standard input, one of which waits to be taken: who asks waits for the answer before the next one.
///
/// `@unchecked`: all that changes is behind the condition.
final class LineInbox: @unchecked Sendable {
    private let condition = NSCondition()
    private var line: String?
    private var isClosed = false

    /// Reads on a thread of its own; `end` is called there when nothing more comes.
    func open(end: @escaping @Sendable () -> Void) {
        let thread = Thread { [self] in
            while let line = readLine() { put(line) }
            condition.withLock {
                isClosed = true
                condition.broadcast()
            }
            end()
        }
        thread.name = "samovar-requests"
        thread.start()
    }

    private func put(_ next: String) {
        condition.withLock {
            while line != nil { condition.wait() }
            line = next
            condition.broadcast()
        }
    }

    /// Waits so long that there is a line; it stays. Nil waits for ever.
    ///
    /// - Returns: nil if there is none, or none comes any more.
    func peek(wait: TimeInterval?) -> String? {
        condition.withLock {
            let end = wait.map { Date(timeIntervalSinceNow: $0) }
            while line == nil, !isClosed {
                guard let end else {
                    condition.wait()
                    continue
                }
                guard condition.wait(until: end) else { break }
            }
            return line
        }
    }

    /// The line that was looked at is done with.
    func drop() {
        condition.withLock {
            line = nil
            condition.broadcast()
        }
    }

    var isAtEnd: Bool { condition.withLock { isClosed && line == nil } }
}
