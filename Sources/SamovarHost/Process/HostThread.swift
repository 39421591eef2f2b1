import Foundation
import Journal

/// Runs blocking work on a thread of its own, because it must never stand on Swift's cooperative pool.
///
/// - Returns: when the body has ended; its error is passed on. Cancellation does not interrupt the body: tell it by its own means.
package func onThread<Result: Sendable>(_ name: String, _ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        startThread(name) { continuation.resume(with: Swift.Result { try body() }) }
    }
}

package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let thread = Thread(block: body)
    thread.name = name
    // Programs may nest their values deeply, and a decoder follows them on the stack.
    thread.stackSize = 16 << 20
    thread.start()
}

/// Likewise for work on a journal on which no store runs.
///
/// - Throws: `StoreError` in place of an error of the journal.
package func onJournalThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await onThread("samovar-journal") {
        do {
            return try body()
        } catch let error as JournalError {
            throw StoreError(error)
        }
    }
}

/// For a thread whose work is in no hurry. On Linux a thread has a priority of its own; elsewhere this one is as good as the others.
func lowerThreadPriority() {
    #if os(Linux)
    _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10)
    #endif
}
