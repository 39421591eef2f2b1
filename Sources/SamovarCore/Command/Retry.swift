/// How often an effect is attempted when a worker's handler throws or an attempt runs out of time, and how long to wait.
///
/// ```swift
/// return .run(.fetch(url), retry: .backoff(first: .seconds(1), max: .seconds(30), attempts: 5), timeout: .seconds(10))
/// ```
///
/// The death of a worker, a stopped store and a drain cost no attempt. `Permanent` errors are not tried again.
///
/// To a source the death of its worker is a failure, after which it waits for a pause, but never the last one: pauses grow on, from
/// 100 ms if there are none. Only an error of its handler gives it up, if by then its failures, counted from its last checkpoint, are
/// as many as the attempts.
public struct Retry: Hashable, Sendable {
    /// All attempts together, the first included; at least 1.
    public let attempts: Int
    /// The pause after the first failure.
    public let first: Duration
    /// By what each further pause is longer.
    public let factor: Double
    /// The longest pause, before it is varied: what is waited is up to a fifth more.
    public let maximum: Duration
    /// Whether an effect that has failed for good is dead also where `failed` makes a message of it; see ``keepingDead``.
    public private(set) var keepsDead = false

    /// One attempt and no more.
    public static let never = Retry(attempts: 1, first: .zero, factor: 1, maximum: .zero)

    /// Up to `count` further attempts after the first, with pauses of 100 ms doubling to a minute.
    public static func times(_ count: Int) -> Retry {
        .backoff(first: .milliseconds(100), attempts: count < Int.max ? count + 1 : count)
    }

    /// Exponential back-off. Each pause varies by ±20 %, drawn from the effect's identity, so that a thousand effects that
    /// failed together do not come back together, and a replay draws the same. So the longest pause is up to 1.2 times `max`.
    public static func backoff(first: Duration, factor: Double = 2, max: Duration = .seconds(60), attempts: Int) -> Retry {
        Retry(attempts: Swift.max(1, attempts), first: first, factor: factor, maximum: max)
    }

    /// A back-off of any shape; programs use ``backoff(first:factor:max:attempts:)`` and ``times(_:)``. Pauses are taken in whole
    /// microseconds.
    public init(attempts: Int, first: Duration, factor: Double, maximum: Duration) {
        self.attempts = attempts
        self.first = first.inWholeMicroseconds
        self.factor = factor
        self.maximum = maximum.inWholeMicroseconds
    }

    /// The same attempts; and when the last has failed, the effect stays as a dead one also where ``Program/failed(_:_:)`` makes a message of
    /// it. It keeps its key, and the program or an operator may requeue it or drop it.
    ///
    /// ```swift
    /// return .run(.deliver(event), id: "endpoint \(endpoint)", retry: .times(5).keepingDead)
    /// ```
    ///
    /// The message is then a notice that the effect is dead, and not its completion: what it does when it is requeued is told as well.
    public var keepingDead: Retry {
        var retry = self
        retry.keepsDead = true
        return retry
    }

    /// The pause before the next attempt, after `failures` failed ones (from 1); nil if there is no further attempt.
    public func pause(after failures: Int, of effect: EffectID, secret: Secret) -> Duration? {
        guard failures < attempts else { return nil }
        let limit = Double(max(0, maximum.microseconds))
        var pause = min(Double(max(0, first.microseconds)), limit)
        var remaining = max(1, failures) - 1
        // Nothing grows from no pause, and zero times infinity is no number.
        while remaining > 0, pause > 0, pause < limit, factor > 1 {
            pause = min(pause * factor, limit)
            remaining -= 1
        }
        var hash = KeyedHash(secret)
        hash.combine(effect.turn)
        hash.combine(effect.ordinal)
        hash.combine(failures)
        var random = Random(seed: hash.finish())
        let jittered = pause * Double.random(in: 0.8...1.2, using: &random)
        return .microseconds(Int64(min(jittered, 9e15)))
    }
}
