import SamovarCore

/// The store's own time, and its ticks.
///
/// A wall clock that was set back while the store was down must not hold time, or nothing would be due until it has caught up: the
/// store's time goes on from the newest record.
struct StoreClock {
    /// When this process began to serve.
    private(set) var started = Timestamp(microseconds: 0)
    private(set) var nextTick = Timestamp(microseconds: 0)
    /// How far the newest record was ahead of the host's clock at the start.
    private(set) var lead = Duration.zero
    /// How far the machine's clock was ahead of the store's time when that was last told.
    private var told = Duration.zero
    /// What the clocks of two machines may differ by, or one that was adjusted.
    static let usualLead = Duration.seconds(10)

    init() {}

    /// - Parameters:
    ///   - host: what the host's clock says at the start.
    ///   - newest: the time of the newest record.
    init(startingAt host: Timestamp, newest: Timestamp) {
        lead = max(.zero, newest - host)
        told = .zero - lead
        started = time(host, newest: newest)
        nextTick = started
    }

    /// The store's time when the host's clock says `host`; never before the newest record.
    func time(_ host: Timestamp, newest: Timestamp) -> Timestamp { max(host + lead, newest) }

    /// Begins a tick if one is due, and says how late it is.
    mutating func tick(now: Timestamp, interval: Duration) -> Duration? {
        guard now >= nextTick else { return nil }
        defer { nextTick = now + interval }
        return now - nextTick
    }

    /// Compares the store's time with the machine's clock, which somebody may have set since the start.
    ///
    /// - Parameter step: how far that is ahead of the host's clock.
    /// - Returns: how far it is ahead of the store's time, if that is not about what was last told.
    mutating func strayed(_ step: Duration) -> Duration? {
        let ahead = step - lead
        guard max(ahead - told, told - ahead) > Self.usualLead else { return nil }
        told = ahead
        return ahead
    }
}
