/// What a program can do beside taking inputs. A run of many seeds in which one of them never happened proves nothing of it.
public enum CoverageEvent: Int, CaseIterable, Sendable {
    /// A timer was served.
    case fired
    /// A timer was served once for several of its times.
    case firedForSeveral
    /// The program heard of a moment in the life of the store.
    case heardOfLifecycle
    /// A subscription ended, or began anew.
    case stoppedListening
    /// An effect was cancelled by a newer one with its label.
    case replaced
    /// An effect was cancelled by `cancel`.
    case cancelled
    /// An effect was not opened, because another had its label.
    case passedOver
    /// An effect failed, because too many had its label.
    case overLimit
    /// An effect waited for another with its label.
    case queued
    /// A streamed message was applied.
    case streamed
    /// An attempt went on with what others had streamed.
    case resumed
    /// A client read an output.
    case outputRead
    /// A client came back to a session that it had ended.
    case cameBack
    /// A session ended with an input.
    case endedByInput
    /// A client that had sent such an input came back to hear its outcome.
    case welcomedToEnd
    /// An effect failed, because all its attempts together took too long.
    case ranOutOfTime
}
