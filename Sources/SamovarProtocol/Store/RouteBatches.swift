/// Entries for several peers, gathered during a round and sent as one frame each, in the order in which peers first appeared:
/// the same events always give the same frames.
struct RouteBatches<Entry> {
    private var order: [Route] = []
    private var entries: [Route: [Entry]] = [:]

    mutating func append(_ entry: Entry, for route: Route) {
        if entries[route] == nil { order.append(route) }
        entries[route, default: []].append(entry)
    }

    mutating func remove(_ route: Route) {
        guard entries.removeValue(forKey: route) != nil else { return }
        order.removeAll { $0 == route }
    }

    mutating func takeAll() -> [(route: Route, entries: [Entry])] {
        guard !order.isEmpty else { return [] }
        let all = order.compactMap { route in entries[route].map { (route, $0) } }
        order.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        return all
    }
}
