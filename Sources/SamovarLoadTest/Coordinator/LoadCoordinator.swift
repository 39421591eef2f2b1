import Foundation
import MessagePack
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarText
import SamovarWire
import ZeroMQ

/// The process that leads a load test: it waits for the agents, lets them begin together, and keeps what they tell.
final class LoadCoordinator: Sendable {
    /// What is known at the end.
    struct Result: Sendable {
        /// Each agent that joined, with what it has told.
        let agents: [CoordinatorMachine.Agent]
        /// What went wrong, and not with one agent alone.
        let problems: [String]
        /// How long inputs were due, if the test was stopped before its time; nil if it was not.
        let stoppedAfter: Duration?
    }

    enum Command: Sendable {
        case interrupt
        case ended(name: String, reason: String)
    }

    /// Where agents come with a client's key of a folder, as they come to a store's front door.
    struct KeyedMeeting: Sendable {
        let endpoint: Endpoint
        let keysFolder: String
    }

    let plan: LoadPlan
    let addresses: [String]
    let keyed: KeyedMeeting?
    let expected: Int
    let kills: KillPlan?
    let patience: Duration
    let mailbox: Mailbox<Command>

    /// - Parameters:
    ///   - addresses: where agents may join, as ZeroMQ spells them.
    ///   - keyed: where they may join with keys.
    ///   - expected: how many agents take part.
    ///   - patience: how long to wait for them.
    init(
        _ plan: LoadPlan, at addresses: [String], keyed: KeyedMeeting? = nil, expecting expected: Int, kills: KillPlan?,
        patience: Duration
    ) throws {
        self.plan = plan
        self.addresses = addresses
        self.keyed = keyed
        self.expected = expected
        self.kills = kills
        self.patience = patience
        mailbox = try Mailbox()
    }

    /// Leads the test to its end, on a thread of its own.
    ///
    /// - Parameter hear: told of what is neither said to an agent nor the end; called on that thread, and should return soon.
    /// - Throws: `ZeroMQError` if an address cannot be used.
    func run(_ hear: @escaping @Sendable (CoordinatorMachine.Action) -> Void) async throws -> Result {
        try await onThread("samovar-load") { [self] in
            var loop = try CoordinatorLoop(self, hear)
            return try loop.run()
        }
    }

    /// Ends the test early, and collects what there is; the second time, at once.
    func interrupt() {
        mailbox.post(.interrupt)
    }

    /// The process of an agent has ended.
    func agentEnded(_ name: String, _ reason: String) {
        mailbox.post(.ended(name: name, reason: reason))
    }
}

struct CoordinatorLoop: ~Copyable {
    private let coordinator: LoadCoordinator
    private let hear: @Sendable (CoordinatorMachine.Action) -> Void
    private let clock = HostClock()
    private var poller: Poller
    private var router: Socket
    /// For agents with keys.
    private var keyed: Socket?
    private let doorbell: Poller.Slot
    private var machine: CoordinatorMachine
    private var isFinished = false

    private static let messagesPerTurn = 256

    init(_ coordinator: LoadCoordinator, _ hear: @escaping @Sendable (CoordinatorMachine.Action) -> Void) throws {
        var options = SocketOptions(maximumFrameBytes: 4 << 20)
        // The last word to the agents.
        options.linger = 1_000
        var router = try Socket(Context.shared(), .router, options: options)
        for address in coordinator.addresses { try Self.bind(&router, address) }
        var poller = Poller()
        let keyed = try Self.keyedSocket(coordinator.keyed, options, &poller, hear)
        doorbell = poller.add(coordinator.mailbox.wakeup)
        _ = poller.add(router)
        self.coordinator = coordinator
        self.hear = hear
        self.poller = poller
        self.router = router
        self.keyed = keyed
        machine = CoordinatorMachine(
            coordinator.plan, expected: coordinator.expected, kills: coordinator.kills, patience: coordinator.patience,
            now: clock.now())
    }

    private static func bind(_ socket: inout Socket, _ address: String) throws(CommandFailure) {
        do throws(ZeroMQError) {
            try socket.bind(address)
        } catch {
            throw CommandFailure(.configuration, "cannot listen at \(address): \(error.reason)")
        }
    }

    private static func keyedSocket(
        _ meeting: LoadCoordinator.KeyedMeeting?, _ options: SocketOptions, _ poller: inout Poller,
        _ hear: @escaping @Sendable (CoordinatorMachine.Action) -> Void
    ) throws -> Socket? {
        guard let meeting else { return nil }
        let keys = try StoreKeys(folder: meeting.keysFolder)
        let gate = KeyGate(keys.table, HostClock()) { hear(.note($0)) }
        var options = options
        options.security = .curveServer(keys.server.secretKey, try gate.door(.front, Context.shared()))
        var socket = try Socket(Context.shared(), .router, options: options)
        try bind(&socket, meeting.endpoint.front)
        _ = poller.add(socket)
        return socket
    }

    mutating func run() throws -> LoadCoordinator.Result {
        while !isFinished {
            try poller.wait(timeoutMilliseconds: clock.milliseconds(until: machine.deadline))
            let now = clock.now()
            if poller.isReadable(doorbell) {
                for command in coordinator.mailbox.takeAll() {
                    switch command {
                    case .interrupt: try perform(machine.interrupted(now: now))
                    case .ended(let name, let reason): try perform(machine.ended(name, reason, now: now))
                    }
                }
            }
            try receive(now)
            try perform(machine.ticked(now: now))
        }
        _ = coordinator.mailbox.close()
        return LoadCoordinator.Result(
            agents: machine.agents, problems: machine.problems, stoppedAfter: machine.stoppedAfter)
    }

    private mutating func receive(_ now: Timestamp) throws {
        for _ in 0..<Self.messagesPerTurn {
            guard let (message, socket) = try next() else { return }
            guard !message.isTruncated, message.frames.count == 2 else { continue }
            // Two sockets may give out the same id.
            let peer = [socket] + message.frames[0]
            let said: AgentMessage
            do {
                said = try MessagePackDecoder().decode(AgentMessage.self, from: message.frames[1])
            } catch {
                try say(.dismissed("this agent said something that makes no sense: is it of another version?"), to: peer)
                continue
            }
            try perform(machine.heard(said, from: peer, now: now))
        }
    }

    private mutating func next() throws -> (message: MultipartMessage, socket: UInt8)? {
        if let message = try router.receive() { return (message, 0) }
        return try keyed?.receive().map { ($0, 1) }
    }

    private mutating func perform(_ actions: [CoordinatorMachine.Action]) throws {
        for action in actions {
            switch action {
            case .say(let message, let peer): try say(message, to: peer)
            case .finish: isFinished = true
            case .started, .kill, .show, .note: hear(action)
            }
        }
    }

    /// What cannot be delivered is told by the silence that follows.
    private mutating func say(_ message: CoordinatorMessage, to peer: [UInt8]) throws {
        let frames = [Array(peer.dropFirst()), try MessagePackEncoder().encode(message)]
        _ = try peer.first == 0 ? router.send(frames) : keyed?.send(frames)
    }
}
