/// Something outside that a program wants to hear of for as long as its state says so.
///
/// ```swift
/// static func subscriptions(_ state: State) -> [Subscription<Stopwatch>] {
///     state.isRunning ? [.every(.seconds(1), id: "tick", send: .tick)] : []
/// }
/// ```
///
/// The store compares what `subscriptions` returns with what it returned before, by `id`: what is new begins, what is gone
/// ends, and what is the same goes on undisturbed. Of two with one label only the first counts; otherwise their order means nothing.
public struct Subscription<P: Program>: Equatable, Sendable {
    /// What is wanted: a timer, a moment in the life of the store, or a source.
    public enum Event: Equatable, Sendable {
        case timer(Schedule, P.Message)
        case lifecycle(Lifecycle, P.Message)
        case source(P.Effect, RunOptions)
    }

    /// By what the store tells it from others, and knows it again.
    public let id: Label
    /// What is wanted.
    public let event: Event

    /// A subscription of any kind; programs use ``every(_:id:missed:send:)`` and the other functions.
    @inlinable
    public init(id: Label, event: Event) {
        self.id = id
        self.event = event
    }

    /// Sends a message again and again, first `interval` after the turn with which the subscription begins. Each time is the
    /// one before plus `interval`, however late the store was: the clock does not drift, and a restart does not begin anew.
    ///
    /// - Parameter interval: at least a millisecond; less is taken for one.
    @inlinable
    public static func every(_ interval: Duration, id: Label, missed: Missed = .once, send message: P.Message) -> Self {
        Self(id: id, event: .timer(Schedule(.every(interval), missed: missed), message))
    }

    /// Sends a message once, at `time` or, if that has passed, at once.
    @inlinable
    public static func at(_ time: Timestamp, id: Label, missed: Missed = .once, send message: P.Message) -> Self {
        Self(id: id, event: .timer(Schedule(.at(time), missed: missed), message))
    }

    /// Sends a message at the times of a calendar, in UTC.
    @inlinable
    public static func cron(_ cron: Cron, id: Label, missed: Missed = .once, send message: P.Message) -> Self {
        Self(id: id, event: .timer(Schedule(.cron(cron), missed: missed), message))
    }

    /// Sends a message at a moment in the life of the store process.
    @inlinable
    public static func on(_ moment: Lifecycle, id: Label, send message: P.Message) -> Self {
        Self(id: id, event: .lifecycle(moment, message))
    }

    /// An outside source that a worker watches: the store keeps this effect open as long as the subscription is wanted, gives it
    /// to another worker when one dies, and cancels it afterwards. Its handler sends messages with `job.stream`, and goes on
    /// from `job.resume`. A handler that returns ends the source until the subscription begins anew. Until then it keeps a slot of
    /// its worker: where that has one slot, as by default, nothing else is done there.
    ///
    /// - Parameter retry: how often it is tried again when its handler throws, counted from its last checkpoint, and after which
    ///   pauses. It waits for them after the death of its worker, too, which counts as a failure but never gives it up.
    @inlinable
    public static func source(
        _ effect: P.Effect, id: Label, queue: Queue = .default,
        retry: Retry = .backoff(first: .milliseconds(100), attempts: .max)
    ) -> Self {
        Self(id: id, event: .source(effect, RunOptions(queue: queue, retry: retry)))
    }
}

/// A moment in the life of the store process.
public enum Lifecycle: UInt8, Sendable {
    /// It was started again, after an end in order or a crash. Not sent by the first start of a timeline.
    case resumed = 1
    /// It was asked to end. Follow-ups and outputs of this message are taken; effects that it orders wait for the next start: a store that
    /// ends hands out nothing.
    case draining = 2
}

/// What becomes of times that passed before the store could send.
public enum Missed: UInt8, Sendable, CaseIterable {
    /// One message stands for all of them.
    case once = 1
    /// One message each, in order.
    case all = 2
    /// None for times at which no store ran; if a running store is late, one stands for all.
    case none = 3
}
