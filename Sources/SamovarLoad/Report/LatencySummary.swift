/// A histogram as a report shows it.
public struct LatencySummary: Codable, Equatable, Sendable {
    public struct Point: Codable, Equatable, Sendable {
        public var percentile: Double
        public var microseconds: Int64

        public init(percentile: Double, microseconds: Int64) {
            self.percentile = percentile
            self.microseconds = microseconds
        }
    }

    public var count: Int
    /// In microseconds.
    public var mean: Double
    /// By `percentiles`; empty if nothing was measured.
    public var curve: [Point]

    public init(count: Int, mean: Double, curve: [Point]) {
        self.count = count
        self.mean = mean
        self.curve = curve
    }

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
