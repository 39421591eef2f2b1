import ChaosSupport
import Foundation
import ProcessSupport
import SamovarCore
import SamovarHost
import SamovarWire
import ZeroMQ

/// Stands between a store and its peers, ends ZeroMQ on both sides, and loses, repeats, delays and so reorders whole messages as
/// a seed says. SIGTERM makes it honest: from then on it only passes on.
///
/// Each peer has a connection of its own to the store, so that the store sees as many peers as there are.
struct ProxyRole {
    private let listen: Endpoint
    private let store: Endpoint
    /// Of a thousand messages, how many are lost, are sent twice, are late.
    private let losses: Int
    private let repeats: Int
    private let delays: Int
    private let seed: UInt64

    init(_ arguments: RoleArguments) throws {
        let data = try arguments.text("data")
        listen = try Endpoint(try arguments.text("listen"), dataFolder: data + "-proxy")
        store = try Endpoint(try arguments.text("store"), dataFolder: data)
        losses = try arguments.number("losses", default: 0)
        repeats = try arguments.number("repeats", default: 0)
        delays = try arguments.number("delays", default: 0)
        seed = UInt64(try arguments.text("seed")) ?? 0
    }

    func run() async throws {
        let honest = EndSignal()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await honest.watch() }
            group.addTask { [self] in try pass(honest) }
            try await group.waitForAll()
        }
    }

    /// On the only thread that matters in this process.
    private func pass(_ honest: EndSignal) throws {
        try makeFolder()
        let context = try Context(maximumSockets: 4_096)
        var poller = Poller()
        var mischief = Mischief(seed: seed, losses: losses, repeats: repeats, delays: delays)
        var front = try ProxyDoor(context, listen.front, to: store.front, options: .front, &poller)
        var work = try ProxyDoor(context, listen.work, to: store.work, options: .work, &poller)
        var view = try ProxyFeed(context, listen.view, from: store.view)
        say("passing")
        while true {
            try poller.wait(timeoutMilliseconds: 5)
            if honest.came, !mischief.isOver {
                mischief.isOver = true
                // Proof that there was mischief, for the test to read.
                say("lost \(mischief.lost), repeated \(mischief.repeated), delayed \(mischief.delayed)")
            }
            try front.turn(&mischief, &poller)
            try work.turn(&mischief, &poller)
            try view.turn(&mischief, &poller)
        }
    }

    private func makeFolder() throws {
        if case .local(let folder) = listen {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
    }
}

/// What is done to each message.
struct Mischief {
    var isOver = false
    private(set) var lost = 0
    private(set) var repeated = 0
    private(set) var delayed = 0
    private let losses: Int
    private let repeats: Int
    private let delays: Int
    private var random: SeededRandom

    init(seed: UInt64, losses: Int, repeats: Int, delays: Int) {
        (self.losses, self.repeats, self.delays) = (losses, repeats, delays)
        random = SeededRandom(seed: seed)
    }

    /// After which times a message is passed on; none for one that is lost.
    mutating func fate() -> [Duration] {
        guard !isOver else { return [.zero] }
        let draw = Int.random(in: 0..<1_000, using: &random)
        let later = Duration.milliseconds(Int.random(in: 1...200, using: &random))
        if draw < losses {
            lost += 1
            return []
        }
        if draw < losses + repeats {
            repeated += 1
            return [.zero, later]
        }
        if draw < losses + repeats + delays {
            delayed += 1
            return [later]
        }
        return [.zero]
    }
}

/// One ROUTER for peers, and a DEALER to the store for each of them.
private struct ProxyDoor: ~Copyable {
    private final class Leg {
        var socket: Socket
        let slot: Poller.Slot
        var used = ContinuousClock.now
        var waiting: [[[UInt8]]] = []

        init(_ socket: consuming Socket, _ slot: Poller.Slot) {
            self.socket = socket
            self.slot = slot
        }
    }

    private struct Parcel {
        let due: ContinuousClock.Instant
        let peer: [UInt8]
        let frames: [[UInt8]]
        let isForStore: Bool
    }

    private let context: Context
    private let address: String
    private let options: SocketOptions
    private var router: Socket
    private var legs: [[UInt8]: Leg] = [:]
    private var late: [Parcel] = []
    /// Longer than any peer is silent that still lives.
    private static let idle = Duration.seconds(20)

    init(_ context: Context, _ listen: String, to address: String, options: SocketOptions, _ poller: inout Poller) throws {
        self.context = context
        self.address = address
        self.options = options
        var router = try Socket(context, .router, options: options)
        try router.bind(listen)
        _ = poller.add(router)
        self.router = router
    }

    mutating func turn(_ mischief: inout Mischief, _ poller: inout Poller) throws {
        let now = ContinuousClock.now
        while let message = try router.receive() {
            let frames = message.frames
            try take(Array(frames.dropFirst()), of: frames[0], isForStore: true, &mischief, &poller, now)
        }
        for (peer, leg) in legs {
            while let message = try leg.socket.receive() {
                try take(message.frames, of: peer, isForStore: false, &mischief, &poller, now)
            }
            try flush(leg)
            if now - leg.used > Self.idle {
                poller.remove(leg.slot)
                legs[peer] = nil
            }
        }
        let due = late.filter { $0.due <= now }
        late.removeAll { $0.due <= now }
        for parcel in due { try pass(parcel, &poller, now) }
    }

    private mutating func take(
        _ frames: [[UInt8]], of peer: [UInt8], isForStore: Bool, _ mischief: inout Mischief, _ poller: inout Poller,
        _ now: ContinuousClock.Instant
    ) throws {
        for delay in mischief.fate() {
            let parcel = Parcel(due: now + delay, peer: peer, frames: frames, isForStore: isForStore)
            if delay == .zero { try pass(parcel, &poller, now) } else { late.append(parcel) }
        }
    }

    private mutating func pass(_ parcel: Parcel, _ poller: inout Poller, _ now: ContinuousClock.Instant) throws {
        guard parcel.isForStore else {
            // A peer that is gone has another connection by now, or none.
            _ = try router.send([parcel.peer] + parcel.frames)
            return
        }
        let leg = try leg(of: parcel.peer, &poller)
        leg.used = now
        leg.waiting.append(parcel.frames)
        try flush(leg)
    }

    private mutating func leg(of peer: [UInt8], _ poller: inout Poller) throws -> Leg {
        if let leg = legs[peer] { return leg }
        var socket = try Socket(context, .dealer, options: .worker)
        try socket.connect(address)
        let slot = poller.add(socket)
        let leg = Leg(socket, slot)
        legs[peer] = leg
        return leg
    }

    private func flush(_ leg: Leg) throws {
        while let frames = leg.waiting.first {
            guard try leg.socket.send(frames) == .sent else { return }
            leg.waiting.removeFirst()
        }
    }
}

/// A SUB to the store, opened anew when it falls silent, and a PUB for subscribers.
private struct ProxyFeed: ~Copyable {
    private let context: Context
    private let address: String
    private var publisher: Socket
    private var subscriber: Socket?
    private var slot: Poller.Slot?
    private var heard = ContinuousClock.now
    private var late: [(due: ContinuousClock.Instant, frames: [[UInt8]])] = []

    init(_ context: Context, _ listen: String, from address: String) throws {
        self.context = context
        self.address = address
        var publisher = try Socket(context, .publisher, options: .view)
        try publisher.bind(listen)
        self.publisher = publisher
    }

    private mutating func connect(_ poller: inout Poller) throws {
        if let slot = slot.take() { poller.remove(slot) }
        subscriber = nil
        var socket = try Socket(context, .subscriber, options: .subscriber)
        try socket.subscribe(viewTopic(of: .main))
        try socket.connect(address)
        slot = poller.add(socket)
        subscriber = consume socket
        heard = .now
    }

    mutating func turn(_ mischief: inout Mischief, _ poller: inout Poller) throws {
        let now = ContinuousClock.now
        while let message = try subscriber?.receive() {
            heard = now
            for delay in mischief.fate() { late.append((now + delay, message.frames)) }
        }
        for message in late where message.due <= now { _ = try publisher.send(message.frames) }
        late.removeAll { $0.due <= now }
        if slot == nil || now - heard > .seconds(2) { try connect(&poller) }
    }
}
