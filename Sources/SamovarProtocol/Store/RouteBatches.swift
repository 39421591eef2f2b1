/// Entries for several peers, gathered during a round and sent as one frame each, in the order in which peers first appeared:
/// the same events always give the same frames.
struct RouteBatches<Entry> {
    private var batches: [(route: Route, entries: [Entry])] = []
    private var places: [Route: Int] = [:]
    /// Where the newest entry is: the next is likely to be for the same peer.
    private var last = 0

    mutating func append(_ entry: Entry, for route: Route) {
        if !batches.isEmpty, batches[last].route == route { return batches[last].entries.append(entry) }
        if let place = places[route] {
            last = place
            batches[place].entries.append(entry)
        } else {
            last = batches.count
            places[route] = last
            batches.append((route, [entry]))
        }
    }

    mutating func remove(_ route: Route) {
        guard let place = places.removeValue(forKey: route) else { return }
        batches.remove(at: place)
        for (index, batch) in batches.enumerated().dropFirst(place) { places[batch.route] = index }
        last = 0
    }

    mutating func takeAll() -> [(route: Route, entries: [Entry])] {
        guard !batches.isEmpty else { return [] }
        defer { self = RouteBatches() }
        return batches
    }
}
