import SamovarCore

/// The pauses between attempts to reach the store: each is drawn from zero up to a ceiling (“full jitter”), so that a thousand
/// peers that lost the store together do not come back together.
///
/// The ceiling rises by half of the first one at a time, up to ten of the first, and doubles beyond. A store that was killed is back
/// within about a tenth of a second; with a ceiling that doubled from the beginning, a peer that just missed it would stay away for
/// as long as the store did, and longer.
struct Backoff: Equatable {
    let first: Duration
    let maximum: Duration
    private var ceiling: Duration

    /// Up to so many first pauses, the ceiling does not double.
    private static let gentleRise = 10

    init(first: Duration, maximum: Duration) {
        self.first = min(first, maximum)
        self.maximum = maximum
        ceiling = self.first
    }

    /// No attempt has failed since the last success.
    private(set) var isFresh = true

    mutating func next(_ random: inout Random) -> Duration {
        let pause = Duration.microseconds(Int64.random(in: 0...max(0, ceiling.microseconds), using: &random))
        ceiling = min(ceiling < first * Self.gentleRise ? ceiling + first / 2 : ceiling * 2, maximum)
        isFresh = false
        return pause
    }

    mutating func reset() {
        ceiling = first
        isFresh = true
    }
}
