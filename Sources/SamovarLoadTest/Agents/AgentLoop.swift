import MessagePack
import SamovarCore
import SamovarHost
import SamovarLoad
import SamovarPeers
import SamovarWire
import ZeroMQ

/// The loop of an agent: one connection to the coordinator, and clients and subscribers of the store, all on one thread.
struct AgentLoop: ~Copyable {
    private let agent: LoadAgent
    private let context: Context
    private let clock = HostClock()
    private let pacemaker: Pacemaker
    private var poller: Poller
    private let pace: Poller.Slot
    private var machine: AgentMachine
    private var link: PeerSocket
    private var slotStates: [ClientSeat] = []
    private var subscribers: [SubscriberSeat] = []
    /// Clients first, and then the subscribers.
    private var admission = Admission(of: 0)
    private var latencies = Latencies(applied: LatencyRecorder(), settled: LatencyRecorder(), view: LatencyRecorder())
    /// Since the last progress.
    private var recent = LatencyRecorder()
    /// When a view was last needed.
    private var lastApplied = Timestamp(microseconds: .min)
    private var isConnecting = false
    private var isFinished = false
    private var share: LoadShare?

    /// So long after the last receipt views are waited for. An input that changes nothing in the view is followed by none, and
    /// nobody can tell it from one whose view is late.
    private static let viewPatience = Duration.seconds(2)

    init(_ agent: LoadAgent) throws {
        let isKeyed = agent.keyFile != nil && agent.address.hasPrefix("tcp://")
        let meeting = isKeyed ? try StoreAccess(agent.address, keyFile: agent.keyFile) : nil
        // The only one of an agent's process. Three for each client and subscriber: its own, and two to notice that the connection broke.
        let context = try Context(maximumSockets: 60_000)
        let pacemaker = try Pacemaker()
        self.agent = agent
        self.context = context
        self.pacemaker = pacemaker
        poller = Poller()
        pace = poller.add(pacemaker.wakeup)
        machine = AgentMachine(now: clock.now())
        link = Self.link(to: meeting, or: agent.address, context)
    }

    private static func link(to meeting: StoreAccess?, or address: String, _ context: Context) -> PeerSocket {
        guard let meeting else { return PeerSocket(context, options: .load, address: address) }
        return PeerSocket(context, options: .load, to: meeting, at: .front)
    }

    /// Takes part until the end. Why it could not is told to the coordinator, too.
    mutating func run() throws {
        defer { pacemaker.stop() }
        try raiseDescriptorLimit()
        try link.connect(&poller)
        do {
            try takePart()
        } catch {
            // If anybody still listens: the error itself is thrown.
            try? say(.failed("\(error)"))
            throw error
        }
    }

    private mutating func takePart() throws {
        try perform(machine.joined(as: agent.name, on: agent.machine))
        while !isFinished {
            prepare()
            try poller.wait(timeoutMilliseconds: clock.milliseconds(until: deadline))
            if poller.isReadable(pace) { pacemaker.wakeup.drain() }
            let now = clock.now()
            try hear(now)
            if isConnecting { admission.advance(connected: connected) }
            for seat in admittedSeats { try seat.work(&poller, now) }
            try follow(now)
            take(now)
            if isConnecting { try lookWhetherConnected(now) }
            try perform(machine.ticked(isIdle: isIdle(now), answered: answered, connected: isConnecting ? connected : 0, now: now))
        }
    }

    private mutating func prepare() {
        link.prepare(&poller)
        for seat in admittedSeats { seat.front.prepare(&poller) }
    }

    private var deadline: Timestamp {
        var first = machine.deadline
        for seat in admittedSeats { if let time = seat.client.deadline { first = min(first, time) } }
        for seat in admittedSubscribers { first = min(first, seat.machine.deadline) }
        return first
    }

    private var admittedSeats: ArraySlice<ClientSeat> { slotStates.prefix(admission.count) }
    private var admittedSubscribers: ArraySlice<SubscriberSeat> { subscribers.prefix(max(0, admission.count - slotStates.count)) }

    // MARK: The coordinator

    private mutating func hear(_ now: Timestamp) throws {
        var messages: [CoordinatorMessage] = []
        let end = try link.receive(&poller) { frames in
            guard let body = frames.first else { return }
            messages.append(try MessagePackDecoder().decode(CoordinatorMessage.self, from: body))
        }
        for message in messages { try perform(machine.heard(message, now: now)) }
        if end != nil { try perform(machine.disconnected()) }
    }

    private mutating func perform(_ actions: [AgentMachine.Action]) throws {
        for action in actions {
            switch action {
            case .say(let message): try say(message)
            case .prepare(let share): try open(share)
            case .begin(let start): try begin(at: start)
            case .end(let time, let late): for seat in slotStates { seat.client.end(at: time, late: late) }
            case .tellProgress(let elapsed): try say(.progress(progress(elapsed)))
            case .report: try report()
            case .finish: isFinished = true
            case .fail(let reason): throw LoadError(reason)
            }
        }
    }

    private mutating func say(_ message: AgentMessage) throws {
        try link.send([try MessagePackEncoder().encode(message)])
    }

    // MARK: The store

    private mutating func open(_ share: LoadShare) throws {
        let plan = share.plan
        let store = try agent.store ?? StoreAccess(plan.endpoint, dataFolder: plan.dataFolder, keyFile: agent.keyFile)
        let inputs = try plan.inputs.map { try InputTemplate(encoded: $0) }
        guard !inputs.isEmpty, share.clients > 0 else { throw LoadError("the coordinator's plan has nothing to send") }
        slotStates = (0..<share.clients).map { number in
            let client = LoadClient(
                share.firstClient + number, of: plan, inputs: inputs, session: .random(), schema: agent.schema,
                settings: store.keyFile(for: .front) == nil ? .standard : .keyed, random: Random(seed: .random(in: .min ... .max)))
            return ClientSeat(client, context, at: store)
        }
        subscribers = (0..<share.subscribers).map { _ in
            SubscriberSeat(context, at: store, random: Random(seed: .random(in: .min ... .max)))
        }
        admission = Admission(of: slotStates.count + subscribers.count)
        self.share = share
        isConnecting = true
    }

    private mutating func lookWhetherConnected(_ now: Timestamp) throws {
        if let refusal = slotStates.lazy.compactMap({ $0.client.refusal }).first {
            throw LoadError("the store refuses this agent's clients: \(refusal)")
        }
        guard connected == slotStates.count + subscribers.count, let timeline = slotStates.first?.client.timeline else { return }
        isConnecting = false
        try perform(machine.connected(timeline: "\(timeline)", now: now))
    }

    private var connected: Int { slotStates.count { $0.client.isConnected } + subscribers.count { $0.machine.turn != nil } }

    private func begin(at start: Timestamp) throws {
        for seat in slotStates { seat.client.begin(at: start) }
        guard let share else { return }
        try pacemaker.run(from: ContinuousClock.now + (start - clock.now())) { share.nextDue(after: $0) }
    }

    /// Subscribers, each with a client that asks in its place.
    private mutating func follow(_ now: Timestamp) throws {
        guard !slotStates.isEmpty, !subscribers.isEmpty else { return }
        for (index, seat) in slotStates.enumerated() {
            for view in seat.takeViews() {
                for number in stride(from: index, to: subscribers.count, by: slotStates.count) {
                    try subscribers[number].answered(view, seat, &poller, now) { latencies.view.record($0) }
                }
            }
        }
        for (index, subscriber) in admittedSubscribers.enumerated() {
            try subscriber.work(slotStates[index % slotStates.count], &poller, now) { latencies.view.record($0) }
        }
    }

    private mutating func take(_ now: Timestamp) {
        for (index, seat) in slotStates.enumerated() {
            for sample in seat.client.takeSamples() {
                switch sample {
                case .applied(let latency, let turn, let due):
                    latencies.applied.record(latency)
                    recent.record(latency)
                    lastApplied = now
                    guard !subscribers.isEmpty else { continue }
                    let seen = subscribers[index % subscribers.count].tracker.applied(turn: turn, due: due)
                    if let seen { latencies.view.record(seen) }
                case .settled(let latency): latencies.settled.record(latency)
                case .timelineChanged: for subscriber in subscribers { subscriber.tracker.reset() }
                }
            }
        }
    }

    private var answered: Int { slotStates.reduce(0) { $0 + $1.client.counts.answered } }

    private func isIdle(_ now: Timestamp) -> Bool {
        guard slotStates.allSatisfy({ $0.client.isIdle(now: now) }) else { return false }
        return now >= lastApplied + Self.viewPatience || subscribers.allSatisfy { $0.tracker.waiting == 0 }
    }

    // MARK: What is told

    private func counts(_ now: Timestamp) -> ClientCounts {
        slotStates.reduce(ClientCounts()) { sum, seat in
            var counts = seat.client.counts
            counts.due = seat.client.due(by: now)
            return sum + counts
        }
    }

    private var views: Int { subscribers.reduce(0) { $0 + $1.views } }

    private mutating func progress(_ elapsed: Int64) -> AgentProgress {
        AgentProgress(
            elapsed: elapsed, counts: counts(clock.now()), views: views, applied: recent.take(), process: ProcessMeter.own)
    }

    private mutating func report() throws {
        let now = clock.now()
        for seat in slotStates {
            let text = "\(seat.client.session)"
            let bytes = seat.client.ledger.bytes
            var place = 0
            repeat {
                let piece = Array(bytes[place..<min(bytes.count, place + LoadProtocol.pieceSize)])
                try say(.ledger(session: text, sent: seat.client.counts.sent, piece: piece))
                place += piece.count
            } while place < bytes.count
        }
        try say(.result(result(now)))
        // The sessions need not wait for their expiry.
        for seat in slotStates { try seat.perform(seat.client.close(now: now), &poller, now) }
    }

    private func result(_ now: Timestamp) -> AgentResult {
        var bytes = WireBytes()
        for seat in slotStates {
            bytes.sent += seat.front.sentBytes
            bytes.received += seat.front.receivedBytes
        }
        for seat in subscribers { bytes.viewed += seat.feed.receivedBytes }
        return AgentResult(
            counts: counts(now), latencies: latencies.map(\.distribution), bytes: bytes, views: views,
            withoutView: subscribers.reduce(0) { $0 + $1.tracker.waiting + $1.tracker.unmeasured },
            withoutEnd: slotStates.reduce(0) { $0 + $1.client.withoutEnd },
            problems: Set(slotStates.compactMap { $0.client.refusal }).sorted(),
            rejection: slotStates.lazy.compactMap { $0.client.rejection }.first)
    }
}

extension SocketOptions {
    /// Between agent and coordinator: pieces of ledgers, and histograms.
    static let load: SocketOptions = {
        var options = SocketOptions.client
        options.maximumFrameBytes = 4 << 20
        // The last word may be why an agent gives up.
        options.linger = 1_000
        return options
    }()
}

/// A process that takes part in a load test: it does what a coordinator tells it, and ends with it.
struct LoadAgent: Sendable {
    /// Of the coordinator, as ZeroMQ spells it, or its endpoint.
    let address: String
    /// For people.
    let name: String
    /// What it runs on, for people.
    let machine: String
    /// How this agent reaches the store; nil for where the coordinator says.
    let store: StoreAccess?
    /// The key for there, and for a coordinator that is reached over TCP.
    let keyFile: String?
    /// Of this executable's program; nil for a generic tool.
    let schema: Schema?

    /// Takes part until the end, on a thread of its own.
    ///
    /// - Throws: `LoadError` if it could not go on.
    func run() async throws {
        try await onThread("samovar-load") {
            var loop = try AgentLoop(self)
            try loop.run()
        }
    }
}

/// Why a load test, or a part of it, has no result.
struct LoadError: Error, Hashable, Sendable, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}
