/// A point in time: microseconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// The journal keeps one timestamp per turn, and `Turn.now` hands it to `update`; inside a program there is no other clock.
public struct Timestamp: Hashable, Comparable, Codable, Sendable, BitwiseCopyable {
    /// Since 1970-01-01T00:00:00Z; negative before.
    public let microseconds: Int64

    /// This many microseconds after 1970-01-01T00:00:00Z.
    @inlinable
    public init(microseconds: Int64) {
        self.microseconds = microseconds
    }

    /// Reads the microseconds as one integer.
    @inlinable
    public init(from decoder: any Decoder) throws {
        microseconds = try decoder.singleValueContainer().decode(Int64.self)
    }

    /// Writes the microseconds as one integer.
    @inlinable
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(microseconds)
    }

    /// The earlier is less.
    @inlinable
    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.microseconds < b.microseconds }

    /// The point in time `duration` later; saturates at the ends of the range, so a hostile duration cannot trap.
    public static func + (time: Timestamp, duration: Duration) -> Timestamp {
        let (sum, overflow) = time.microseconds.addingReportingOverflow(duration.microseconds)
        guard overflow else { return Timestamp(microseconds: sum) }
        return Timestamp(microseconds: duration < .zero ? .min : .max)
    }

    /// The time from `earlier` to `later`; negative if they are the other way round.
    public static func - (later: Timestamp, earlier: Timestamp) -> Duration {
        let (difference, overflow) = later.microseconds.subtractingReportingOverflow(earlier.microseconds)
        guard overflow else { return .microseconds(difference) }
        return .microseconds(later > earlier ? Int64.max : Int64.min)
    }
}

extension Duration {
    /// This duration in whole microseconds, rounded towards zero; saturates beyond 292,000 years.
    public var microseconds: Int64 {
        // A duration may have more seconds than its components can hold, which would trap.
        guard self < .microseconds(Int64.max) else { return .max }
        guard self > .microseconds(Int64.min) else { return .min }
        let (seconds, fraction) = components
        return seconds * 1_000_000 + fraction / 1_000_000_000_000
    }

    /// As the journal keeps it: what is in memory must be no other than what a restart finds.
    @usableFromInline var inWholeMicroseconds: Duration { self == .zero ? self : .microseconds(microseconds) }
}
