import Foundation
import Journal
import ZeroMQ

/// Runs blocking work on a thread of its own, because it must never stand on Swift's cooperative pool.
///
/// - Returns: when the body has ended; its error is passed on. Cancellation does not interrupt the body: tell it by its own means.
/// - Throws: also if the system gives no thread.
package func onThread<Result: Sendable>(
    _ name: String, stackSize: Int = threadStackSize, _ body: @escaping @Sendable () throws -> Result
) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        do {
            try SystemThread.start(name, stackSize: stackSize) { continuation.resume(with: Swift.Result { try body() }) }
        } catch {
            continuation.resume(throwing: error)
        }
    }
}

/// - Throws: if the system gives no thread.
package func startThread(_ name: String, _ body: @escaping @Sendable () -> Void) throws {
    try SystemThread.start(name, stackSize: threadStackSize, body)
}

/// Programs may nest their values deeply, and a decoder follows them on the stack.
package let threadStackSize = 16 << 20

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
