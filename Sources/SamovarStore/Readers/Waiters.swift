import SamovarCore

/// Requests that wait: for a chain of effects to settle, or for a turn to happen.
struct Waiters {
    enum Wish: Equatable {
        /// Nothing is open under this root any more.
        case settled(Int)
        /// A view that is at least as new as this turn.
        case view(Int)
        case outputs(after: EffectID)
        /// The views of turns after this one.
        case views(after: Int)

        /// Only who may send may have it.
        fileprivate var isOfSenders: Bool {
            switch self {
            case .settled, .outputs: true
            case .view, .views: false
            }
        }
    }

    private struct Request: Equatable {
        let route: Route
        let wish: Wish
    }

    /// In the order in which they came.
    private var requests: [Request] = []
    /// What those who wait for a turn to settle are told, by turn.
    private(set) var reports: [Int: String] = [:]
    /// Ticks since they were made.
    private var ticksSinceReports = 0

    var count: Int { requests.count }

    /// Who waits for a root to settle, by root.
    var settling: [Int: [Route]] {
        requests.reduce(into: [:]) { settling, request in
            if case .settled(let root) = request.wish { settling[root, default: []].append(request.route) }
        }
    }

    /// Lets a request wait; false if there is no room for it. A repeated one is no other.
    ///
    /// - Parameter limitOfEach: how many of one connection may wait, so that no client takes the places of all others.
    @discardableResult
    mutating func insert(_ wish: Wish, for route: Route, limit: Int = .max, limitOfEach: Int = .max) -> Bool {
        let request = Request(route: route, wish: wish)
        if requests.contains(request) { return true }
        // A client asks again after a silence; the newest request for a view stands for all of its own.
        if case .view(let turn) = wish {
            requests.removeAll { if case .view(...turn) = $0.wish { $0.route == route } else { false } }
        }
        guard count < limit, requests.count(where: { $0.route == route }) < limitOfEach else { return false }
        requests.append(request)
        return true
    }

    /// Takes those whose wish is fulfilled, with what `answer` makes of it.
    mutating func take<Answer>(_ answer: (Wish) -> Answer?) -> [(route: Route, answer: Answer)] {
        let taken = requests.compactMap { request in answer(request.wish).map { (request.route, $0) } }
        if !taken.isEmpty { requests.removeAll { answer($0.wish) != nil } }
        return taken
    }

    mutating func forget(_ route: Route) { requests.removeAll { $0.route == route } }

    /// Forgets what is for senders alone, but for routes that may send. One look at all, however many may not.
    mutating func forgetSettlesAndOutputs(unless maySend: (Route) -> Bool) {
        requests.removeAll { $0.wish.isOfSenders && !maySend($0.route) }
    }

    /// Called each tick: whether the reports shall be made anew. Less often where many effects have to be looked at.
    mutating func reportsAreDue(effects: Int, perTick: Int) -> Bool {
        guard !settling.isEmpty else {
            report([:])
            return false
        }
        ticksSinceReports += 1
        return effects <= ticksSinceReports * perTick
    }

    mutating func report(_ texts: [Int: String]) {
        (reports, ticksSinceReports) = (texts, 0)
    }
}
