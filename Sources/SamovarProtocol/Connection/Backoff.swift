import SamovarCore

/// The pauses between attempts to reach the store: each is drawn from zero up to a ceiling that doubles (“full jitter”), so
/// that a thousand peers that lost the store together do not come back together.
struct Backoff: Equatable {
    let first: Duration
    let maximum: Duration
    private var ceiling: Duration

    init(first: Duration, maximum: Duration) {
        self.first = min(first, maximum)
        self.maximum = maximum
        ceiling = self.first
    }

    /// No attempt has failed since the last success.
    private(set) var isFresh = true

    mutating func next(_ random: inout Random) -> Duration {
        let pause = Duration.microseconds(Int64.random(in: 0...max(0, ceiling.microseconds), using: &random))
        ceiling = min(ceiling * 2, maximum)
        isFresh = false
        return pause
    }

    mutating func reset() {
        ceiling = first
        isFresh = true
    }
}
