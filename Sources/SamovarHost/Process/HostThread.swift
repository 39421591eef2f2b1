import Foundation

/// Runs blocking work on a thread of its own, because it must never stand on Swift's cooperative pool.
///
/// - Returns: when the body has ended; its error is passed on. Cancellation does not interrupt the body: tell it by its own means.
package func onThread<Result: Sendable>(_ name: String, _ body: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread {
            continuation.resume(with: Swift.Result { try body() })
        }
        thread.name = name
        // Programs may nest their values deeply, and a decoder follows them on the stack.
        thread.stackSize = 16 << 20
        thread.start()
    }
}
