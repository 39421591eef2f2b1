/// How much work waits in a queue, and who is there to do it: what an autoscaler goes by.
public struct QueueBacklog: Hashable, Sendable {
    /// Its name.
    public let queue: Queue
    /// Effects that wait for a worker, for the queue's rate, or for the end of its pause. Those that are delayed, or behind another with
    /// their label, do not count: no further worker would help them.
    public let waiting: Int
    /// Effects that workers have.
    public let running: Int
    /// For how long the oldest of those that wait has waited; nil if none does.
    public let oldest: Duration?
    /// Jobs of it that workers run at once, as far as other queues leave them to it.
    public let slots: Int
    /// Nothing of it is handed out.
    public let isPaused: Bool

    /// A backlog; stores make them.
    public init(queue: Queue, waiting: Int, running: Int, oldest: Duration?, slots: Int, isPaused: Bool) {
        self.queue = queue
        self.waiting = waiting
        self.running = running
        self.oldest = oldest
        self.slots = slots
        self.isPaused = isPaused
    }
}

/// Hears again and again how much work waits: for an autoscaler, or for metrics.
///
/// It is called in the store process, on its one thread, and must not wait: let it write to a pipe or a queue of its own. What it hears is on
/// disk. To look takes the store about 0.1 ms for a thousand effects that wait or run.
public struct BacklogObserver: Sendable {
    package let interval: Duration
    package let deliver: @Sendable ([QueueBacklog]) -> Void

    /// - Parameters:
    ///   - interval: at least a second, and counted in whole ones.
    ///   - deliver: gets every queue in which something waits or runs, that has rules or is paused, or that a worker serves, sorted by name.
    public init(every interval: Duration = .seconds(5), deliver: @escaping @Sendable ([QueueBacklog]) -> Void) {
        self.interval = interval
        self.deliver = deliver
    }
}
