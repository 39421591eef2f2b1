/// What is done with effects that were ordered earlier, and with whole queues: by `update`, as part of a command, or by an operator.
///
/// Programs use `Command.requeue` and its siblings. Pauses and rules are durable: they hold until they are changed,
/// over restarts of the store too.
public indirect enum Control: Hashable, Sendable {
    /// Dead effects are open again, with all their attempts before them, and with the key that they had.
    case requeue(DeadEffects)
    /// Dead effects are forgotten.
    case drop(DeadEffects)
    /// Nothing more is handed out there; jobs that run go on.
    case pause(QueueOrLabel)
    /// It goes on.
    case resume(QueueOrLabel)
    /// The rules of a queue, in place of the former ones.
    case rule(Queue, QueueRules)
}

extension Control: CustomStringConvertible {
    /// Such as “pause queue mail”.
    public var description: String {
        switch self {
        case .requeue(let effects): "requeue \(effects)"
        case .drop(let effects): "drop \(effects)"
        case .pause(let place): "pause \(place)"
        case .resume(let place): "resume \(place)"
        case .rule(let queue, let rules): "rule queue \(queue): \(rules)"
        }
    }
}

/// Which dead effects are meant.
public enum DeadEffects: Hashable, Sendable, CustomStringConvertible {
    /// This one, if it is dead.
    case effect(EffectID)
    /// All with this label.
    case label(Label)
    /// All in this queue.
    case queue(Queue)

    /// Such as “effect 7/0”.
    public var description: String {
        switch self {
        case .effect(let id): "effect \(id)"
        case .label(let label): "\(QueueOrLabel.label(label))"
        case .queue(let queue): "\(QueueOrLabel.queue(queue))"
        }
    }
}

/// What can be paused.
public enum QueueOrLabel: Hashable, Sendable, CustomStringConvertible {
    /// All effects of a queue.
    case queue(Queue)
    /// All effects with a label, in whichever queue.
    case label(Label)

    /// Such as “queue mail”.
    public var description: String {
        switch self {
        case .queue(let queue): "queue \(queue)"
        case .label(let label): "label “\(label)”"
        }
    }
}

/// How work leaves a queue, over all workers together. The store enforces it where it hands effects out.
///
/// ```swift
/// return .rule("http", QueueRules(rate: .init(100, per: .seconds(1)), shares: .init(["gold": 4])))
/// ```
public struct QueueRules: Hashable, Sendable {
    /// No more attempts than this are handed out in each interval. After a restart of the store the first is handed out when its share of the
    /// interval is over: where the store is restarted more often than that, nothing ever is.
    public struct Rate: Hashable, Sendable {
        /// The most in a second.
        package static let limit = 100_000
        /// The longest interval that an operator may set, in milliseconds: a day.
        package static let longestInterval = 86_400_000

        /// At least 1; more than 100,000 in a second are taken for so many.
        public let count: Int
        /// At least a millisecond.
        public let interval: Duration
        /// How many may be handed out at once after a pause.
        public let burst: Int

        /// - Parameter burst: nil for `count`.
        public init(_ count: Int, per interval: Duration, burst: Int? = nil) {
            self.count = max(1, count)
            self.interval = max(.milliseconds(1), interval.inWholeMicroseconds)
            self.burst = max(1, burst ?? count)
        }
    }

    /// Effects that wait are taken from their labels in turn, each label as often as its weight says. Within a label the order stays.
    ///
    /// Attempts are counted, not the time that they take, among effects that need the same of a worker. An effect without a label counts to
    /// a label of its own kind.
    public struct Shares: Hashable, Sendable {
        package static let range = 1...1_000

        /// From 1 to 1,000; more and less are taken for these.
        public let weights: [Label: Int]
        /// The weight of labels that are not named.
        public let others: Int

        /// Shares by weight; with no weights, equal ones.
        public init(_ weights: [Label: Int] = [:], others: Int = 1) {
            self.weights = weights.mapValues { min(max($0, 1), 1_000) }
            self.others = min(max(others, 1), 1_000)
        }

        package func weight(of label: Label?) -> Int { label.flatMap { weights[$0] } ?? others }
    }

    /// Nil for as fast as workers are.
    public var rate: Rate?
    /// Nil for first in, first out.
    public var shares: Shares?

    /// As fast as workers are, first in, first out.
    public static let none = QueueRules()

    /// Rules; nil is none.
    public init(rate: Rate? = nil, shares: Shares? = nil) {
        self.rate = rate
        self.shares = shares
    }
}

extension QueueRules: CustomStringConvertible {
    /// Such as “100 in 1.0 seconds, 20 at once; shares gold 4, others 1”.
    public var description: String {
        let rate = rate.map { "\($0.count) in \($0.interval), \($0.burst) at once" }
        let shares = shares.map { shares in
            "shares "
                + (shares.weights.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" } + ["others \(shares.others)"])
                .joined(separator: ", ")
        }
        let parts = [rate, shares].compactMap { $0 }
        return parts.isEmpty ? "none" : parts.joined(separator: "; ")
    }
}

extension Command {
    /// Opens the dead effects with this label again, with all their attempts before them. They keep their keys.
    public static func requeue(_ id: Label) -> Self { Self(.control(.requeue(.label(id)))) }

    /// Opens an effect again, if it is dead. Its identity is that of the origin of the turn which told of its failure.
    public static func requeue(_ effect: EffectID) -> Self { Self(.control(.requeue(.effect(effect)))) }

    /// Opens the dead effects of a queue again.
    public static func requeue(queue: Queue) -> Self { Self(.control(.requeue(.queue(queue)))) }

    /// Forgets the dead effects with this label.
    public static func drop(_ id: Label) -> Self { Self(.control(.drop(.label(id)))) }

    /// Forgets an effect, if it is dead.
    public static func drop(_ effect: EffectID) -> Self { Self(.control(.drop(.effect(effect)))) }

    /// Forgets the dead effects of a queue.
    public static func drop(queue: Queue) -> Self { Self(.control(.drop(.queue(queue)))) }

    /// Hands out no effect with this label until it is resumed. Jobs that run go on.
    public static func pause(_ id: Label) -> Self { Self(.control(.pause(.label(id)))) }

    /// Hands out no effect of this queue until it is resumed. Jobs that run go on.
    public static func pause(queue: Queue) -> Self { Self(.control(.pause(.queue(queue)))) }

    /// Hands out effects with this label again.
    public static func resume(_ id: Label) -> Self { Self(.control(.resume(.label(id)))) }

    /// Hands out effects of this queue again.
    public static func resume(queue: Queue) -> Self { Self(.control(.resume(.queue(queue)))) }

    /// Sets the rules of a queue in place of the former ones.
    public static func rule(_ queue: Queue, _ rules: QueueRules) -> Self { Self(.control(.rule(queue, rules))) }
}

/// The same orders, after those that this command has already.
extension Command {
    /// Opens dead effects again, too.
    public func requeue(_ id: Label) -> Self { .batch([self, .requeue(id)]) }

    /// Opens a dead effect again, too.
    public func requeue(_ effect: EffectID) -> Self { .batch([self, .requeue(effect)]) }

    /// Opens dead effects again, too.
    public func requeue(queue: Queue) -> Self { .batch([self, .requeue(queue: queue)]) }

    /// Forgets dead effects, too.
    public func drop(_ id: Label) -> Self { .batch([self, .drop(id)]) }

    /// Forgets a dead effect, too.
    public func drop(_ effect: EffectID) -> Self { .batch([self, .drop(effect)]) }

    /// Forgets dead effects, too.
    public func drop(queue: Queue) -> Self { .batch([self, .drop(queue: queue)]) }

    /// Pauses a label, too.
    public func pause(_ id: Label) -> Self { .batch([self, .pause(id)]) }

    /// Pauses a queue, too.
    public func pause(queue: Queue) -> Self { .batch([self, .pause(queue: queue)]) }

    /// Resumes a label, too.
    public func resume(_ id: Label) -> Self { .batch([self, .resume(id)]) }

    /// Resumes a queue, too.
    public func resume(queue: Queue) -> Self { .batch([self, .resume(queue: queue)]) }

    /// Sets the rules of a queue, too.
    public func rule(_ queue: Queue, _ rules: QueueRules) -> Self { .batch([self, .rule(queue, rules)]) }
}

/// What an operator did, for ``Program/operated(_:)``.
public enum OperatorAction<P: Program>: Equatable, Sendable {
    /// A dead effect is open again.
    case requeued(P.Effect, EffectID)
    /// An effect, open or dead, is gone.
    case dropped(P.Effect, EffectID)
    /// Nothing more is handed out there.
    case paused(QueueOrLabel)
    /// It goes on.
    case resumed(QueueOrLabel)
    /// A queue has these rules now.
    case ruled(Queue, QueueRules)
}
