/// How many may pass in a time, and how many at once after a pause.
///
/// A bucket is one number: the time at which it will be full again (the “generic cell rate algorithm” of ATM). Each token that is taken
/// moves it by the time that one takes to come back. A bucket that is full is no different from none.
package struct TokenBucket: Equatable, Sendable {
    /// How fast tokens come back, and for how many there is room.
    package struct Pace: Equatable, Sendable {
        /// The time that one token takes, in nanoseconds.
        fileprivate let pause: Int64
        /// The time that all of them take.
        fileprivate let depth: Int64

        /// - Parameter most: how many tokens a second has at most.
        package init(_ count: Int, per interval: Duration, burst: Int, most: Int) {
            let (nanoseconds, overflow) = interval.microseconds.multipliedReportingOverflow(by: 1_000)
            let whole = overflow ? (interval < .zero ? 0 : .max) : nanoseconds
            pause = max(1_000_000_000 / Int64(max(1, most)), whole / Int64(max(1, count)))
            let (depth, isTooDeep) = pause.multipliedReportingOverflow(by: Int64(max(1, burst)))
            self.depth = isTooDeep ? .max : depth
        }
    }

    /// In nanoseconds since 1970. At the ends of its range, in the year 2262, everything passes.
    private var full: Int64

    /// A full one.
    package init() {
        full = .min
    }

    /// An empty one.
    package init(emptyAt now: Timestamp, _ pace: Pace) {
        full = Self.sum(Self.nanoseconds(now), pace.depth)
    }

    /// From when on it is full, unless something is taken.
    package var timeWhenFull: Timestamp { Self.timestamp(full) }

    /// The same for half of it.
    package func timeWhenHalfFull(_ pace: Pace) -> Timestamp { Self.timestamp(Self.sum(full, -(pace.depth / 2))) }

    /// When there are so many tokens; never, if there is no room for them. It is in the past if they are there.
    ///
    /// Clocks have whole microseconds, so a token is there less than one of them early. Else each would come late by as much, and the pace
    /// would not be reached.
    package func next(_ tokens: Int = 1, _ pace: Pace) -> Timestamp {
        let (needed, overflow) = pace.pause.multipliedReportingOverflow(by: Int64(tokens))
        guard !overflow, needed <= pace.depth else { return Timestamp(microseconds: .max) }
        return Self.timestamp(Self.sum(full, needed - pace.depth))
    }

    /// Takes a token; false if there is none.
    package mutating func take(_ pace: Pace, now: Timestamp) -> Bool {
        guard next(1, pace) <= now else { return false }
        full = Self.sum(max(full, Self.nanoseconds(now)), pace.pause)
        return true
    }

    /// Takes so many tokens, also those that are not there: none passes until they have come back.
    package mutating func spend(_ tokens: Int, _ pace: Pace, now: Timestamp) {
        let (price, overflow) = pace.pause.multipliedReportingOverflow(by: Int64(tokens))
        full = Self.sum(max(full, Self.nanoseconds(now)), overflow ? .max : price)
    }

    /// Goes on at another pace with the tokens that are there, as far as there is room for them: to change the pace gives none.
    package mutating func change(from former: Pace, to pace: Pace, now: Timestamp) {
        let now = Self.nanoseconds(now)
        let there = Int128(former.depth) - max(0, Int128(full) - Int128(now))
        let scaled = there * Int128(pace.pause) / Int128(former.pause)
        full = Self.sum(now, Int64(clamping: Int128(pace.depth) - min(Int128(pace.depth), scaled)))
    }

    private static func timestamp(_ nanoseconds: Int64) -> Timestamp {
        Timestamp(microseconds: nanoseconds / 1_000 - (nanoseconds % 1_000 < 0 ? 1 : 0))
    }

    private static func nanoseconds(_ time: Timestamp) -> Int64 {
        let (nanoseconds, overflow) = time.microseconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? (time.microseconds < 0 ? .min : .max) : nanoseconds
    }

    private static func sum(_ a: Int64, _ b: Int64) -> Int64 {
        let (sum, overflow) = a.addingReportingOverflow(b)
        return overflow ? (b < 0 ? .min : .max) : sum
    }
}
