/// Why an effect has failed for good, told to `Program.failed`.
public struct Failure: Hashable, Codable, Sendable, CustomStringConvertible {
    /// What ended the last attempt.
    public enum Reason: String, Codable, Sendable, CaseIterable {
        /// The handler threw, and no retry was left, or the error was permanent.
        case threw
        /// The last attempt took longer than its timeout.
        case timedOut
        /// Workers died while they ran it, the last one with nothing else to do.
        case workerDied
        /// Its policy allows no more effects with its label.
        case crowded
        /// No handler of the worker takes this effect, or its answer could not be read.
        case unhandled
        /// An operator accepted that the turn which ordered it orders something else now. Never told to `Program.failed`.
        case diverged
    }

    /// What ended the last attempt.
    public let reason: Reason
    /// The error in words, as the worker told it; at most 1,000 characters.
    public let text: String
    /// How many attempts failed.
    public let attempts: Int

    /// A failure; for tests of `failed`.
    public init(reason: Reason, text: String, attempts: Int) {
        self.reason = reason
        self.text = text.bounded()
        self.attempts = attempts
    }

    /// Such as “timed out after 3 attempts”.
    public var description: String {
        let what =
            switch reason {
            case .threw: "failed"
            case .timedOut: "timed out"
            case .workerDied: "killed its workers"
            case .crowded: "found too many others with its label"
            case .unhandled: "could not be handled"
            case .diverged: "was parked"
            }
        return "\(what) after \(attempts) \(attempts == 1 ? "attempt" : "attempts")\(text.isEmpty ? "" : ": \(text)")"
    }
}
