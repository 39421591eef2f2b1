import SamovarCore

/// When the next view is due: at once after a pause, and then no more often than readers can use and the store can afford.
///
/// No view is due once one could not be made, for the rest of this start.
struct ViewPublisher {
    /// Why no views are made any more; nil while they are.
    var off: String?
    /// The turn of the newest published view; 0 before the first.
    private(set) var published = 0
    /// The turn up to which the view was looked at, changed or not.
    private var examined = 0
    private var last: [UInt8] = []
    private var time: Timestamp?
    private var cost: Duration = .zero

    /// Nil if the newest view is of the newest turn.
    func dueTime(head: Int, settings: StoreSettings) -> Timestamp? {
        guard off == nil, head > examined else { return nil }
        guard let time else { return Timestamp(microseconds: .min) }
        return time + max(settings.viewInterval, cost * settings.viewCostFactor)
    }

    /// Notes a view; true if it differs from the last one, and so shall be published.
    mutating func take(_ bytes: [UInt8], turn: Int, now: Timestamp) -> Bool {
        examined = turn
        time = now
        guard published == 0 || bytes != last else { return false }
        last = bytes
        published = turn
        return true
    }

    mutating func note(cost: Duration) {
        self.cost = max(.zero, cost)
    }

    /// Whether nobody waits for a newer one.
    func isCurrent(head: Int) -> Bool { off != nil || examined == head }
}
