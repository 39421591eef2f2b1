/// How an effect is to be run.
///
/// Options that differ from the default are kept in a box: a command is returned by each turn, and most turns order nothing, so a
/// command shall be small.
public struct RunOptions: Sendable {
    private struct Fields: Hashable, Sendable {
        var id: Label?
        var queue = Queue.default
        var policy = Policy.all
        var retry = Retry.never
        var priority = 0
        var delay = Duration.zero
        var at: Timestamp?
        var limits = RunLimits.none
        var needs: Set<String> = []

        static let `default` = Fields()

        /// As the journal keeps them: with times in whole microseconds, and a policy whose numbers it can hold.
        var asKept: Fields {
            var fields = self
            fields.policy = policy.asKept
            fields.delay = delay.inWholeMicroseconds
            fields.limits = RunLimits(
                waiting: limits.waiting?.inWholeMicroseconds, attempt: limits.attempt?.inWholeMicroseconds,
                total: limits.total?.inWholeMicroseconds)
            return fields
        }
    }

    private final class Box: Sendable {
        let fields: Fields

        init(_ fields: Fields) {
            self.fields = fields
        }
    }

    /// Nil if all is as by default.
    private var box: Box?

    /// Whether all is as by default.
    package var isDefault: Bool { box == nil }

    private var fields: Fields {
        get { box?.fields ?? .default }
        set { box = newValue == .default ? nil : Box(newValue.asKept) }
    }

    /// What `cancel` and `policy` go by; nil for an effect that nobody refers to.
    public var id: Label? {
        get { box?.fields.id }
        set { fields.id = newValue }
    }
    /// Which workers get it: those that serve this queue.
    public var queue: Queue {
        get { box?.fields.queue ?? .default }
        set { fields.queue = newValue }
    }
    /// What happens if effects with the same label are open.
    public var policy: Policy {
        get { box?.fields.policy ?? .all }
        set { fields.policy = newValue }
    }
    /// How often it is attempted.
    public var retry: Retry {
        get { box?.fields.retry ?? .never }
        set { fields.retry = newValue }
    }
    /// Among those of a queue that need the same of a worker, the greater goes first; equal ones in the order in which they were ordered.
    /// It is -100 to 100: what is beyond counts as the nearer of these.
    public var priority: Int {
        get { box?.fields.priority ?? 0 }
        set { fields.priority = newValue }
    }
    /// The least time before the first attempt, counted from the turn.
    public var delay: Duration {
        get { box?.fields.delay ?? .zero }
        set { fields.delay = newValue }
    }
    /// The earliest time of the first attempt.
    public var at: Timestamp? {
        get { box?.fields.at }
        set { fields.at = newValue }
    }
    /// How long it may take.
    public var limits: RunLimits {
        get { box?.fields.limits ?? .none }
        set { fields.limits = newValue }
    }

    /// What a worker must be able to do, beside serving the queue: it gets only workers that said all of these of themselves, with
    /// `--can`.
    public var needs: Set<String> {
        get { box?.fields.needs ?? [] }
        set { fields.needs = newValue }
    }

    /// The time for one attempt, from its hand-out to a worker.
    public var timeout: Duration? { limits.attempt }

    /// All as by default.
    public static var `default`: RunOptions { RunOptions(box: nil) }

    private init(box: Box?) { self.box = box }

    /// Options of an order; each has the default that ``Command/run(_:id:queue:policy:retry:timeout:priority:delay:)-swift.type.method`` has.
    public init(
        id: Label? = nil, queue: Queue = .default, policy: Policy = .all, retry: Retry = .never, timeout: Duration? = nil,
        priority: Int = 0, delay: Duration = .zero, at: Timestamp? = nil, limits: RunLimits = .none, needs: Set<String> = []
    ) {
        // Without any options, as they nearly always are, there is nothing to compare field by field.
        if id == nil, at == nil, timeout == nil, priority == 0, queue == .default, policy == .all, retry == .never,
            delay == .zero, limits == .none, needs.isEmpty
        {
            return
        }
        var fields = Fields(
            id: id, queue: queue, policy: policy, retry: retry, priority: priority, delay: delay, at: at, limits: limits,
            needs: needs)
        if let timeout { fields.limits.attempt = timeout }
        self.fields = fields
    }
}

extension RunOptions: Hashable {
    /// Equal options, however they were put together.
    public static func == (a: RunOptions, b: RunOptions) -> Bool { a.box === b.box || a.fields == b.fields }

    /// Equal options have equal hashes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(fields)
    }
}

/// How long an effect may take; nil is no limit. What passes a limit fails with `Failure.Reason.timedOut`.
public struct RunLimits: Hashable, Sendable {
    /// From the moment when it may be handed out until a worker takes it: an attempt, not the effect, waits. The time
    /// for which the rate of its queue holds it back counts.
    public var waiting: Duration?
    /// One attempt, from its hand-out to a worker. It is retried.
    public var attempt: Duration?
    /// All attempts with their pauses, from the order or the end of its delay: time behind others of its lane counts. It is not retried.
    public var total: Duration?

    /// No limits.
    public static let none = RunLimits()

    /// Limits; nil is none.
    @inlinable
    public init(waiting: Duration? = nil, attempt: Duration? = nil, total: Duration? = nil) {
        self.waiting = waiting
        self.attempt = attempt
        self.total = total
    }
}

/// The name of a queue: effects go to workers that serve it.
public struct Queue: ExpressibleByStringLiteral, Hashable, Comparable, Codable, Sendable, CustomStringConvertible {
    /// As in `--queue`.
    public let name: String

    /// The queue of this name.
    @inlinable
    public init(_ name: String) {
        self.name = name
    }

    /// The queue of this name.
    @inlinable
    public init(stringLiteral name: String) {
        self.name = name
    }

    /// Where effects go that name no queue; workers serve it unless they are told otherwise.
    public static let `default` = Queue("default")

    /// By name.
    @inlinable
    public static func < (a: Queue, b: Queue) -> Bool { a.name < b.name }

    /// Its name.
    public var description: String { name }
}
