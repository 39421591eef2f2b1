/// The times of stores that share a journal.
///
/// They hang together: `lease` is longer than `doubtAfter` by more than clocks run apart meanwhile, so that who lost its lease has fallen
/// silent before another takes the journal; and in `doubtAfter` there is time for more than one renewal.
public struct LeaseSettings: Equatable, Sendable {
    /// For how long a renewal holds, by the clock of the database.
    public var lease = Duration.seconds(10)
    /// How often an owner renews its lease.
    public var renewEvery = Duration.milliseconds(2_500)
    /// The pause after a renewal that failed.
    public var retryAfter = Duration.milliseconds(500)
    /// For how long an owner acts on a lease, by its own clock.
    public var doubtAfter = Duration.seconds(7)
    /// How often a standby looks at the journal.
    public var lookEvery = Duration.milliseconds(150)
    /// The same while it waits for an owner to release it.
    public var lookEveryWhileWaiting = Duration.milliseconds(20)
    /// How long it looks that often. The wish remains.
    public var waitingTime = Duration.seconds(60)
    /// For how long the lock of an owner must have been seen free, to take it for dead.
    public var freeFor = Duration.seconds(1)
    /// A standby is warm if it reaches the end of the journal within this time of having looked where that is.
    public var warmWithin = Duration.seconds(1)

    public init() {}
}
