/// What `update` wants to happen next: nothing, or orders in sequence. Plain data; the store carries it out after the turn is
/// on disk.
///
/// ```swift
/// return .run(.fetch(url), queue: "http", retry: .times(3), timeout: .seconds(10))
///     .then(.started)
/// ```
public struct Command<P: Program>: Equatable, Sendable {
    public enum Order: Equatable, Sendable {
        case run(P.Effect, RunOptions)
        case then(P.Message)
    }

    // One order needs no array: most turns ask for nothing or for one thing.
    @usableFromInline
    enum Orders: Equatable, Sendable {
        case none
        case one(Order)
        case many([Order])
    }

    @usableFromInline let orders: Orders

    @inlinable
    init(_ orders: Orders) {
        self.orders = orders
    }

    @inlinable
    public static var none: Self { Self(.none) }

    /// Orders an effect: a worker that serves `queue` executes it at least once, and its answer is applied once.
    ///
    /// - Parameters:
    ///   - retry: what to do when an attempt throws or runs out of time. A worker that dies costs no retry.
    ///   - timeout: the time for one attempt, from its hand-out to a worker; nil for no limit.
    ///   - delay: the least time before the first attempt, counted from this turn.
    @inlinable
    public static func run(
        _ effect: P.Effect, queue: Queue = .default, retry: Retry = .never, timeout: Duration? = nil, delay: Duration = .zero
    ) -> Self {
        Self(.one(.run(effect, RunOptions(queue: queue, retry: retry, timeout: timeout, delay: delay))))
    }

    /// Applies `message` in a turn of its own, after this one and before any other input, in the same commit.
    @inlinable
    public static func then(_ message: P.Message) -> Self {
        Self(.one(.then(message)))
    }

    @inlinable
    public static func batch(_ commands: [Self]) -> Self {
        let orders = commands.flatMap { Array($0) }
        return switch orders.count {
        case 0: .none
        case 1: Self(.one(orders[0]))
        default: Self(.many(orders))
        }
    }

    /// This command, and an effect after it; see ``run(_:queue:retry:timeout:delay:)-swift.type.method``.
    @inlinable
    public func run(
        _ effect: P.Effect, queue: Queue = .default, retry: Retry = .never, timeout: Duration? = nil, delay: Duration = .zero
    ) -> Self {
        .batch([self, .run(effect, queue: queue, retry: retry, timeout: timeout, delay: delay)])
    }

    /// This command, and a follow-up message after it.
    @inlinable
    public func then(_ message: P.Message) -> Self {
        .batch([self, .then(message)])
    }
}

extension Command: RandomAccessCollection {
    @inlinable public var startIndex: Int { 0 }

    @inlinable
    public var endIndex: Int {
        switch orders {
        case .none: 0
        case .one: 1
        case .many(let orders): orders.count
        }
    }

    @inlinable
    public subscript(position: Int) -> Order {
        switch orders {
        case .none: preconditionFailure("a command without orders has no position \(position)")
        case .one(let order):
            precondition(position == 0, "a command of one order has no position \(position)")
            return order
        case .many(let orders): return orders[position]
        }
    }
}

/// How an effect is to be run.
public struct RunOptions: Hashable, Sendable {
    public let queue: Queue
    public let retry: Retry
    public let timeout: Duration?
    public let delay: Duration

    @inlinable
    public init(queue: Queue = .default, retry: Retry = .never, timeout: Duration? = nil, delay: Duration = .zero) {
        self.queue = queue
        self.retry = retry
        self.timeout = timeout
        self.delay = delay
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
