import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarPeers
import SamovarWire
import ZeroMQ

/// A client of an agent, with its socket. Stays on the agent's thread.
final class ClientSeat {
    var client: LoadClient
    var front: PeerSocket
    /// Views that came for subscribers.
    private(set) var views: [(turn: Int, bytes: [UInt8])] = []

    init(_ client: consuming LoadClient, _ context: Context, at store: StoreAccess) {
        self.client = client
        front = PeerSocket(context, options: .client, to: store, at: .front)
    }

    /// One round: what has come, what time it is, what is due.
    func work(_ poller: inout Poller, _ now: Timestamp) throws {
        var actions: [ClientMachine.Action] = []
        client.places = front.places
        let end = try front.receiveEnvelopes(&poller) {
            actions += client.received($0, now: now)
            return client.isConnected
        }
        if let end { actions += client.disconnected(now: now, because: end) }
        actions += client.ticked(now: now)
        actions += client.pump(now: now)
        try perform(actions, &poller, now)
    }

    func perform(_ actions: [ClientMachine.Action], _ poller: inout Poller, _ now: Timestamp) throws {
        for action in actions {
            switch action {
            case .connect:
                try front.connect(&poller)
                client.keyShown(front.shownKey)
            case .checkKey: try perform(client.keyFound(front.readKey(), now: now), &poller, now)
            case .disconnect: front.disconnect(&poller)
            case .send(let envelope): try front.send(envelope.parts)
            case .view(_, let turn, let bytes): views.append((turn, bytes))
            default: break
            }
        }
    }

    func takeViews() -> [(turn: Int, bytes: [UInt8])] {
        guard !views.isEmpty else { return [] }
        defer { views.removeAll() }
        return views
    }
}

/// A subscriber of an agent, with its socket.
final class SubscriberSeat {
    var machine: SubscriberMachine
    var feed: PeerSocket
    var tracker = ViewTracker()
    /// Views that were shown.
    private(set) var views = 0

    init(_ context: Context, at store: StoreAccess, random: Random) {
        machine = SubscriberMachine(settings: store.keyFile(for: .view) == nil ? .standard : .keyed, random: random)
        feed = PeerSocket(context, views: .main, of: store)
    }

    /// One round. What it asks for goes through a client's socket.
    func work(_ helper: ClientSeat, _ poller: inout Poller, _ now: Timestamp, _ record: (Int64) -> Void) throws {
        var actions: [SubscriberMachine.Action] = []
        let isElsewhere = helper.client.isConnected && feed.follow(helper.front)
        machine.places = helper.client.isConnected ? 1 : feed.places
        let end = try feed.receiveEnvelopes(&poller) {
            if !isElsewhere { actions += machine.received($0, now: now) }
            return true
        }
        if isElsewhere { actions += machine.disconnected(now: now, because: .impossible("the store is elsewhere")) }
        if let end { actions += machine.disconnected(now: now, because: end) }
        actions += machine.ticked(now: now)
        try perform(actions, helper, &poller, now, record)
    }

    /// A view came through a client's socket.
    func answered(
        _ view: (turn: Int, bytes: [UInt8]), _ helper: ClientSeat, _ poller: inout Poller, _ now: Timestamp,
        _ record: (Int64) -> Void
    )
        throws
    {
        let actions = machine.answered(turn: view.turn, bytes: view.bytes, timeline: helper.client.timeline, now: now)
        try perform(actions, helper, &poller, now, record)
    }

    private func perform(
        _ actions: [SubscriberMachine.Action], _ helper: ClientSeat, _ poller: inout Poller, _ now: Timestamp,
        _ record: (Int64) -> Void
    ) throws {
        for action in actions {
            switch action {
            case .reconnect:
                try feed.connect(&poller)
                machine.keyShown(feed.shownKey)
            case .checkKey: machine.keyFound(feed.readKey(), now: now)
            case .show(let turn, _, _):
                views += 1
                for latency in tracker.viewed(turn: turn, now: now) { record(latency) }
            case .requestView(let turn, let timeline):
                try helper.perform(helper.client.requestView(atLeast: turn, in: timeline, now: now), &poller, now)
            // A store that ends waits for that.
            case .stale: feed.disconnect(&poller)
            case .live, .idle, .note: break
            }
        }
    }
}
