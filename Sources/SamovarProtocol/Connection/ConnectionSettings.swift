/// The times by which a peer decides that it is connected, that it is not, and when to try again.
public struct ConnectionSettings: Equatable, Sendable {
    /// How long the first HELLO waits for WELCOME. Each further attempt waits twice as long, up to `silence`, so that a store
    /// that is slow to answer is not drowned in attempts.
    public var greeting: Duration
    /// A PING is sent when nothing else was for this long.
    public var pingAfter: Duration
    /// Silence after which the store is taken for dead, until WELCOME names another.
    public var silence: Duration
    /// The ceiling of the first pause between two attempts; see `Backoff` for how it rises.
    public var firstPause: Duration
    /// The highest ceiling of a pause.
    public var longestPause: Duration

    public init(
        greeting: Duration = .seconds(1), pingAfter: Duration = .seconds(1), silence: Duration = .seconds(6),
        firstPause: Duration = .milliseconds(20), longestPause: Duration
    ) {
        self.greeting = greeting
        self.pingAfter = pingAfter
        self.silence = silence
        self.firstPause = firstPause
        self.longestPause = longestPause
    }

    /// Workers are few, and work waits for them.
    public static let worker = ConnectionSettings(longestPause: .seconds(1))
    /// Clients are many.
    public static let client = ConnectionSettings(longestPause: .seconds(10))
}
