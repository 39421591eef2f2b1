import SamovarCore

/// When subscribers are told that nothing is left to do, without waiting for the tick of the next second.
///
/// Only if it lasts, and not again and again: a store that gets one input after the other comes to rest behind each view, and a tick would
/// hold up the view's delivery.
///
/// | state | busy | idle |
/// |---|---|---|
/// | nobody knows | – | a time is set: after a pause, and some time after the last notice |
/// | a time is set | it is forgotten | at that time: tell |
/// | told | nobody knows | – |
struct IdleNotice: Equatable {
    /// When subscribers are to be told, if it lasts.
    private(set) var due: Timestamp?
    private var wasTold = false
    private var toldAt: Timestamp?

    mutating func busy() {
        due = nil
        wasTold = false
    }

    /// The store has nothing to do. Whether subscribers are to be told now.
    mutating func idle(now: Timestamp, pause: Duration, interval: Duration) -> Bool {
        guard !wasTold else { return false }
        let due = due ?? max(now + pause, toldAt.map { $0 + interval } ?? now)
        guard due <= now else {
            self.due = due
            return false
        }
        self.due = nil
        toldAt = now
        wasTold = true
        return true
    }
}
