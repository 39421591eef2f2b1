package import Foundation
import SamovarHost

/// Lines of standard input, one of which waits to be taken: who asks waits for the answer before the next one.
///
/// `@unchecked`: all that changes is behind the condition.
package final class LineInbox: @unchecked Sendable {
    private let condition = NSCondition()
    private var line: String?
    private var isClosed = false

    package init() {}

    /// Reads on a thread of its own; `end` is called there when nothing more comes.
    package func open(end: @escaping @Sendable () -> Void) throws {
        try startThread("samovar-requests") { [self] in
            readLines { put(String(decoding: $0, as: UTF8.self)) }
            condition.withLock {
                isClosed = true
                condition.broadcast()
            }
            end()
        }
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
    package func peek(wait: TimeInterval?) -> String? {
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
    package func drop() {
        condition.withLock {
            line = nil
            condition.broadcast()
        }
    }

    package var isAtEnd: Bool { condition.withLock { isClosed && line == nil } }
}
