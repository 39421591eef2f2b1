import SamovarCore

/// How an attempt ended: one hand-out of an effect to a worker.
enum AttemptOutcome: Int, CaseIterable {
    /// Its answer was taken.
    case answered
    case failed
    case timedOut
    /// It was not begun, or the worker gave it back.
    case returned
    /// Its worker died or fell silent.
    case lost
    /// It runs in vain: its effect was closed, or another has it.
    case cancelled

    var name: String { self == .timedOut ? "timed_out" : "\(self)" }
}

/// Why an effect is not open any more.
enum ClosingOutcome: Int, CaseIterable {
    case done
    /// For good, whether the program made a message of it or it is dead.
    case failed
    case cancelled
    /// By an operator, or because it was requeued and is of a source that is not wanted any more.
    case dropped

    var name: String { "\(self)" }
}

/// What has happened to the effects of each queue since the start of this process. Nothing depends on it.
///
/// The first queues have a number each, the rest share one. A row of tallies for each number, in memory that is allocated once: what happens is
/// counted in one place, which its number, outcome and duration tell, and nothing is looked up.
struct QueueMeters {
    /// Queues that are told by name.
    static let limit = 50
    /// The queue of all others, and the number of one that has this name.
    static let rest = Queue("other")
    /// The longest name that is told, in bytes.
    private static let nameLimit = 128

    /// How often something happened, and how long it took in all.
    private struct Tally {
        var count = 0
        var microseconds = 0

        @inline(__always)
        mutating func add(_ microseconds: Int64 = 0) {
            count &+= 1
            self.microseconds &+= Int(microseconds)
        }
    }

    private enum Column {
        /// For each outcome of an attempt, the buckets of its duration.
        static let attempts = 0
        static let waits = attempts + AttemptOutcome.allCases.count * DurationBuckets.count
        static let closings = waits + DurationBuckets.count
        static let count = closings + ClosingOutcome.allCases.count
    }

    /// The time of this round.
    var now = Timestamp(microseconds: 0)
    /// By their numbers; the first is the default queue.
    private(set) var names: [Queue] = [.default]
    private var numbers: [Queue: Int] = [.default: 0, Self.rest: Self.limit]
    private var tallies = [Tally](repeating: Tally(), count: (Self.limit + 1) * Column.count)

    /// The number of a queue, which gets one of its own while there are some.
    mutating func number(of queue: Queue) -> Int {
        if let number = numbers[queue] { return number }
        guard names.count < Self.limit, queue.name.utf8.count <= Self.nameLimit else { return Self.limit }
        names.append(queue)
        numbers[queue] = names.count - 1
        return names.count - 1
    }

    /// The number that a queue has for itself; nil if it has none.
    func known(_ queue: Queue) -> Int? { numbers[queue].flatMap { $0 == Self.limit ? nil : $0 } }

    // MARK: Counting

    /// An effect was handed out that had waited since then.
    @inline(__always)
    mutating func handedOut(_ number: Int, since: Timestamp) {
        let duration = max(0, now.microseconds &- since.microseconds)
        tallies[number &* Column.count &+ Column.waits &+ DurationBuckets.index(ofMicroseconds: duration)].add(duration)
    }

    /// An attempt has ended that was handed out then.
    @inline(__always)
    mutating func ended(_ number: Int, _ outcome: AttemptOutcome, since: Timestamp) {
        let duration = max(0, now.microseconds &- since.microseconds)
        tallies[Self.row(number, of: outcome) &+ DurationBuckets.index(ofMicroseconds: duration)].add(duration)
    }

    @inline(__always)
    mutating func closed(_ number: Int, _ outcome: ClosingOutcome) {
        tallies[number &* Column.count &+ Column.closings &+ outcome.rawValue].add()
    }

    /// Where the durations of attempts with an outcome begin.
    @inline(__always)
    private static func row(_ number: Int, of outcome: AttemptOutcome) -> Int {
        number &* Column.count &+ Column.attempts &+ outcome.rawValue &* DurationBuckets.count
    }

    mutating func closed(_ queue: Queue, _ outcome: ClosingOutcome) { closed(number(of: queue), outcome) }

    // MARK: Telling

    /// All numbers in use, and that of the rest, with their names.
    var all: [(number: Int, queue: Queue)] {
        names.enumerated().map { ($0.offset, $0.element) } + [(Self.limit, Self.rest)]
    }

    func attempts(_ number: Int, _ outcome: AttemptOutcome) -> Int { histogram(at: Self.row(number, of: outcome)).count }

    func closings(_ number: Int, _ outcome: ClosingOutcome) -> Int {
        tallies[number * Column.count + Column.closings + outcome.rawValue].count
    }

    /// Effects that have ended, of all queues.
    var closed: Int {
        all.reduce(0) { sum, line in sum + ClosingOutcome.allCases.reduce(0) { $0 + closings(line.number, $1) } }
    }

    /// How long effects have waited before each hand-out.
    func waits(_ number: Int) -> DurationHistogram { histogram(at: number * Column.count + Column.waits) }

    /// How long attempts took, from the hand-out to their end.
    func runs(_ number: Int) -> DurationHistogram {
        AttemptOutcome.allCases.reduce(into: DurationHistogram()) { $0.add(histogram(at: Self.row(number, of: $1))) }
    }

    private func histogram(at place: Int) -> DurationHistogram {
        let tallies = tallies[place..<(place + DurationBuckets.count)]
        return DurationHistogram(buckets: tallies.map(\.count), microseconds: tallies.reduce(0) { $0 &+ $1.microseconds })
    }
}
