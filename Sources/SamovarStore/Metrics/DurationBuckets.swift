import SamovarCore

/// The buckets of all histograms: their bounds are powers of four, from 64 µs, about one `fdatasync` of a fast disk, to 67 s, beyond which the
/// age of the oldest effect says more. So twelve of them span six orders of magnitude, none is off by more than a factor of four, and which one
/// a duration belongs to is found by counting bits.
enum DurationBuckets {
    static let count = 12
    /// The smallest bound is four to this power, in microseconds.
    private static let first = 3

    /// The greatest duration of each bucket but the last, which has no bound.
    static let bounds: [Duration] = (0..<count - 1).map { .microseconds(1 << (2 * (first + $0))) }

    /// The bucket of so many microseconds, its bound included.
    @inline(__always)
    static func index(ofMicroseconds duration: Int64) -> Int {
        // A duration is at most 4^k if one less needs no more than 2 k bits.
        let bits = Int64.bitWidth - max(0, duration &- 1).leadingZeroBitCount
        return min(max((bits + 1) / 2 - first, 0), count - 1)
    }
}

/// How often something took how long.
struct DurationHistogram: Equatable, Sendable {
    /// How often it fell into each bucket.
    private(set) var buckets = [Int](repeating: 0, count: DurationBuckets.count)
    private(set) var microseconds = 0

    var count: Int { buckets.reduce(0, +) }

    mutating func add(_ duration: Duration) {
        let duration = max(0, duration.microseconds)
        buckets[DurationBuckets.index(ofMicroseconds: duration)] += 1
        microseconds &+= Int(duration)
    }

    mutating func add(_ other: DurationHistogram) {
        for index in buckets.indices { buckets[index] += other.buckets[index] }
        microseconds &+= other.microseconds
    }
}
