/// A histogram as a report shows it.
public struct LatencySummary: Equatable, Sendable {
    /// A place of the curve.
    public struct Point: Equatable, Sendable {
        /// From 0 to 100.
        public let percentile: Double
        /// What so many of the values do not exceed.
        public let microseconds: Int64
    }

    /// How many values there are.
    public let count: Int
    /// In microseconds.
    public let mean: Double
    /// By `percentiles`; empty if nothing was measured.
    public let curve: [Point]

    /// Where the curve is taken: ever closer to the worst case.
    public static let percentiles: [Double] = [
        0, 10, 25, 50, 60, 70, 75, 80, 85, 90, 92.5, 95, 97.5, 99, 99.5, 99.75, 99.9, 99.95, 99.99, 99.995, 99.999, 100,
    ]

    /// The figures that everybody asks for, by their names.
    public static let headline: [(name: String, percentile: Double)] = [
        ("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9), ("max", 100),
    ]

    /// In microseconds; nil if nothing was measured, or the curve has no such point.
    public func value(at percentile: Double) -> Int64? {
        curve.first { $0.percentile == percentile }?.microseconds
    }
}
