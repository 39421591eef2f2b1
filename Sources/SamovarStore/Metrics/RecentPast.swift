import DequeModule
import SamovarCore

/// What the store had counted some seconds ago, so that `status` can tell rates, and percentiles of what is new. A sample is taken with a tick: no
/// turn pays for it.
struct RecentPast {
    /// Counts and measurements at one moment.
    struct Sample {
        var time: Timestamp
        var turns: Int
        var inputs: Int
        var commits: DurationHistogram
        var rounds: DurationHistogram
        var journalBytes: Int
        var meters: QueueMeters
    }

    /// What was counted between two moments.
    struct Span {
        let from: Sample
        let to: Sample

        var seconds: Double { Double((to.time - from.time).microseconds) / 1_000_000 }

        func perSecond(_ count: (Sample) -> Int) -> Double {
            seconds > 0 ? Double(count(to) - count(from)) / seconds : 0
        }

        func histogram(_ histogram: (Sample) -> DurationHistogram) -> DurationHistogram { histogram(to) - histogram(from) }
    }

    private static let interval = Duration.seconds(5)
    /// A span has at least so much, once there is so much.
    private static let window = Duration.seconds(10)

    /// Four at most.
    private(set) var samples: Deque<Sample> = []

    /// Whether a tick shall take a sample.
    func isDue(now: Timestamp) -> Bool { samples.last.map { now - $0.time >= Self.interval } ?? true }

    mutating func take(_ sample: Sample) {
        samples.append(sample)
        while samples.count > 1, sample.time - samples[1].time >= Self.window { samples.removeFirst() }
    }

    /// From the oldest sample to this one: 10 to 15 seconds, or since the start; nil before the first tick.
    func span(to sample: Sample) -> Span? { samples.first.map { Span(from: $0, to: sample) } }
}

extension DurationHistogram {
    /// What was added since then.
    static func - (a: DurationHistogram, b: DurationHistogram) -> DurationHistogram {
        DurationHistogram(buckets: zip(a.buckets, b.buckets).map { $0 - $1 }, microseconds: a.microseconds - b.microseconds)
    }

    /// The duration in seconds that so many of a hundred do not exceed, as far as buckets tell: within one, durations are taken to be spread evenly.
    /// Of the last bucket it is the lower bound. Nil if there are none.
    func percentile(_ percent: Int) -> Double? {
        let rank = Double(count) * Double(percent) / 100
        var below = 0
        for (index, number) in buckets.enumerated() where number > 0 {
            guard Double(below + number) >= rank else {
                below += number
                continue
            }
            let lower = index == 0 ? 0 : Self.seconds(DurationBuckets.bounds[index - 1])
            guard index < DurationBuckets.bounds.count else { return lower }
            let upper = Self.seconds(DurationBuckets.bounds[index])
            return min(upper, lower + (upper - lower) * (rank - Double(below)) / Double(number))
        }
        return nil
    }

    private static func seconds(_ duration: Duration) -> Double { Double(duration.microseconds) / 1_000_000 }
}
