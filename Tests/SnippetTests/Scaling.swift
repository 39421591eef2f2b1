import Samovar

/// What docs/queues.md shows of a backlog.
enum Scaling {
    /// Where the scaler of the snippet writes.
    struct Pipe: Sendable {
        func write(_ line: String) { print(line) }
    }

    static let scaler = Pipe()

    // snippet: backlog observer
    static var backlogObserver: BacklogObserver? {
        BacklogObserver(every: .seconds(5)) { backlog in
            for queue in backlog where queue.waiting > 10 * queue.slots {
                scaler.write("\(queue.queue) \(queue.waiting) \(queue.oldest ?? .zero)")
            }
        }
    }
    // end
}
