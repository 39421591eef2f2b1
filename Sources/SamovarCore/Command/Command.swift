/// What `update` wants to happen next: nothing, or orders in sequence. Plain data; the store carries it out after the turn is
/// on disk.
///
/// ```swift
/// return .run(.fetch(url), queue: "http", retry: .times(3), timeout: .seconds(10))
///     .then(.started)
/// ```
public struct Command<P: Program>: Equatable, Sendable {
    /// One thing that shall happen.
    public enum Order: Equatable, Sendable {
        /// Work for a worker.
        case run(P.Effect, RunOptions)
        /// The end of the open effects with a label.
        case cancel(Label)
        /// A message that follows at once.
        case then(P.Message)
        /// An event for other programs.
        case emit(P.Output)
        /// Something about dead effects, queues or labels.
        case control(Control)
    }

    // One order needs no array: most turns ask for nothing or for one thing.
    @usableFromInline
    package enum Orders: Equatable, Sendable {
        case none
        case one(Order)
        case many([Order])
    }

    @usableFromInline package let orders: Orders
    // Kept beside the orders: to match on them would retain an order.
    /// Whether it orders an effect and nothing else.
    @usableFromInline package let isOneEffect: Bool

    @inlinable
    init(_ orders: Orders, isOneEffect: Bool = false) {
        self.orders = orders
        self.isOneEffect = isOneEffect
    }

    @inlinable
    init(_ orders: [Order]) {
        switch orders.count {
        case 0: self.init(.none)
        case 1: self.init(orders[0])
        default: self.init(.many(orders))
        }
    }

    @inlinable
    init(_ order: Order) {
        if case .run = order { self.init(.one(order), isOneEffect: true) } else { self.init(.one(order)) }
    }

    /// Nothing shall happen.
    @inlinable
    public static var none: Self { Self(.none) }

    /// Orders an effect: a worker that serves `queue` executes it at least once, and its answer is applied once.
    ///
    /// - Parameters:
    ///   - id: what `cancel` and `policy` go by.
    ///   - policy: what happens if effects with the same `id` are open; without `id` it is always `.all`.
    ///   - retry: what to do when an attempt throws or runs out of time. A worker that dies costs no retry.
    ///   - timeout: the time for one attempt, from its hand-out to a worker; nil for no limit. For other limits see
    ///     ``run(_:_:)-swift.type.method``.
    ///   - priority: within a queue, the greater goes first. It is -100 to 100: what is beyond counts as the nearer of these.
    ///   - delay: the least time before the first attempt, counted from this turn.
    @inlinable
    public static func run(
        _ effect: P.Effect, id: Label? = nil, queue: Queue = .default, policy: Policy = .all, retry: Retry = .never,
        timeout: Duration? = nil, priority: Int = 0, delay: Duration = .zero
    ) -> Self {
        .run(
            effect,
            RunOptions(
                id: id, queue: queue, policy: policy, retry: retry, timeout: timeout, priority: priority, delay: delay))
    }

    /// Orders an effect as by default: in the queue `default`, at once, and with one attempt.
    @inlinable
    public static func run(_ effect: P.Effect) -> Self {
        Self(.one(.run(effect, .default)), isOneEffect: true)
    }

    /// Orders an effect with options that were put together elsewhere, or that are rarely needed: a start at a given time, and
    /// limits for waiting and for all attempts together.
    @inlinable
    public static func run(_ effect: P.Effect, _ options: RunOptions) -> Self {
        Self(.one(.run(effect, options)), isOneEffect: true)
    }

    /// Closes the open effects with this label, and drops the dead ones. Workers that run one are told at once and their Swift tasks
    /// are cancelled; a late answer is not applied. An effect that was cancelled may have run all the same. One that was ordered beyond the
    /// limit of its policy is not closed: it fails with `crowded` all the same.
    @inlinable
    public static func cancel(_ id: Label) -> Self {
        Self(.one(.cancel(id)))
    }

    /// Applies `message` in a turn of its own, after this one and before any other input, in the same commit.
    @inlinable
    public static func then(_ message: P.Message) -> Self {
        Self(.one(.then(message)))
    }

    /// Tells other programs: each output has a number and reaches those that listen, once, in order.
    @inlinable
    public static func emit(_ output: P.Output) -> Self {
        Self(.one(.emit(output)))
    }

    /// All orders of these commands, one after the other. Effects of one batch may run at the same time.
    @inlinable
    public static func batch(_ commands: [Self]) -> Self {
        Self(commands.flatMap { Array($0) })
    }
}

/// The same orders, after those that this command has already.
extension Command {
    /// Orders an effect, too; see the static function of this name.
    @inlinable
    public func run(
        _ effect: P.Effect, id: Label? = nil, queue: Queue = .default, policy: Policy = .all, retry: Retry = .never,
        timeout: Duration? = nil, priority: Int = 0, delay: Duration = .zero
    ) -> Self {
        .batch([
            self,
            .run(
                effect, id: id, queue: queue, policy: policy, retry: retry, timeout: timeout, priority: priority, delay: delay),
        ])
    }

    /// Orders an effect with options, too.
    @inlinable
    public func run(_ effect: P.Effect, _ options: RunOptions) -> Self { .batch([self, .run(effect, options)]) }

    /// Closes open effects, too.
    @inlinable
    public func cancel(_ id: Label) -> Self { .batch([self, .cancel(id)]) }

    /// Applies a message afterwards, too.
    @inlinable
    public func then(_ message: P.Message) -> Self { .batch([self, .then(message)]) }

    /// Tells other programs, too.
    @inlinable
    public func emit(_ output: P.Output) -> Self { .batch([self, .emit(output)]) }
}

extension Command: RandomAccessCollection {
    /// 0.
    @inlinable public var startIndex: Int { 0 }

    /// The number of orders.
    @inlinable
    public var endIndex: Int {
        switch orders {
        case .none: 0
        case .one: 1
        case .many(let orders): orders.count
        }
    }

    /// The order at a position.
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
