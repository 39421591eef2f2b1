public import SamovarCore
public import SamovarWire

/// The next part of something that goes on, after a place in one timeline; without a timeline, in whichever there is.
public enum PageRequest: Hashable, Sendable {
    case outputs(after: EffectID, in: Timeline?, waits: Bool)
    /// `ViewPage.now` for the current view.
    case views(after: Int, in: Timeline?)

    var timeline: Timeline? {
        switch self {
        case .outputs(_, let timeline, _), .views(_, let timeline): timeline
        }
    }
}

/// What a page request brought.
public enum Page: Equatable, Sendable {
    case outputs(OutputPage)
    case views(ViewPage)
}

/// What a client has asked for and was not told yet. Asking twice does no harm, so all of it is asked again after a new
/// WELCOME, and every few seconds.
struct ClientRequests {
    private var turns: Set<Int> = []
    /// Turns of which the store tells on this connection although nobody waits for them any more.
    private var givenUp: Set<Int> = []
    /// The turns that the asked views must have at least. For a store, the newest request for a view stands for those before it;
    /// so only the least of these is asked for, and the next one when that is answered.
    private var views: [Instance: Set<Int>] = [:]
    /// In the order in which they were asked.
    private var pages: [(request: PageRequest, instance: Instance)] = []
    private var due: Timestamp?

    /// When all of it is asked again; nil for never.
    var repeatAt: Timestamp? { count == 0 ? nil : due }

    var count: Int { turns.count + views.values.reduce(0) { $0 + $1.count } + pages.count }

    /// The requests, in a fixed order.
    var frames: [Frame] {
        turns.sorted().map { .settle(turn: $0) }
            + views.keys.sorted().compactMap { viewRequest(of: $0) }
            + pages.map { Self.frame($0.request, $0.instance) }
    }

    /// What is asked of this instance's views; nil for nothing.
    func viewRequest(of instance: Instance) -> Frame? {
        views[instance]?.min().map { .viewRequest(instance: instance, atLeast: $0) }
    }

    static func frame(_ request: PageRequest, _ instance: Instance) -> Frame {
        switch request {
        case .outputs(let place, _, let waits): .outputsRequest(instance: instance, after: place, waits: waits)
        case .views(let turn, _): .viewsRequest(instance: instance, after: turn)
        }
    }

    /// False if the same page is asked for already.
    mutating func add(_ request: PageRequest, of instance: Instance) -> Bool {
        guard !pages.contains(where: { $0.request == request }) else { return false }
        if count == 0 { due = nil }
        pages.append((request, instance))
        return true
    }

    mutating func forget(_ request: PageRequest) {
        pages.removeAll { $0.request == request }
    }

    mutating func answered(by page: Page) -> [PageRequest] {
        takePages { request in
            switch (request, page) {
            case (.outputs(let place, _, let waits), .outputs(let page)):
                place == page.after && !(waits && page.outputs.isEmpty && page.lost == nil)
            case (.views(let turn, _), .views(let page)): turn == page.after
            default: false
            }
        }
    }

    /// Pages whose place is of another timeline than this one; all of them if there is none.
    mutating func dropPages(otherThan timeline: Timeline?) -> [PageRequest] {
        takePages { timeline == nil || $0.timeline != nil && $0.timeline != timeline }
    }

    private mutating func takePages(_ isMeant: (PageRequest) -> Bool) -> [PageRequest] {
        defer { pages.removeAll { isMeant($0.request) } }
        return pages.map(\.request).filter(isMeant)
    }

    /// - Returns: what is to be asked for it.
    @discardableResult
    mutating func add(_ frame: Frame) -> Frame {
        if count == 0 { due = nil }
        switch frame {
        case .settle(let turn):
            turns.insert(turn)
            givenUp.remove(turn)
        case .viewRequest(let instance, let turn):
            views[instance, default: []].insert(turn)
            return viewRequest(of: instance) ?? frame
        default: break
        }
        return frame
    }

    /// Of one view, or of every one.
    var isWaitingForViews: Bool {
        !views.isEmpty || pages.contains { if case .views = $0.request { true } else { false } }
    }

    func isWaiting(for turn: Int) -> Bool { turns.contains(turn) }

    /// False if nobody asked.
    mutating func settled(_ turn: Int) -> Bool {
        givenUp.remove(turn)
        return turns.remove(turn) != nil
    }

    /// Nobody waits for this turn to settle any more.
    mutating func giveUp(_ turn: Int) {
        if turns.remove(turn) != nil { givenUp.insert(turn) }
    }

    func hasGivenUp(_ turn: Int) -> Bool { givenUp.contains(turn) }

    /// On a new connection the store knows nothing of them, also of those that were never asked there.
    mutating func forgetGivenUp() { givenUp.removeAll() }

    /// False if nobody asked. An older view than asked for is shown, and still waited for.
    mutating func viewed(_ instance: Instance, _ turn: Int) -> Bool {
        guard let wanted = views[instance] else { return false }
        let left = wanted.filter { $0 > turn }
        views[instance] = left.isEmpty ? nil : left
        return true
    }

    /// Nobody waits for a view of this turn any more.
    mutating func forget(viewOf instance: Instance, atLeast turn: Int) {
        guard views[instance]?.remove(turn) != nil, views[instance]?.isEmpty == true else { return }
        views[instance] = nil
    }

    /// Something was asked. Others that wait since before are not put off by it.
    mutating func asked(_ now: Timestamp, again: Duration) {
        due = repeatAt ?? now + again
    }

    mutating func pause() {
        due = nil
    }

    /// The turns of one timeline mean nothing in another: no settle request stays, and any view will do.
    mutating func dropTurns() -> [Int] {
        defer {
            turns.removeAll()
            for instance in views.keys { views[instance] = [0] }
        }
        return turns.sorted()
    }
}
