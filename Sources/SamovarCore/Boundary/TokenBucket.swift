/// How many may pass in a time, and how many at once after a pause.
///
/// A bucket is one number: the time at which it will be full again (the “generic cell rate algorithm” of ATM). Each token that is taken
/// moves it by the time that one takes to come back. A bucket that is full is no different from none.
package struct TokenBucket: Equatable, Sendable {
    /// How fast tokens come back, and for how many there is room.
    package struct Pace: Equatable, Sendable {
        /// The time that one token takes, in nanoseconds.
        fileprivate let pause: Int128
        /// The time that all of them take.
        fileprivate let depth: Int128

        /// - Parameter most: how many tokens a second has at most.
        package init(_ count: Int, per interval: Duration, burst: Int, most: Int) {
            let longest = Int128(Int64.max)
            let whole = min(Int128(interval.microseconds) * 1_000, longest)
            pause = max(1_000_000_000 / Int128(max(1, most)), whole / Int128(max(1, count)))
            depth = min(pause * Int128(max(1, burst)), longest)
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
        let missing = pace.pause * Int128(tokens) - pace.depth
        guard missing <= 0 else { return Timestamp(microseconds: .max) }
        return Self.timestamp(Self.sum(full, missing))
    }

    /// Takes a token; false if there is none.
    package mutating func take(_ pace: Pace, now: Timestamp) -> Bool {
        guard next(1, pace) <= now else { return false }
        spend(1, pace, now: now)
        return true
    }

    /// Takes so many tokens, also those that are not there: none passes until they have come back.
    package mutating func spend(_ tokens: Int, _ pace: Pace, now: Timestamp) {
        full = Self.sum(max(full, Self.nanoseconds(now)), pace.pause * Int128(tokens))
    }

    /// Goes on at another pace with the tokens that are there, as far as there is room for them: to change the pace gives none.
    package mutating func change(from former: Pace, to pace: Pace, now: Timestamp) {
        let now = Self.nanoseconds(now)
        let there = former.depth - max(0, Int128(full) - Int128(now))
        full = Self.sum(now, max(0, pace.depth - there * pace.pause / former.pause))
    }

    private static func timestamp(_ nanoseconds: Int64) -> Timestamp {
        Timestamp(microseconds: nanoseconds / 1_000 - (nanoseconds % 1_000 < 0 ? 1 : 0))
    }

    private static func nanoseconds(_ time: Timestamp) -> Int64 { Int64(clamping: Int128(time.microseconds) * 1_000) }

    private static func sum(_ a: Int64, _ b: Int128) -> Int64 { Int64(clamping: Int128(a) + b) }
}
