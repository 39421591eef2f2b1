import SamovarCore

/// What goes on: outputs, and the views of every turn. Clients ask for a page after a place; a request waits until there is one.
extension StoreMachine {
    mutating func ask(outputsAfter place: EffectID, waits: Bool, for route: Route) {
        guard place.turn <= head else { return misuse("there is no turn \(place.turn) yet", route) }
        if hasOutputs(after: place) || !waits { return sendOutputs(after: place, to: route) }
        guard waiters.outputs(after: place, route: route, limit: settings.waiters) else {
            return refuse(route, "too many requests wait")
        }
    }

    private func hasOutputs(after place: EffectID) -> Bool {
        guard let last = state.outputs.last else { return false }
        return last > place
    }

    private mutating func sendOutputs(after place: EffectID, to route: Route) {
        var page = OutputPage(instance: instance, after: place, outputs: [])
        if let outputs = state.outputs.outputs(after: place, bytes: settings.pageBytes) {
            page.outputs = outputs
        } else if let forgotten = state.outputs.forgotten {
            page.lost = forgotten
            page.outputs = state.outputs.outputs(after: forgotten, bytes: settings.pageBytes) ?? []
        }
        send(.outputs(page), to: route, floor: .turn(head))
    }

    mutating func ask(viewsAfter turn: Int, for route: Route, now: Timestamp) {
        guard turn <= head else { return misuse("there is no turn \(turn) yet", route) }
        guard feed.hasRoom(for: route, limit: settings.feedReaders) else { return refuse(route, "too many read every view") }
        guard views.off == nil else { return sendView(to: route) }
        feed.join(route, head: head, now: now)
        if log.tap == nil { log.tap = quarantine.viewTap() }
        gatherViews()
        if turn < 0 || !feed.isComplete(after: turn) { return sendCurrentView(insteadOf: turn, to: route) }
        if feed.newest > turn { return sendViews(after: turn, to: route) }
        guard waiters.views(after: turn, route: route, limit: settings.waiters) else {
            return refuse(route, "too many requests wait")
        }
    }

    private mutating func sendViews(after turn: Int, to route: Route) {
        let views = feed.views(after: turn, bytes: settings.pageBytes)
        send(.views(ViewPage(instance: instance, after: turn, views: views)), to: route, floor: .turn(head))
    }

    private mutating func sendCurrentView(insteadOf turn: Int, to route: Route) {
        guard let bytes = makeView() else { return sendView(to: route) }
        let view = TurnView(turn: head, bytes: bytes)
        let page = ViewPage(instance: instance, after: turn, isMissingSome: turn >= 0, views: [view])
        send(.views(page), to: route, floor: .turn(head))
    }

    /// Moves what the engine has shown since the last time into the feed.
    mutating func gatherViews() {
        guard let views = log.tap?.views, !views.isEmpty else { return }
        feed.append(views, limit: settings.feedViews, bytes: settings.feedBytes)
        log.tap?.views.removeAll(keepingCapacity: true)
    }

    mutating func answerReaders() {
        gatherViews()
        if let last = state.outputs.last {
            for (route, place) in waiters.takeOutputs(before: last) { sendOutputs(after: place, to: route) }
        }
        guard feed.isOpen else { return }
        for (route, turn) in waiters.takeViewPages(before: feed.newest) {
            if feed.isComplete(after: turn) {
                sendViews(after: turn, to: route)
            } else {
                sendCurrentView(insteadOf: turn, to: route)
            }
        }
    }

    mutating func tickFeed(now: Timestamp) {
        feed.ticked(now: now, linger: settings.feedLinger)
        if !feed.isOpen || views.off != nil { log.tap = nil }
    }
}
