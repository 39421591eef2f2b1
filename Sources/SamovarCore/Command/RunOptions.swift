/// How an effect is to be run.
public struct RunOptions: Hashable, Sendable {
    /// What `cancel` and `policy` go by; nil for an effect that nobody refers to.
    public var id: Label?
    public var queue: Queue
    public var policy: Policy
    public var retry: Retry
    /// Within a queue, the greater goes first; equal ones in the order in which they were ordered.
    public var priority: Int
    /// The least time before the first attempt, counted from the turn.
    public var delay: Duration
    /// The earliest time of the first attempt.
    public var at: Timestamp?
    public var limits: RunLimits

    /// The time for one attempt, from its hand-out to a worker.
    public var timeout: Duration? { limits.attempt }

    @inlinable
    public init(
        id: Label? = nil, queue: Queue = .default, policy: Policy = .all, retry: Retry = .never, timeout: Duration? = nil,
        priority: Int = 0, delay: Duration = .zero, at: Timestamp? = nil, limits: RunLimits = .none
    ) {
        self.id = id
        self.queue = queue
        self.policy = policy
        self.retry = retry
        self.priority = priority
        self.delay = delay
        self.at = at
        self.limits = limits
        if let timeout { self.limits.attempt = timeout }
    }
}

/// How long an effect may take; nil is no limit. What passes a limit fails with `Failure.Reason.timedOut`.
public struct RunLimits: Hashable, Sendable {
    /// From the moment when it may be handed out until a worker takes it: an attempt, not the effect, waits.
    public var waiting: Duration?
    /// One attempt, from its hand-out to a worker. It is retried.
    public var attempt: Duration?
    /// All attempts with their pauses, from the moment when the effect may first be handed out. It is not retried.
    public var total: Duration?

    public static let none = RunLimits()

    @inlinable
    public init(waiting: Duration? = nil, attempt: Duration? = nil, total: Duration? = nil) {
        self.waiting = waiting
        self.attempt = attempt
        self.total = total
    }
}

/// The name of a queue: effects go to workers that serve it.
public struct Queue: ExpressibleByStringLiteral, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    public let name: String

    @inlinable
    public init(_ name: String) {
        self.name = name
    }

    @inlinable
    public init(stringLiteral name: String) {
        self.name = name
    }

    public static let `default` = Queue("default")

    @inlinable
    public static func < (a: Queue, b: Queue) -> Bool { a.name < b.name }

    public var description: String { name }
}
