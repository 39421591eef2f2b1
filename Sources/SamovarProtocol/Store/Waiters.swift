import SamovarCore

/// Requests that wait: for a chain of effects to settle, or for a turn to happen.
struct Waiters {
    private(set) var settling: [Int: [Route]] = [:]
    /// What those who wait for a turn to settle are told, by turn.
    private(set) var reports: [Int: String] = [:]
    /// Ticks since they were made.
    private var ticksSinceReports = 0
    private(set) var views: [(route: Route, turn: Int)] = []
    private var settlingCount = 0
    private var outputs = Pages<EffectID>()
    private var viewPages = Pages<Int>()

    /// Requests for what comes after a place.
    private struct Pages<Place: Comparable> {
        private(set) var requests: [(route: Route, after: Place)] = []

        var count: Int { requests.count }

        /// False if there is no room; a repeated one replaces itself.
        mutating func insert(_ place: Place, _ route: Route, hasRoom: Bool) -> Bool {
            if requests.contains(where: { $0.route == route && $0.after == place }) { return true }
            if hasRoom { requests.append((route, place)) }
            return hasRoom
        }

        /// Takes those for what comes after a place before this one.
        mutating func take(before place: Place) -> [(route: Route, after: Place)] {
            guard requests.contains(where: { $0.after < place }) else { return [] }
            defer { requests.removeAll { $0.after < place } }
            return requests.filter { $0.after < place }
        }

        mutating func forget(_ route: Route) { requests.removeAll { $0.route == route } }
    }

    var count: Int { settlingCount + views.count + outputs.count + viewPages.count }

    mutating func settle(_ root: Int, route: Route) {
        guard settling[root]?.contains(route) != true else { return }
        settling[root, default: []].append(route)
        settlingCount += 1
    }

    mutating func takeSettled(_ root: Int) -> [Route] {
        let routes = settling.removeValue(forKey: root) ?? []
        settlingCount -= routes.count
        return routes
    }

    /// Called each tick: whether the reports shall be made anew. Less often where many effects have to be looked at.
    mutating func reportsAreDue(effects: Int, perTick: Int) -> Bool {
        guard !settling.isEmpty else {
            (reports, ticksSinceReports) = ([:], 0)
            return false
        }
        ticksSinceReports += 1
        return effects <= ticksSinceReports * perTick
    }

    mutating func report(_ texts: [Int: String]) {
        (reports, ticksSinceReports) = (texts, 0)
    }

    mutating func view(_ turn: Int, route: Route) {
        // A client asks again after a silence; the newest request stands for all of its own.
        views.removeAll { $0.route == route && $0.turn <= turn }
        views.append((route, turn))
    }

    mutating func takeViews(upTo head: Int) -> [Route] {
        guard views.contains(where: { $0.turn <= head }) else { return [] }
        let ready = views.filter { $0.turn <= head }.map(\.route)
        views.removeAll { $0.turn <= head }
        return ready
    }

    /// False if too many requests wait.
    mutating func outputs(after place: EffectID, route: Route, limit: Int) -> Bool {
        outputs.insert(place, route, hasRoom: count < limit)
    }

    /// Requests for outputs after a place before this one.
    mutating func takeOutputs(before last: EffectID) -> [(route: Route, after: EffectID)] { outputs.take(before: last) }

    /// False if too many requests wait.
    mutating func views(after turn: Int, route: Route, limit: Int) -> Bool {
        viewPages.insert(turn, route, hasRoom: count < limit)
    }

    /// Requests for the views of turns after one before this one.
    mutating func takeViewPages(before newest: Int) -> [(route: Route, after: Int)] { viewPages.take(before: newest) }

    mutating func forget(_ route: Route) {
        outputs.forget(route)
        viewPages.forget(route)
        views.removeAll { $0.route == route }
        for (root, routes) in settling where routes.contains(route) {
            let rest = routes.filter { $0 != route }
            settlingCount -= routes.count - rest.count
            settling[root] = rest.isEmpty ? nil : rest
        }
    }
}
