public import SamovarCore
import SamovarWire

/// What a client asks for: that a turn settles, a view, and outputs and views page by page.
extension ClientMachine {
    /// Asks to be told when no effect whose root is `turn` is open.
    public mutating func settle(turn: Int, now: Timestamp) throws(SubmitError) -> [Action] {
        try request(.settle(turn: turn), now)
    }

    /// Asks for a view of at least turn `atLeast`; 0 for the current one.
    ///
    /// - Parameter timeline: whose turn that is; nil for the timeline of this client. A turn of another one would never come,
    ///   and so means any view.
    public mutating func requestView(
        of instance: Instance = .main, atLeast turn: Int = 0, in timeline: Timeline? = nil, now: Timestamp
    ) throws(SubmitError) -> [Action] {
        let isOurs = timeline == nil || timeline == connection.timeline
        return try request(.viewRequest(instance: instance, atLeast: isOurs ? turn : 0), now)
    }

    private mutating func request(_ frame: Frame, _ now: Timestamp) throws(SubmitError) -> [Action] {
        try requireRoomForRequest()
        let asked = requests.add(frame)
        return ask(asked, now)
    }

    func requireRoomForRequest() throws(SubmitError) {
        guard state == .open else { throw .closed }
        guard hasRoomForRequest else { throw .backlogFull }
    }

    /// Another request would be taken; else it would after the answer to one that is open.
    public var hasRoomForRequest: Bool { state == .open && requests.count < settings.requests }

    mutating func ask(_ frame: Frame, _ now: Timestamp) -> [Action] {
        guard connection.isWelcomed else { return [] }
        requests.asked(now, again: connection.silence)
        var actions: [Action] = []
        send(frame, &actions)
        return actions
    }

    /// Asks for a page, which comes when there is something in it.
    public mutating func request(
        _ page: PageRequest, of instance: Instance = .main, now: Timestamp
    ) throws(SubmitError) -> [Action] {
        try requireRoomForRequest()
        if connection.isWelcomed, let timeline = page.timeline, timeline != connection.timeline {
            return [.pageless(page, .timelineChanged)]
        }
        return requests.add(page, of: instance) ? ask(ClientRequests.frame(page, instance), now) : []
    }

    /// Nobody waits for this page any more.
    public mutating func forget(_ page: PageRequest) {
        requests.forget(page)
    }

    /// Nobody waits any more for this turn to settle.
    public mutating func forget(settlementOf turn: Int) {
        requests.giveUp(turn)
    }

    /// Nobody waits any more for this view. If it is the one that was asked for, the next one is asked for in its place.
    public mutating func forget(viewOf instance: Instance = .main, atLeast turn: Int, now: Timestamp) -> [Action] {
        let asked = requests.viewRequest(of: instance)
        requests.forget(viewOf: instance, atLeast: turn)
        guard let next = requests.viewRequest(of: instance), next != asked else { return [] }
        return ask(next, now)
    }

    mutating func answered(_ page: Page, _ actions: inout [Action]) {
        let newest =
            switch page {
            case .outputs(let page): page.outputs.last?.id.turn
            case .views(let page): page.views.last?.turn
            }
        connection.hasTold(of: newest ?? 0)
        actions += requests.answered(by: page).map { .page($0, page) }
    }
}
