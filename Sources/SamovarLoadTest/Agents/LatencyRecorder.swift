import Histogram
import SamovarLoad

/// An HDR histogram of latencies in microseconds: three significant digits, from 1 µs to an hour.
struct LatencyRecorder: Sendable {
    private var histogram: Histogram<UInt64>

    private static let longest: UInt64 = 3_600_000_000

    init() {
        histogram = Histogram(highestTrackableValue: Self.longest, numberOfSignificantValueDigits: .three)
    }

    /// Several histograms as one. Nothing is lost by that: equal buckets are added.
    init(merging parts: some Sequence<Distribution>) {
        self.init()
        for part in parts {
            for (value, count) in zip(part.values, part.counts) { histogram.record(min(value, Self.longest), count: count) }
        }
    }

    /// Notes a latency in microseconds: 1 to an hour, what is beyond is taken for the nearest.
    mutating func record(_ microseconds: Int64) {
        histogram.record(UInt64(min(max(1, microseconds), Int64(Self.longest))))
    }

    /// The numbers, to be sent to another process.
    var distribution: Distribution {
        var result = Distribution()
        for bucket in histogram.recordedValues() {
            result.values.append(bucket.value)
            result.counts.append(bucket.count)
        }
        return result
    }

    /// The numbers since the last call.
    mutating func take() -> Distribution {
        guard histogram.totalCount > 0 else { return Distribution() }
        defer { histogram.reset() }
        return distribution
    }

    var summary: LatencySummary {
        guard histogram.totalCount > 0 else { return LatencySummary(count: 0, mean: 0, curve: []) }
        let curve = LatencySummary.percentiles.map {
            LatencySummary.Point(percentile: $0, microseconds: Int64(histogram.valueAtPercentile($0)))
        }
        return LatencySummary(count: Int(histogram.totalCount), mean: histogram.mean, curve: curve)
    }
}

/// A histogram as a report shows it.
struct LatencySummary: Equatable, Sendable {
    struct Point: Equatable, Sendable {
        /// From 0 to 100.
        let percentile: Double
        /// What so many of the values do not exceed.
        let microseconds: Int64
    }

    let count: Int
    /// In microseconds.
    let mean: Double
    /// By `percentiles`; empty if nothing was measured.
    let curve: [Point]

    /// Where the curve is taken: ever closer to the worst case.
    static let percentiles: [Double] = [
        0, 10, 25, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995, 99.999, 100,
    ]

    /// The figures that everybody asks for, by their names.
    static let headline: [(name: String, percentile: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("max", 100),
    ]

    /// In microseconds; nil if nothing was measured, or the curve has no such point.
    func value(at percentile: Double) -> Int64? {
        curve.first { $0.percentile == percentile }?.microseconds
    }
}
