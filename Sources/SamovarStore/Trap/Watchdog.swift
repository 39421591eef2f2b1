public import SamovarCore

/// Notices a call into the program that does not return.
///
/// An endless loop in `update` raises no signal, and no one else can say what is wrong: the store's loop is in it, and answers nobody. So
/// another thread looks now and then, and says it: after a limit, and then each time that the call has lasted twice as long.
/// It is only told. To end the process would lose nothing, but what is slow once may be in order, and what is endless would be
/// taken up again after the restart.
public struct Watchdog: Sendable {
    /// What is to be told.
    public enum Event: Equatable, Sendable, CustomStringConvertible {
        /// It has lasted this long at least, and is still under way.
        case lasts(WatchdogPulse.Call, Duration)
        /// One of which that was told has returned.
        case returned(WatchdogPulse.Call, Duration)

        /// As a sentence for the log.
        public var description: String {
            switch self {
            case .lasts(let call, let time):
                """
                the program has not returned for \(time.components.seconds) s since the store \(call.call.activity), after turn \
                \(call.turn): until it does, nobody is answered
                """
            case .returned(let call, let time):
                "the program has returned after \(time.components.seconds) s, in which the store \(call.call.activity)"
            }
        }
    }

    private struct Watched {
        let call: WatchdogPulse.Call
        let since: Timestamp
        /// How long it may last until that is told.
        var limit: Duration
        var isTold = false
    }

    private let limit: Duration
    private var watched: Watched?

    /// - Parameter limit: how long a call may last without a word; at least a millisecond.
    public init(limit: Duration) {
        self.limit = max(limit, .milliseconds(1))
    }

    /// How often to look.
    public var interval: Duration { min(max(limit / 4, .milliseconds(10)), .seconds(1)) }

    /// The call that is under way now, or none.
    public mutating func look(_ call: WatchdogPulse.Call?, now: Timestamp) -> Event? {
        guard var watched, watched.call.number == call?.number else {
            let former = watched
            watched = call.map { Watched(call: $0, since: now, limit: limit) }
            guard let former, former.isTold else { return nil }
            return .returned(former.call, now - former.since)
        }
        let time = now - watched.since
        guard time >= watched.limit else { return nil }
        while watched.limit <= time { watched.limit *= 2 }
        watched.isTold = true
        self.watched = watched
        return .lasts(watched.call, time)
    }
}
