import SamovarCore
import SamovarWire

/// Who reads: subscribers, to whom views and ticks are published, and clients that ask for a view, for pages of outputs or of all views,
/// or for the end of a chain of effects.
///
/// What is there is told at once; a request for what is to come waits, within a limit for all of them together and one for those of
/// each connection. Views of single turns are taken only while somebody reads them.
///
/// | request | what it asks for is there | it is to come | it never was |
/// |---|---|---|---|
/// | `settle` | SETTLED | waits, and is told each second for what | misuse |
/// | `ask` for a view at least as new | VIEW | waits | – |
/// | `ask` for outputs after a place | OUTPUTS | waits, or an empty page | misuse; a page that says what is lost |
/// | `ask` for views after a turn | VIEWS | waits | misuse; the newest one, which says that some are missing |
struct Readers {
    private let settings: StoreSettings
    private(set) var views = ViewPublisher()
    private(set) var feed = ViewHistory()
    private(set) var waiters = Waiters()
    private var idleNotice = IdleNotice()
    private(set) var published = 0
    /// The only one that there is.
    private let instance = Instance.main

    init(_ settings: StoreSettings) {
        self.settings = settings
    }

    // MARK: Publishing

    /// When the next view is due; nil if the newest one is of the newest turn.
    func viewDue(head: Int) -> Timestamp? { views.dueTime(head: head, settings: settings) }

    /// When subscribers are to be told that nothing is left, if it lasts.
    var idleDue: Timestamp? { idleNotice.due }

    mutating func viewTook(_ cost: Duration) { views.note(cost: cost) }

    mutating func publishView(now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) {
        guard let bytes = makeView(&turns, &out), views.take(bytes, turn: turns.head, now: now) else { return }
        published += 1
        let frame = Frame.view(instance: instance, turn: turns.head, bytes: bytes)
        out.publish(frame, of: instance, floor: .turn(turns.head))
    }

    /// Nil if the program cannot make one; then it is not asked again before the next start.
    private mutating func makeView(_ turns: inout Turns, _ out: inout Outlet) -> [UInt8]? {
        guard views.off == nil else { return nil }
        do {
            return try turns.ask(.view, &out) { try $0.engine.view() }
        } catch {
            turnViewsOff("the view cannot be encoded: \(error)", &out)
            return nil
        }
    }

    mutating func turnViewsOff(_ why: String, _ out: inout Outlet) {
        views.off = why
        out.note(.error, "no views are made any more: \(why)")
    }

    /// - Parameter isIdle: nothing is left to do.
    mutating func announceIdle(_ isIdle: Bool, head: Int, now: Timestamp, _ out: inout Outlet) {
        guard isIdle, views.isCurrent(head: head) else { return idleNotice.busy() }
        if idleNotice.idle(now: now, pause: settings.idlePause, interval: settings.idleInterval) {
            publishTick(isIdle: isIdle, head: head, &out)
        }
    }

    /// Idle is only who has published the newest view, too.
    func publishTick(isIdle: Bool, head: Int, _ out: inout Outlet) {
        let isAtRest = isIdle && views.isCurrent(head: head)
        let frame = Frame.tick(instance: instance, head: head, view: views.published, idle: isAtRest)
        out.publish(frame, of: instance, floor: .turn(head))
    }

    /// While commits wait for the disk or the database: subscribers shall know that the store lives, and hear of nothing that is not on disk.
    func publishDurableTick(_ out: inout Outlet) {
        let frame = Frame.tick(instance: instance, head: out.durable, view: out.shown?.turn ?? 0, idle: false)
        out.publish(frame, of: instance, floor: .none)
    }

    // MARK: Views

    mutating func ask(viewAtLeast turn: Int, for route: Route, _ turns: inout Turns, _ out: inout Outlet) {
        if turns.outage != nil, let shown = out.shown, turn <= shown.turn {
            // No newer one can be on disk soon, and this one is.
            return out.send(.view(instance: instance, turn: shown.turn, bytes: shown.bytes), to: route, floor: .none)
        }
        if turn <= turns.head, !isHeldUp(turns, out.durable) { return sendView(to: route, &turns, &out) }
        wait(for: .view(turn), route, &out)
    }

    private mutating func sendView(to route: Route, _ turns: inout Turns, _ out: inout Outlet) {
        if let bytes = makeView(&turns, &out) {
            out.send(.view(instance: instance, turn: turns.head, bytes: bytes), to: route, floor: .turn(turns.head))
        } else if let why = views.off {
            out.send(.waiting(turn: turns.head, on: "there is no view: \(why)"), to: route, floor: .turn(turns.head))
        }
    }

    private mutating func wait(for wish: Waiters.Wish, _ route: Route, _ out: inout Outlet) {
        let hasRoom = waiters.insert(wish, for: route, limit: settings.waiters, limitOfEach: settings.waitersOfClient)
        if !hasRoom { out.refuse(route, "too many requests wait") }
    }

    /// Commits wait for the disk or the database. What can be told then waits here, where a request that is repeated is no other: at the gate
    /// its answers would gather.
    private func isHeldUp(_ turns: borrowing Turns, _ durable: Int) -> Bool {
        guard turns.outage != nil else { return false }
        return turns.head > durable
    }

    // MARK: Pages

    mutating func ask(outputsAfter place: EffectID, waits: Bool, for route: Route, _ turns: borrowing Turns, _ out: inout Outlet) {
        guard place.turn <= turns.head else { return out.misuse("there is no turn \(place.turn) yet", route, isNoise: false) }
        let isThere = turns.state.outputs.last.map { $0 > place } ?? false
        if isThere ? !isHeldUp(turns, out.durable) : !waits { return sendOutputs(after: place, to: route, turns, &out) }
        wait(for: .outputs(after: place), route, &out)
    }

    private func sendOutputs(after place: EffectID, to route: Route, _ turns: borrowing Turns, _ out: inout Outlet) {
        let log = turns.state.outputs
        var page = OutputPage(instance: instance, after: place, outputs: [])
        if let outputs = log.outputs(after: place, bytes: settings.pageBytes) {
            page.outputs = outputs
        } else if let forgotten = log.forgotten {
            page.lost = forgotten
            page.outputs = log.outputs(after: forgotten, bytes: settings.pageBytes) ?? []
        }
        out.send(.outputs(page), to: route, floor: .turn(turns.head))
    }

    mutating func ask(viewsAfter turn: Int, for route: Route, now: Timestamp, _ turns: inout Turns, _ out: inout Outlet) {
        guard turn <= turns.head else { return out.misuse("there is no turn \(turn) yet", route, isNoise: false) }
        guard feed.hasRoom(for: route, limit: settings.feedReaders) else { return out.refuse(route, "too many read every view") }
        guard views.off == nil else { return sendView(to: route, &turns, &out) }
        feed.join(route, head: turns.head, now: now)
        turns.tapViews(true)
        gatherViews(&turns)
        // Also where some of those after it are not kept any more: the newest is.
        if feed.newest > turn, !isHeldUp(turns, out.durable) { return sendViews(after: turn, to: route, &turns, &out) }
        wait(for: .views(after: turn), route, &out)
    }

    /// The views after a turn; where some of them are not kept any more, the current one in their place.
    private mutating func sendViews(after turn: Int, to route: Route, _ turns: inout Turns, _ out: inout Outlet) {
        var page = ViewPage(instance: instance, after: turn, views: [])
        if feed.isComplete(after: turn) {
            page.views = feed.views(after: turn, bytes: settings.pageBytes)
        } else {
            guard let bytes = makeView(&turns, &out) else { return sendView(to: route, &turns, &out) }
            (page.isMissingSome, page.views) = (turn >= 0, [TurnView(turn: turns.head, bytes: bytes)])
        }
        out.send(.views(page), to: route, floor: .turn(turns.head))
    }

    /// Moves what the engine has shown since the last time into the feed.
    private mutating func gatherViews(_ turns: inout Turns) {
        let views = turns.takeViews()
        if !views.isEmpty { feed.append(views, limit: settings.feedViews, bytes: settings.feedBytes) }
    }

    // MARK: Settling

    mutating func settle(_ turn: Int, for route: Route, _ turns: borrowing Turns, _ out: inout Outlet) {
        guard turn > 0, turn <= turns.head else { return out.misuse("there is no turn \(turn) yet", route, isNoise: false) }
        if turns.state.ledger.isSettled(turn), !isHeldUp(turns, out.durable) {
            return sendSettled(turn, to: [route], turns, &out)
        }
        wait(for: .settled(turn), route, &out)
    }

    private func sendSettled(_ root: Int, to routes: [Route], _ turns: borrowing Turns, _ out: inout Outlet) {
        let frame = Frame.settled(turn: root, dead: turns.state.ledger.report(of: root))
        for route in routes { out.send(frame, to: route, floor: .turn(turns.head)) }
    }

    /// Says for what those wait who wait for effects. The reports are made anew, in one look at the open effects, if that is due.
    mutating func reportWaiting(_ ledger: EffectLedger, _ dispatcher: Dispatcher, head: Int, _ out: inout Outlet) {
        let settling = waiters.settling
        if waiters.reportsAreDue(effects: ledger.open.count, perTick: settings.reportedEffects) {
            var tallies: [Int: [LineName: (running: Int, waiting: Int)]] = [:]
            for effect in ledger.open.values where settling[effect.root] != nil {
                if dispatcher.assignment(of: effect.id) != nil {
                    tallies[effect.root, default: [:]][effect.line, default: (0, 0)].running += 1
                } else {
                    tallies[effect.root, default: [:]][effect.line, default: (0, 0)].waiting += 1
                }
            }
            waiters.report(tallies.mapValues { Self.report(of: $0, ledger.controls, dispatcher) })
        }
        for (root, routes) in settling.sorted(by: { $0.key < $1.key }) {
            let report = waiters.reports[root] ?? "\(count(ledger.openCount(of: root), "effect")) open"
            for route in routes { out.send(.waiting(turn: root, on: report), to: route, floor: .turn(head)) }
        }
    }

    /// What a root still waits for, in one sentence.
    private static func report(
        of tallies: [LineName: (running: Int, waiting: Int)], _ controls: QueueControls, _ dispatcher: Dispatcher
    ) -> String {
        var parts: [String] = []
        for (line, (running, waiting)) in tallies.sorted(by: { $0.key < $1.key }) {
            if running > 0 { parts.append("\(count(running, "effect")) running in queue \(line)") }
            if waiting > 0 {
                let why =
                    controls.isPaused(line.queue) ? ", which is paused" : dispatcher.isServed(line) ? "" : ", no worker serves it"
                parts.append("\(count(waiting, "effect")) \(waiting == 1 ? "waits" : "wait") in queue \(line)\(why)")
            }
        }
        return parts.joined(separator: "; ").bounded()
    }

    // MARK: Rounds and ticks

    /// Answers who waited for what this round gave.
    mutating func answer(_ turns: inout Turns, _ out: inout Outlet) {
        if isHeldUp(turns, out.durable) { return gatherViews(&turns) }
        let head = turns.head
        let current = waiters.take { wish -> Int? in if case .view(...head) = wish { head } else { nil } }
        for (route, _) in current { sendView(to: route, &turns, &out) }
        let settled = waiters.take { wish -> Int? in
            if case .settled(let root) = wish, turns.state.ledger.isSettled(root) { root } else { nil }
        }
        for (root, waiting) in Dictionary(grouping: settled, by: \.answer).sorted(by: { $0.key < $1.key }) {
            sendSettled(root, to: waiting.map(\.route), turns, &out)
        }
        gatherViews(&turns)
        if let last = turns.state.outputs.last {
            let waiting = waiters.take { wish -> EffectID? in
                if case .outputs(let place) = wish, place < last { place } else { nil }
            }
            for (route, place) in waiting { sendOutputs(after: place, to: route, turns, &out) }
        }
        guard feed.isOpen else { return }
        let newest = feed.newest
        let waiting = waiters.take { wish -> Int? in if case .views(let turn) = wish, turn < newest { turn } else { nil } }
        for (route, turn) in waiting { sendViews(after: turn, to: route, &turns, &out) }
    }

    /// Ends the feed when nobody has read it for a while.
    mutating func tickFeed(now: Timestamp, _ turns: inout Turns) {
        feed.ticked(now: now, linger: settings.feedLinger)
        if !feed.isOpen || views.off != nil { turns.tapViews(false) }
    }

    /// A connection is gone; what it asked for is not answered any more.
    mutating func forget(_ route: Route) {
        waiters.forget(route)
        feed.leave(route)
    }

    /// Keys have changed: who may not send any more is told neither of outputs nor of the end of effects, and of views as before.
    mutating func forgetSettlesAndOutputs(unless maySend: (Route) -> Bool) {
        waiters.forgetSettlesAndOutputs(unless: maySend)
    }
}
