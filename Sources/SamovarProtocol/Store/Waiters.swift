import SamovarCore

/// Requests that wait: for a chain of effects to settle, or for a turn to happen.
struct Waiters {
    private(set) var settling: [Int: [Route]] = [:]
    private(set) var views: [(route: Route, turn: Int)] = []
    private var settlingCount = 0

    var count: Int { settlingCount + views.count }

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

    mutating func forget(_ route: Route) {
        views.removeAll { $0.route == route }
        for (root, routes) in settling where routes.contains(route) {
            let rest = routes.filter { $0 != route }
            settlingCount -= routes.count - rest.count
            settling[root] = rest.isEmpty ? nil : rest
        }
    }
}
