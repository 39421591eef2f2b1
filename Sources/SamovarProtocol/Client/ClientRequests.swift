import SamovarCore

/// What a client has asked for and was not told yet. Asking twice does no harm, so all of it is asked again after a new
/// WELCOME, and every few seconds.
struct ClientRequests: Equatable {
    private var turns: Set<Int> = []
    /// The turn that the asked view must have at least.
    private var views: [Instance: Int] = [:]
    private(set) var repeatAt: Timestamp?

    var count: Int { turns.count + views.count }

    /// The requests, in a fixed order.
    var frames: [Frame] {
        turns.sorted().map { .settle(turn: $0) }
            + views.sorted { $0.key < $1.key }.map { .viewRequest(instance: $0.key, atLeast: $0.value) }
    }

    mutating func add(_ frame: Frame) {
        switch frame {
        case .settle(let turn): turns.insert(turn)
        case .viewRequest(let instance, let turn): views[instance] = max(turn, views[instance] ?? turn)
        default: break
        }
    }

    var isWaitingForView: Bool { !views.isEmpty }

    func isWaiting(for turn: Int) -> Bool { turns.contains(turn) }

    /// False if nobody asked.
    mutating func settled(_ turn: Int) -> Bool {
        let isWanted = turns.remove(turn) != nil
        pauseIfEmpty()
        return isWanted
    }

    /// False if nobody asked. An older view than asked for is shown, and still waited for.
    mutating func viewed(_ instance: Instance, _ turn: Int) -> Bool {
        guard let wanted = views[instance] else { return false }
        if turn >= wanted { views[instance] = nil }
        pauseIfEmpty()
        return true
    }

    mutating func asked(_ now: Timestamp, again: Duration) {
        repeatAt = count == 0 ? nil : now + again
    }

    mutating func pause() {
        repeatAt = nil
    }

    /// The turns of one timeline mean nothing in another: no settle request stays, and any view will do.
    mutating func dropTurns() -> [Int] {
        defer {
            turns.removeAll()
            for instance in views.keys { views[instance] = 0 }
        }
        return turns.sorted()
    }

    private mutating func pauseIfEmpty() {
        if count == 0 { repeatAt = nil }
    }
}
