import ChaosSupport
import Foundation
import SamovarCore
import SamovarHost
import SamovarPeers
import SamovarWire
import ZeroMQ

/// Many clients with one key in one process, each on both doors: a connection of its own for inputs and one for views, with the machines that
/// every client has, and so with their pauses. Tells once a second how many are in.
///
/// They send nothing but what keeps them there. All are looked at in turn, four times a second: the crowd shares the processors with its
/// store, and to look at all more often than that takes one of two.
struct KeyedCrowdRole {
    private let endpoint: Endpoint
    private let key: KeyFile
    private let count: Int

    private static let pause: UInt32 = 250_000

    init(_ arguments: RoleArguments) throws {
        endpoint = try Endpoint(try arguments.text("endpoint"), dataFolder: ".")
        key = try KeyFile.ofPeer(try arguments.text("key"))
        count = try arguments.number("count")
    }

    func run() throws {
        _ = try raiseDescriptorLimit()
        // Each connection has a socket, and two to notice that it broke; those of attempts before may not be gone yet.
        let context = try Context(maximumSockets: 30 * count + 64)
        let members = (0..<count).map { _ in
            Member(
                front: Line(context, .dealer, .client, endpoint.front, key),
                views: Line(context, .subscriber, .subscriber, endpoint.view, key))
        }
        var reported = ContinuousClock.now
        while true {
            usleep(Self.pause)
            for member in members { try member.turn(Timestamp(microseconds: Int64(machineTime()) * 1_000)) }
            guard ContinuousClock.now - reported > .seconds(1) else { continue }
            reported = .now
            try report(members)
        }
    }

    private func report(_ members: [Member]) throws {
        let inside = members.compactMap(\.inside)
        let report = KeyedCrowdReport(
            members: members.count, inside: inside.count, since: inside.min() ?? 0,
            attempts: members.reduce(0) { $0 + $1.attempts }, refusals: members.reduce(0) { $0 + $1.refusals })
        say(String(decoding: try JSONEncoder().encode(report), as: UTF8.self))
    }
}

/// A client with its two connections.
private final class Member {
    private var front: Line
    private var views: Line
    private var client = ClientMachine(
        session: .random(), schema: nil, settings: .keyed, random: Random(seed: .random(in: .min ... .max)))
    private var subscriber = SubscriberMachine(settings: .keyed, random: Random(seed: .random(in: .min ... .max)))
    private var welcomed: Int?
    private var live: Int?
    /// Connections that it has begun.
    private(set) var attempts = 0
    /// How often its key was not taken.
    private(set) var refusals = 0

    init(front: consuming Line, views: consuming Line) {
        self.front = front
        self.views = views
    }

    /// Since when it is welcomed and hears views; nil if it is not, or does not.
    var inside: Int? {
        guard let welcomed, let live else { return nil }
        return max(welcomed, live)
    }

    func turn(_ now: Timestamp) throws {
        var actions: [ClientMachine.Action] = []
        let end = try front.receive { actions += client.received($0, now: now) }
        if let end { actions += client.disconnected(now: now, because: noted(end)) }
        if let deadline = client.deadline, now >= deadline { actions += client.ticked(now: now) }
        if !actions.isEmpty { actions += client.flush(now: now) }
        try perform(actions, now)
        var news: [SubscriberMachine.Action] = []
        if client.isSentAway {
            news += subscriber.disconnected(now: now)
            views.close()
            live = nil
        } else {
            let end = try views.receive { news += subscriber.received($0, now: now) }
            if let end { news += subscriber.disconnected(now: now, because: noted(end)) }
            if now >= subscriber.deadline { news += subscriber.ticked(now: now) }
        }
        try perform(news, now)
    }

    private func noted(_ end: Disconnection) -> Disconnection {
        if case .keyRefused = end { refusals += 1 }
        return end
    }

    private func perform(_ actions: [ClientMachine.Action], _ now: Timestamp) throws {
        for action in actions {
            switch action {
            case .connect:
                attempts += 1
                welcomed = nil
                try front.open()
            case .disconnect:
                welcomed = nil
                front.close()
            // Its key is never another one.
            case .checkKey: try perform(client.keyFound(nil, now: now), now)
            case .send(let envelope): try front.send(envelope)
            case .welcomed: welcomed = machineTime()
            case .view(_, let turn, let bytes):
                try perform(subscriber.answered(turn: turn, bytes: bytes, timeline: client.timeline, now: now), now)
            case .refused(let error): throw error
            default: break
            }
        }
    }

    private func perform(_ actions: [SubscriberMachine.Action], _ now: Timestamp) throws {
        for action in actions {
            switch action {
            case .reconnect:
                attempts += 1
                live = nil
                try views.open()
            case .stale:
                live = nil
                views.close()
            case .checkKey: subscriber.keyFound(nil, now: now)
            case .live: live = machineTime()
            case .requestView(let turn, let timeline):
                try perform(client.requestView(atLeast: turn, in: timeline, now: now), now)
            case .show, .idle, .note: break
            }
        }
    }
}

/// One connection, replaced by a new socket at each attempt.
private struct Line: ~Copyable {
    private let context: Context
    private let kind: Socket.Kind
    private let options: SocketOptions
    private let address: String
    private var socket: Socket?
    private var monitor: ConnectionMonitor?
    private var waiting: [[[UInt8]]] = []

    init(_ context: Context, _ kind: Socket.Kind, _ options: SocketOptions, _ address: String, _ key: KeyFile) {
        var options = options
        options.security = .curveClient(key.pair, server: key.servers[0])
        (self.context, self.kind, self.options, self.address) = (context, kind, options, address)
    }

    mutating func open() throws {
        close()
        var socket = try Socket(context, kind, options: options)
        if kind == .subscriber { try socket.subscribe(viewTopic(of: .main)) }
        monitor = try ConnectionMonitor(socket, in: context)
        try socket.connect(address)
        self.socket = consume socket
    }

    mutating func close() {
        monitor = nil
        socket = nil
        waiting.removeAll()
    }

    mutating func send(_ envelope: Envelope) throws {
        waiting.append(envelope.parts)
        try sendWaiting()
    }

    private mutating func sendWaiting() throws {
        while let frames = waiting.first {
            guard try socket?.send(frames) == .sent else { return }
            waiting.removeFirst()
        }
    }

    /// - Returns: how the connection ended, if it did.
    mutating func receive(_ body: (Envelope) throws -> Void) throws -> Disconnection? {
        try sendWaiting()
        let end = try monitor?.connectionEnd()
        while let message = try socket?.receive() {
            try body(Envelope(parts: kind == .subscriber ? Array(message.frames.dropFirst()) : message.frames))
        }
        switch end {
        case nil: return nil
        case .refused?: return .keyRefused("the store does not take this key")
        case .lost?, .unanswered?, .misunderstood?: return .broken
        }
    }
}
