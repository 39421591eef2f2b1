import CrashPoints
import DequeModule
import Logging
import SamovarCore
import SamovarPeers
import SamovarWire
import ZeroMQ

/// The loop of a client: one connection for inputs and requests, one subscription for views, two machines that decide.
struct ClientLoop: ~Copyable {
    private enum Request: Equatable {
        case settle(turn: Int)
        case view(atLeast: Int)
        case page(PageRequest)
    }

    /// What who waits for a turn of another timeline is told.
    private static let otherTimeline = StoreClient.Settlement.unknown("\(ClientMachine.UnknownReason.timelineChanged)")

    private let client: StoreClient
    private var machine: ClientMachine
    private var subscriber: SubscriberMachine
    private let clock = HostClock()
    private var isStopping = false
    /// As the client was told it.
    private var obstacle: String?
    private let outbox: OutboxFile?
    /// Taken from the mailbox, in order; those that an error leaves are abandoned.
    private var commands: Deque<StoreClient.Command> = []
    private var sends: [Int: (isSeenAtOnce: Bool, complete: @Sendable (StoreClient.Result) -> Void)] = [:]
    /// In which the turns count that are waited for.
    private var timeline: Timeline
    /// Inputs of an earlier process.
    private var restoring: Set<Int> = []
    private var settlements:
        [Int: [(
            id: UInt64, onWaiting: @Sendable (String) -> Void, continuation: CheckedContinuation<StoreClient.Settlement, Never>
        )]] = [:]
    private var requests:
        [(
            id: UInt64, turn: Int, onWaiting: (@Sendable (String) -> Void)?,
            continuation: CheckedContinuation<StoreClient.ViewAnswer, Never>
        )] = []
    private var pages: [UInt64: (request: PageRequest, continuation: CheckedContinuation<StoreClient.PageResult, Never>)] = [:]
    /// Requests for which the machine has no room before others are answered, in order.
    private var postponed: Deque<Request> = []
    /// The view that is shown; for watchers that come later.
    private var newest: StoreClient.View?
    private var watchers: [UInt64: AsyncStream<StoreClient.ViewEvent>.Continuation] = [:]
    /// Why there are no views, as the log says it.
    private var viewObstacle: String?
    /// The input whose outcome holds others up, and since when; nil if that was told.
    private var heldUp: (sequence: Int, since: Timestamp?)?
    /// There is a subscription, or one is tried to be had.
    private var isSubscribed = false

    init(_ client: StoreClient) throws {
        self.client = client
        let random = Random(seed: .random(in: .min ... .max))
        let isKeyed = client.store.keyFile(for: .front) != nil
        let settings: ClientMachine.Settings = isKeyed ? .keyed : .standard
        if let path = client.outbox {
            let file = try OutboxFile(path)
            outbox = file
            machine = ClientMachine(outbox: file.outbox, schema: client.schema, settings: settings, random: random)
        } else {
            outbox = nil
            machine = ClientMachine(session: .random(), schema: client.schema, settings: settings, random: random)
        }
        timeline = machine.timeline
        restoring = Set(machine.open)
        if restoring.isEmpty { client.restoredContinuation.finish() }
        subscriber = Self.subscriber(of: client)
    }

    private static func subscriber(of client: StoreClient) -> SubscriberMachine {
        SubscriberMachine(
            instance: client.instance, settings: client.store.keyFile(for: .front) == nil ? .standard : .keyed,
            random: Random(seed: .random(in: .min ... .max)))
    }

    mutating func run() throws {
        let context = try Context.shared()
        var poller = Poller()
        let wakeup = poller.add(client.mailbox.wakeup)
        var front = PeerSocket(context, options: .client, to: client.store, at: .front)
        var feed = PeerSocket(context, views: client.instance, of: client.store)
        defer { abandon() }
        while !isStopping {
            front.prepare(&poller)
            try poller.wait(timeoutMilliseconds: clock.milliseconds(until: nextTime))
            let now = clock.now()
            if poller.isReadable(wakeup) {
                commands = Deque(client.mailbox.takeAll())
                while let command = commands.popFirst() { try perform(take(command, now), &front, &feed, &poller, now) }
            }
            var actions: [ClientMachine.Action] = []
            machine.places = front.places
            let end = try front.receiveEnvelopes(&poller) {
                actions += machine.received($0, now: now)
                return machine.isConnected
            }
            if machine.obstacle != obstacle {
                obstacle = machine.obstacle
                client.tell(obstacle: obstacle)
            }
            if let end {
                if case .impossible(let reason) = end { client.tell(difficulty: reason) }
                actions += machine.disconnected(now: now, because: end)
            }
            actions += machine.ticked(now: now)
            try save()
            actions += machine.flush(now: now)
            try perform(actions, &front, &feed, &poller, now)
            warnOfUnseen(now)
            try perform(askPostponed(now), &front, &feed, &poller, now)
            guard !watchers.isEmpty else {
                unsubscribe(&feed, &poller)
                continue
            }
            isSubscribed = true
            var views: [SubscriberMachine.Action] = []
            if machine.isSentAway {
                views += subscriber.disconnected(now: now)
                feed.disconnect(&poller)
            } else {
                // Where the store is, the connection finds out: a store from which another has taken over may still publish.
                let isElsewhere = machine.isConnected && feed.follow(front)
                subscriber.places = machine.isConnected ? 1 : feed.places
                let loss = try feed.receiveEnvelopes(&poller) {
                    if !isElsewhere { views += subscriber.received($0, now: now) }
                    return true
                }
                if isElsewhere { views += subscriber.disconnected(now: now, because: .impossible("the store is elsewhere")) }
                if let loss { views += subscriber.disconnected(now: now, because: loss) }
                views += subscriber.ticked(now: now)
            }
            try perform(views, &front, &feed, &poller, now)
        }
    }

    /// Whatever anybody is told or sent next may rely on what is in the outbox.
    private mutating func save() throws {
        guard let outbox else { return }
        try outbox.add(machine.takeEntries())
        machine.saved()
    }

    private var nextTime: Timestamp? {
        let times = [machine.deadline, watchers.isEmpty || machine.isSentAway ? nil : subscriber.deadline]
        return times.compactMap { $0 }.min()
    }

    private mutating func take(_ command: StoreClient.Command, _ now: Timestamp) throws -> [ClientMachine.Action] {
        switch command {
        case .send(_, let input, let instance, let isSeenAtOnce, let endsSession, let complete):
            client.taken(input)
            do throws(ClientMachine.SubmitError) {
                sends[try machine.submit(input, to: instance, endsSession: endsSession)] = (isSeenAtOnce, complete)
            } catch {
                complete(.rejected("\(error)"))
            }
        case .seen(let sequence):
            machine.seen(sequence)
        case .settle(let id, let turn, let sequence, let onWaiting, let continuation):
            if let sequence, machine.isOfEarlierTimeline(sequence) {
                continuation.resume(returning: Self.otherTimeline)
                return []
            }
            settlements[turn, default: []].append((id, onWaiting, continuation))
            return ask(.settle(turn: turn), now)
        case .view(let id, let turn, let onWaiting, let continuation):
            requests.append((id, turn, onWaiting, continuation))
            return ask(.view(atLeast: turn), now)
        case .watch(let id, let continuation):
            watchers[id] = continuation
            guard let newest else { return [] }
            continuation.yield(.view(newest))
            if !subscriber.isLive { continuation.yield(.stale) }
        case .page(let id, let request, let continuation):
            pages[id] = (request, continuation)
            return ask(.page(request), now)
        case .forget(let id): return forget(id, now)
        case .close:
            // It says goodbye only if nothing is left to be written.
            try save()
            return machine.close()
        }
        return []
    }

    /// Whoever made this request does not wait any more, or does not watch.
    private mutating func forget(_ id: UInt64, _ now: Timestamp) -> [ClientMachine.Action] {
        if watchers.removeValue(forKey: id) != nil { return [] }
        if let request = pages[id]?.request {
            finish([id], .none("the task was cancelled"))
            guard waiting(for: request).isEmpty else { return [] }
            machine.forget(request)
            postponed.removeAll { $0 == .page(request) }
        } else if let (turn, place) = settlements.lazy.compactMap({ turn, waiters in
            waiters.firstIndex { $0.id == id }.map { (turn, $0) }
        }).first {
            settlements[turn]?.remove(at: place).continuation.resume(returning: .unknown("the task was cancelled"))
            guard settlements[turn]?.isEmpty == true else { return [] }
            settlements[turn] = nil
            machine.forget(settlementOf: turn)
            postponed.removeAll { $0 == .settle(turn: turn) }
        } else if let place = requests.firstIndex(where: { $0.id == id }) {
            let request = requests.remove(at: place)
            request.continuation.resume(returning: .success(nil))
            guard !requests.contains(where: { $0.turn == request.turn }) else { return [] }
            postponed.removeAll { $0 == .view(atLeast: request.turn) }
            // If it is missed by those who watch, too, it is asked for again, each second.
            return machine.forget(viewOf: client.instance, atLeast: request.turn, now: now)
        }
        return []
    }

    private mutating func ask(_ request: Request, _ now: Timestamp) -> [ClientMachine.Action] {
        do throws(ClientMachine.SubmitError) {
            switch request {
            case .settle(let turn): return try machine.settle(turn: turn, now: now)
            case .view(let turn): return try machine.requestView(of: client.instance, atLeast: turn, now: now)
            case .page(let page): return try machine.request(page, of: client.instance, now: now)
            }
        } catch {
            // Else the client is closed, and whoever waits is told at the end of this loop, which is next.
            if error == .backlogFull { postponed.append(request) }
            return []
        }
    }

    private mutating func askPostponed(_ now: Timestamp) -> [ClientMachine.Action] {
        var actions: [ClientMachine.Action] = []
        while machine.hasRoomForRequest, let request = postponed.popFirst() { actions += ask(request, now) }
        return actions
    }

    /// The turns of one timeline mean nothing in another: those that the machine does not know of do not settle there, and no view
    /// shows them.
    private mutating func forgetTurns(for timeline: Timeline) {
        for request in requests where request.turn > 0 {
            request.continuation.resume(returning: .failure(OtherTimeline(timeline: timeline)))
        }
        requests.removeAll { $0.turn > 0 }
        let former = postponed
        postponed = []
        for request in former {
            switch request {
            case .settle(let turn): finish(turn, Self.otherTimeline)
            case .view(let turn) where turn > 0: break
            case .view, .page: postponed.append(request)
            }
        }
    }

    private mutating func complete(_ sequence: Int, _ result: StoreClient.Result) {
        if let waiter = sends.removeValue(forKey: sequence) {
            waiter.complete(result)
            if waiter.isSeenAtOnce { machine.seen(sequence) }
        } else if restoring.remove(sequence) != nil {
            client.restoredContinuation.yield(result)
            if restoring.isEmpty { client.restoredContinuation.finish() }
        }
    }

    private mutating func finish(_ ids: [UInt64], _ result: StoreClient.PageResult) {
        for id in ids { pages.removeValue(forKey: id)?.continuation.resume(returning: result) }
    }

    private func waiting(for request: PageRequest) -> [UInt64] {
        pages.filter { $0.value.request == request }.map(\.key)
    }

    private mutating func finish(_ turn: Int, _ settlement: StoreClient.Settlement) {
        for waiter in settlements.removeValue(forKey: turn) ?? [] { waiter.continuation.resume(returning: settlement) }
    }

    private mutating func perform(
        _ actions: [ClientMachine.Action], _ front: inout PeerSocket, _ feed: inout PeerSocket, _ poller: inout Poller,
        _ now: Timestamp
    ) throws {
        guard !actions.isEmpty else { return }
        try save()
        for action in actions {
            switch action {
            case .connect:
                try front.connect(&poller)
                machine.keyShown(front.shownKey)
            case .disconnect: front.disconnect(&poller)
            case .send(let envelope):
                try front.send(envelope.parts)
                CrashPoint.pass(.clientAfterSend, if: envelope.kind == .send)
            case .welcomed(_, let timeline):
                if self.timeline != .zero, timeline != self.timeline { forgetTurns(for: timeline) }
                self.timeline = timeline
                client.tell(difficulty: nil)
                client.tell(answer: .success(timeline))
            case .checkKey: try perform(machine.keyFound(front.readKey(), now: now), &front, &feed, &poller, now)
            case .keyRefused(let reason):
                // Who waits for the connection is told by that.
                let level: Logger.Level = client.isAwaited ? .debug : .warning
                client.logger.log(level: level, "the store does not let this client in, which is tried again: \(reason)")
                client.tell(difficulty: reason)
                client.tell(answer: .failure(PeerError(.keyRefused, reason)))
            case .answered(let outcome):
                CrashPoint.pass(.clientBeforeReceipt)
                complete(outcome.sequence, .answered(outcome))
            case .unknown(let sequence, let reason): complete(sequence, .unknown("\(reason)"))
            case .settled(let turn, let dead): finish(turn, .settled(dead: dead))
            case .unsettled(let turn, let reason): finish(turn, .unknown("\(reason)"))
            case .waiting(let turn, let reason):
                for waiter in settlements[turn] ?? [] { waiter.onWaiting(reason) }
            case .view(let instance, let turn, let bytes):
                let view = StoreClient.View(timeline: machine.timeline, turn: turn, bytes: bytes)
                for request in requests where request.turn <= turn { request.continuation.resume(returning: .success(view)) }
                requests.removeAll { $0.turn <= turn }
                viewObstacle = nil
                guard !watchers.isEmpty, instance == client.instance else { continue }
                let shown = subscriber.answered(turn: turn, bytes: bytes, timeline: machine.timeline, now: now)
                try perform(shown, &front, &feed, &poller, now)
            case .noView(let reason):
                for request in requests { request.onWaiting?(reason) }
                // Those who watch have no other way to hear of it, nor has who is not called.
                let isTold = !requests.isEmpty && requests.allSatisfy { $0.onWaiting != nil }
                guard !isTold, reason != viewObstacle else { continue }
                viewObstacle = reason
                client.logger.warning("views are waited for: \(reason)")
            case .page(let request, let page): finish(waiting(for: request), .page(page, machine.timeline))
            case .pageless(let request, .timelineChanged): finish(waiting(for: request), .otherTimeline(machine.timeline))
            case .pageless(let request, let reason): finish(waiting(for: request), .none("\(reason)"))
            case .refused(let error):
                client.tell(answer: .failure(error))
                throw error
            case .stop:
                // LINGER is 0: a goodbye of a moment ago still has to leave.
                try poller.wait(timeoutMilliseconds: 5)
                isStopping = true
            case .note(let text): client.logger.debug("\(text)")
            }
        }
    }

    private mutating func perform(
        _ actions: [SubscriberMachine.Action], _ front: inout PeerSocket, _ feed: inout PeerSocket, _ poller: inout Poller,
        _ now: Timestamp
    ) throws {
        for action in actions {
            switch action {
            case .reconnect:
                try feed.connect(&poller)
                subscriber.keyShown(feed.shownKey)
            case .checkKey: subscriber.keyFound(feed.readKey(), now: now)
            case .show(let turn, let bytes, let timeline):
                let view = StoreClient.View(timeline: timeline, turn: turn, bytes: bytes)
                newest = view
                tell(.view(view))
            case .requestView(let turn, let timeline):
                tell(.resyncing)
                try perform(ask(for: turn, of: timeline, now), &front, &feed, &poller, now)
            case .stale:
                // Nothing comes through it any more, and a store that ends waits until it is closed.
                feed.disconnect(&poller)
                tell(.stale)
            case .live: tell(.live)
            case .idle(let turn): tell(.idle(turn: turn))
            case .note(let text): client.logger.debug("\(text)")
            }
        }
    }

    private mutating func ask(for turn: Int, of timeline: Timeline, _ now: Timestamp) -> [ClientMachine.Action] {
        do throws(ClientMachine.SubmitError) {
            return try machine.requestView(of: client.instance, atLeast: turn, in: timeline, now: now)
        } catch {
            client.logger.debug("\(error)")
            return []
        }
    }

    /// Warns of an outcome that was not seen for some time while inputs wait for that: once.
    private mutating func warnOfUnseen(_ now: Timestamp) {
        guard let sequence = machine.heldUpBy else { return heldUp = nil }
        guard let known = heldUp, known.sequence == sequence else { return heldUp = (sequence, now) }
        guard let since = known.since, now - since >= .seconds(3) else { return }
        heldUp?.since = nil
        let words = "inputs wait, for the outcome of input \(sequence) was not seen"
        client.logger.warning("\(words): read `restored`, and call `seen`")
    }

    private func tell(_ event: StoreClient.ViewEvent) {
        for watcher in watchers.values { watcher.tell(event, newest: newest) }
    }

    /// Nobody watches any more, and who does next begins with the view of then.
    private mutating func unsubscribe(_ feed: inout PeerSocket, _ poller: inout Poller) {
        guard isSubscribed else { return }
        feed.disconnect(&poller)
        subscriber = Self.subscriber(of: client)
        newest = nil
        isSubscribed = false
    }

    /// Nobody waits for ever: whoever still waits is told that nobody can tell any more.
    private mutating func abandon() {
        for command in commands { command.abandon() }
        for waiter in sends.values { waiter.complete(.unknown("the client has ended")) }
        for turn in settlements.keys { finish(turn, .unknown("the client has ended")) }
        for request in requests { request.continuation.resume(returning: .success(nil)) }
        finish(Array(pages.keys), .none("the client has ended"))
        for watcher in watchers.values { watcher.finish() }
    }
}
