import DequeModule
import SamovarCore
import SamovarWire

/// The views of the newest turns, every one, while somebody reads them all.
///
/// Views are taken one by one only while there are readers, and for a while after the last has asked: its connection may have
/// broken. What is kept is limited. A reader that was too slow is told that views are missing, and the store never waits.
struct ViewHistory {
    private var kept: Deque<TurnView> = []
    private var bytes = 0
    /// All views of turns after this one are kept; nil if none are taken.
    private(set) var since: Int?
    /// Who reads, and when each asked last.
    private var readers: [Route: Timestamp] = [:]
    private var lastAsked = Timestamp(microseconds: 0)

    var isOpen: Bool { since != nil }

    /// Whether a reader is one already, or may become one.
    func hasRoom(for route: Route, limit: Int) -> Bool { readers[route] != nil || readers.count < limit }

    mutating func join(_ route: Route, head: Int, now: Timestamp) {
        readers[route] = now
        lastAsked = now
        if since == nil { since = head }
    }

    mutating func leave(_ route: Route) {
        readers[route] = nil
    }

    /// Ends the feed when nobody has asked for this long.
    mutating func ticked(now: Timestamp, linger: Duration) {
        readers = readers.filter { now - $0.value < linger }
        if readers.isEmpty, now - lastAsked >= linger { self = ViewHistory() }
    }

    mutating func append(_ views: [TurnView], limit: Int, bytes byteLimit: Int) {
        for view in views {
            kept.append(view)
            bytes += view.bytes.count
        }
        while kept.count > limit || bytes > byteLimit, kept.count > 1, let first = kept.popFirst() {
            bytes -= first.bytes.count
            since = first.turn
        }
    }

    var newest: Int { kept.last?.turn ?? since ?? 0 }

    func isComplete(after turn: Int) -> Bool {
        guard let since else { return false }
        return turn >= since
    }

    /// The views after a turn, as many as fit; at least one if there is one.
    func views(after turn: Int, bytes limit: Int) -> [TurnView] {
        kept.page(after: turn, bytes: limit, at: \.turn) { $0.bytes.count }
    }
}
