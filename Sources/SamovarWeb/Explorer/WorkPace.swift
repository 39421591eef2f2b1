/// How much of the time the explorer may work that nobody waits for: all of it beside a store that rests, a twentieth beside one that is busy, since
/// reading 512 KiB of its journal costs the store one or two milliseconds.
struct WorkPace {
    /// A store that comes on faster is busy.
    static let busyTurnsPerSecond = 1_000.0
    /// So long a store is watched before it is judged.
    static let watch = Duration.seconds(1)
    /// Of the time that it worked.
    static let rest = 19

    private var seen: (turn: Int, at: ContinuousClock.Instant)?
    /// As long as nothing is known of the store, it may be.
    private var isBusy = true

    /// Whether it is time to look how far the store has come.
    func isDue(at now: ContinuousClock.Instant) -> Bool { seen.map { now - $0.at >= Self.watch } ?? true }

    /// The store has come so far.
    mutating func note(_ turn: Int, at now: ContinuousClock.Instant) {
        if let seen, now > seen.at {
            isBusy = Double(turn - seen.turn) > Self.busyTurnsPerSecond * ((now - seen.at) / .seconds(1))
        }
        seen = (turn, now)
    }

    /// How long nothing is done after a piece of work that took so long.
    func rest(after work: Duration) -> Duration { isBusy ? work * Self.rest : .zero }
}
