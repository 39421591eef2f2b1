import SamovarCore

/// The attempts to reach a store that may be at several places: each place is tried once and at once, and then comes a pause.
///
/// The idea: a store that has moved is found within one round over the places, and one that is away is not hammered. A pause also comes
/// after a success, before the first attempt: peers that lost a store together do not come back together, wherever it is. What a place
/// says of when to come again holds for the pause, and does not keep the others from being tried.
///
/// With keys, an attempt keeps a store busy, and one that has failed after seconds was one of too many. The pause may be as long as the
/// shortest attempt before it took: else all who have failed are back at once, and nobody of a crowd gets in. Where one place refuses at once,
/// another that says nothing is away, and not busy.
struct Attempts: Equatable {
    /// How many there are, as far as is known; at least 1.
    var places = 1
    /// Since the last pause or success.
    private var count = 0
    /// The longest that a place has asked for since then.
    private var wait = Duration.zero
    /// Why a place has not taken our key since then.
    private var refusal: String?
    /// The key that this attempt shows, as far as is known.
    var shown: Fingerprint?
    /// The one that a place has not taken last.
    private var refused: Fingerprint?
    /// The next attempt with another key has to wait, too.
    private var hasHurried = false
    private var backoff: Backoff
    /// When the attempt that goes on has begun; nil if there is none.
    private var began: Timestamp?
    /// How long the shortest attempt took since the last pause or success.
    private var shortest: Duration?
    private let isKeyed: Bool

    /// - Parameter handshake: how long an attempt waits for the handshake of keys; zero without.
    init(first: Duration, longest: Duration, handshake: Duration) {
        backoff = Backoff(first: first, maximum: longest)
        isKeyed = handshake > .zero
    }

    /// Nothing was tried since the last pause or success.
    var isPausing: Bool { count == 0 }

    mutating func begin(_ now: Timestamp) {
        count += 1
        began = now
    }

    mutating func succeed() {
        startOver()
        began = nil
        hasHurried = false
        backoff.reset()
    }

    /// The place that is tried does not take our key, and says why.
    mutating func refuse(_ reason: String) {
        refusal = reason
        refused = shown
    }

    /// Whether the next attempt need not wait, since the peer has this key by now, and another one was refused: once, so that two files that
    /// take turns do not make a peer hammer.
    mutating func hurries(with key: Fingerprint?) -> Bool {
        hasHurried = !hasHurried && key != nil && refused != nil && key != refused
        return hasHurried
    }

    /// The attempt has failed, or the connection is lost.
    ///
    /// - Returns: how long to wait for the next attempt; and after the last place, why our key was not taken, if it was not.
    mutating func fail(
        atLeast asked: Duration = .zero, _ now: Timestamp, _ random: inout Random
    ) -> (pause: Duration, refusal: String?) {
        wait = max(wait, asked)
        if let began = began.take() { shortest = min(shortest ?? now - began, now - began) }
        if count > 0, count < places { return (.zero, nil) }
        if let shortest, isKeyed { backoff.rise(to: shortest) }
        let refused = refusal
        var pause = wait + backoff.next(&random)
        // A key is not good again within a moment.
        if refused != nil { pause = max(pause, backoff.longest(&random)) }
        startOver()
        return (pause, refused)
    }

    private mutating func startOver() {
        count = 0
        wait = .zero
        refusal = nil
        shortest = nil
    }
}

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

    mutating func next(_ random: inout Random) -> Duration {
        let pause = Duration.microseconds(Int64.random(in: 0...max(0, ceiling.microseconds), using: &random))
        ceiling = min(ceiling < first * Self.gentleRise ? ceiling + first / 2 : ceiling * 2, maximum)
        return pause
    }

    /// The ceiling is at least this high.
    mutating func rise(to height: Duration) {
        ceiling = min(max(ceiling, height), maximum)
    }

    /// Between half and the whole of the longest pause.
    func longest(_ random: inout Random) -> Duration {
        maximum / 2 + .microseconds(Int64.random(in: 0...max(0, (maximum / 2).microseconds), using: &random))
    }

    mutating func reset() {
        ceiling = first
    }
}
