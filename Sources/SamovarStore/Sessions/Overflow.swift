import SamovarCore
import SamovarWire

/// Clients for whom there is no room are told when to come again, one after the other: a crowd that came back together would take more of
/// the store than those who are in.
struct Overflow {
    /// Clients that may be connected at a time.
    let limit: Int
    /// How many were sent away.
    private(set) var count = 0
    /// When those who were sent away come again.
    private var comebacks = TokenBucket()

    /// So many may come again in a second, each with a handshake.
    private static let pace = TokenBucket.Pace(100, per: .seconds(1), burst: 1, most: 100)
    private static let shortestWait = Duration.seconds(5)
    /// What clients take for an answer.
    private static let longestWait = Duration.seconds(60)

    init(limit: Int) {
        self.limit = limit
    }

    /// Operators get in: somebody must be able to see why others do not, and the sessions of their keys are few.
    func admits(_ key: Key?, beside connected: Int) -> Bool {
        connected < limit || key?.roles.contains(.operator) ?? false
    }

    mutating func sendAway(_ route: Route, now: Timestamp, _ out: inout Outlet) {
        count += 1
        out.warn(count, "\(limit) clients are connected, and no more are taken until some leave", words: "sent away so far")
        let wait = min(max(comebacks.next(1, Self.pace) - now, Self.shortestWait), Self.longestWait)
        if wait < Self.longestWait { comebacks.spend(1, Self.pace, now: now) }
        out.refuse(route, "\(limit) clients are connected, which is the limit of the store", wait: wait)
    }
}
