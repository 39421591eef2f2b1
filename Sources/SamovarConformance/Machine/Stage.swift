import MessagePack
import SamovarCore

/// A listener of the store, and a connection to it.
public struct Route: Hashable, Sendable {
    public enum Listener: String, Sendable, CaseIterable {
        case front, work, admin
    }

    public let listener: Listener
    public let id: [UInt8]

    public init(_ listener: Listener, _ id: [UInt8]) {
        self.listener = listener
        self.id = id
    }
}

/// The store of a scenario: it answers as a store does, but for what it is told to leave, and remembers what it has said, so that all that
/// the peer says can be held against it.
struct Stage {
    /// What the store does by itself.
    struct Manners {
        var welcomes = true
        var pongs = true
        /// Answers of jobs with ACKNOWLEDGE, and streamed messages with STREAMED.
        var acknowledges = true
        var marks = true
        /// Inputs with RECEIPT.
        var receipts = true
        /// The newest turn of which a view is sent to whoever asks for one.
        var newestView = Int64.max
    }

    /// One connection, as the store has it.
    enum Connection: Equatable {
        case greeted
        case welcomed
        /// Was told that it is unknown: what was under way before it may still come.
        case forgotten
        /// Was told to come on another one.
        case parted
    }

    /// What the store has told of turns in one timeline.
    struct Told {
        var head: Int64 = 0
        /// By the newest WELCOME.
        var welcomed: Int64 = 0
        var proofs: [Value] = []
        /// The greatest of the stores that have welcomed the peer.
        var start: Int64 = 0
    }

    let role: Subject
    var now: Timestamp
    var actions: [ScenarioMachine.Action] = []
    /// What a step found by itself.
    var fault: Fault?
    /// Something was heard of the peer.
    var hasMet = false
    /// It has said GOODBYE.
    private(set) var hasLeft = false
    var mayExit = false
    var exitCode: Int32?
    var hasExited: Bool { exitCode != nil }
    var last = "nothing"
    /// What the peer has printed.
    var lines: [Value] = []
    /// For steps: the connection of the HELLO that one looked at last, the leases of the newest tasks, and times.
    var former: Route?
    var leases: [Value] = []
    var times: [Timestamp] = []

    var manners = Manners()
    var timeline = Stage.timeline(1)
    /// The newest turn on disk.
    var head: Int64 = 100
    /// The number of this start.
    var start: Int64 = 3
    var silence: Int64 = 6_000
    private(set) var told: [[UInt8]: Told] = [:]
    private var proofs: UInt64 = 0xf000_0000_0000_0000

    private(set) var connections: [Route: Connection] = [:]
    /// The one of the newest HELLO.
    private(set) var route: Route?
    private(set) var hello: RawFrame?
    private(set) var hellos = 0
    private var welcomed: Timestamp?
    /// What the newest HELLO came after: the time of the WELCOME before it, and the newest proof.
    private(set) var welcomedBefore: Timestamp?
    private(set) var proofBefore: Value?
    /// The turn of the WELCOME before it.
    private(set) var headBefore: Int64 = 0
    /// What the HELLO before the newest said.
    private(set) var witnessBefore: Value?
    private var identity: Value?
    /// Those that the next HELLO may carry: what the peer has taken over, and what it may have.
    private var timelines = [RawFrame.noTimeline]

    var worker = WorkerSide()
    var client = ClientSide()

    init(_ role: Subject, now: Timestamp) {
        self.role = role
        self.now = now
    }

    static func timeline(_ number: UInt8) -> [UInt8] { Array(0x10..<0x1f) + [number] }

    var listener: Route.Listener { role == .worker ? .work : .front }
    var isWelcomed: Bool { route.map { connections[$0] == .welcomed } ?? false }

    // MARK: What the store says

    /// To the newest connection.
    mutating func send(_ kind: Kind, _ number: Int64 = 0, _ body: Value..., flags: UInt16 = 0, in timeline: [UInt8]? = nil) {
        var frame = RawFrame(kind, number, flags: flags, timeline: timeline ?? self.timeline, body)
        if timeline == nil, let proof = proof(for: kind) { frame.body.append(proof) }
        send(frame.parts)
    }

    mutating func send(_ parts: [[UInt8]]) {
        if let route { actions.append(.send(parts, to: route)) }
    }

    /// A proof of the newest turn, for who takes proofs.
    private mutating func proof(for kind: Kind) -> Value? {
        guard [.welcome, .pong, .receipt, .acknowledge].contains(kind), let hello, hello.flags & 1 != 0 else { return nil }
        proofs += 1
        let proof: Value = [.int(head), .uint(proofs)]
        told[timeline, default: Told()].proofs.append(proof)
        return proof
    }

    mutating func welcome(expected: Int64? = nil, credit: Int64? = nil, flags: UInt16 = 0) {
        guard let route else { return }
        welcomed = now
        connections[route] = .welcomed
        tell(head)
        told[timeline]?.welcomed = head
        if let credit { client.credit = credit }
        let isWorker = role == .worker
        let next = expected ?? (isWorker ? 1 : client.expected)
        let credit = isWorker ? 0 : client.credit
        told[timeline, default: Told()].start = max(told[timeline]?.start ?? 0, start)
        send(.welcome, start, [.string(Stage.program), 1, .int(next), .int(credit), .int(head), .int(silence)], flags: flags)
        if !timelines.contains(timeline) { timelines.append(timeline) }
    }

    static let program = "Conform"

    mutating func error(_ code: Code, _ text: String = "as the scenario has it", expected: Int64 = 0, wait: Int64 = 0) {
        send(.error, 0, [.int(code.rawValue), .string(text), .int(expected), .int(wait)])
        guard let route else { return }
        switch code {
        case .unknownPeer: connections[route] = .forgotten
        case .resync: break
        default: connections[route] = .parted
        }
    }

    mutating func goodbye() {
        send(.goodbye)
        if let route { connections[route] = .parted }
    }

    /// A PING, which a peer answers whenever it lives.
    mutating func ping() { send(.ping, 42) }

    mutating func tell(_ turn: Int64) {
        let known = told[timeline]?.head ?? 0
        told[timeline, default: Told()].head = max(known, turn)
    }

    /// The journal is another one from now on.
    mutating func beginTimeline(_ number: UInt8) {
        timeline = Stage.timeline(number)
        worker.jobs = [:]
        client = ClientSide()
    }

    // MARK: What the peer says

    /// Holds a frame against what is demanded of all, and answers it.
    mutating func take(_ frame: RawFrame, from route: Route) throws(Fault) {
        guard let kind = frame.known, route.listener == listener, kind.isSent(by: role) else {
            let place = route.listener == listener ? "of a \(role.rawValue)" : "at the \(listener.rawValue) listener"
            throw Fault(
                rule: "HELLO first", expected: "a frame \(place)", seen: "\(frame.text) at the \(route.listener.rawValue) listener")
        }
        try checkFlags(frame, kind)
        if kind == .hello { return try greeted(frame, route) }
        switch connections[route] {
        case .forgotten, .parted: return
        case nil, .greeted:
            throw Fault(
                rule: "HELLO first", expected: "HELLO as the first frame of a connection, and nothing more until WELCOME",
                seen: frame.text)
        case .welcomed: break
        }
        try demand(
            frame.timeline == timeline, "Timeline", expected: "the timeline of WELCOME, \(hexadecimal(timeline))",
            seen: "\(kind.name) with \(hexadecimal(frame.timeline))")
        timelines = [timeline]
        switch kind {
        case .ping:
            guard manners.pongs else { break }
            send(.pong, role == .worker ? worker.sent : client.credit)
            if role == .worker, worker.cancels > 0 { send(.cancel, worker.cancels, .array([])) }
        case .goodbye:
            connections[route] = .parted
            hasLeft = true
        default: break
        }
        if role == .worker { try takeFromWorker(frame, kind) } else { try takeFromClient(frame, kind) }
    }

    private func checkFlags(_ frame: RawFrame, _ kind: Kind) throws(Fault) {
        let allowed: UInt16 =
            switch kind {
            case .hello: role == .worker ? 1 : 3
            case .send: 2
            default: 0
            }
        try demand(
            frame.flags & ~allowed == 0, "Frames", expected: "no flag but \(allowed) in \(kind.name)", seen: "flags \(frame.flags)")
    }

    private mutating func greeted(_ frame: RawFrame, _ route: Route) throws(Fault) {
        try demand(
            connections[route] != .parted, "Leaving", expected: "another connection",
            seen: "HELLO again on the one that was to be closed")
        let before = hello?.number ?? 0
        try demand(
            frame.number > before, "One connection to an identity",
            expected: "a number beyond \(before), that of the HELLO before", seen: "HELLO \(frame.number)")
        try demand(
            timelines.contains(frame.timeline), "Timeline",
            expected: "the timeline that the peer knows, \(timelines.map { hexadecimal($0) }.joined(separator: " or "))",
            seen: hexadecimal(frame.timeline))
        let body = frame.body[0]
        let id = role == .worker ? body[3]?[0] : body[3]
        try demand(
            identity == nil || identity == id, "One connection to an identity",
            expected: "the identity of the HELLO before, \(identity?.text ?? "")", seen: id?.text ?? "none")
        try checkWitness(body[1] ?? .nil, in: frame.timeline)
        let greatest = told[frame.timeline]?.start ?? 0
        try demand(
            (body[4] ?? .int(0)) == .int(greatest), "Start", expected: "the greatest start number of the timeline, \(greatest)",
            seen: body[4]?.text ?? "none")
        witnessBefore = witness
        for old in connections.keys where old != route { connections[old] = .parted }
        (identity, hello, self.route) = (id, frame, route)
        connections[route] = .greeted
        hellos += 1
        welcomedBefore = welcomed
        proofBefore = told[frame.timeline]?.proofs.last
        headBefore = told[frame.timeline]?.welcomed ?? 0
        if role == .worker { try workerGreeted(frame, body) } else { try clientGreeted(frame, body) }
        if manners.welcomes { welcome() }
    }

    private func checkWitness(_ witness: Value, in timeline: [UInt8]) throws(Fault) {
        let told = told[timeline] ?? Told()
        switch witness {
        case .int(let turn) where turn > told.head:
            throw Fault(rule: "Witness", expected: "at most \(told.head), the newest turn that it was told of", seen: "\(turn)")
        case .array where !told.proofs.contains(witness):
            throw Fault(
                rule: "Witness", expected: "a proof as it was given in this timeline: \(told.proofs.suffix(3).map(\.text))",
                seen: witness.text)
        default: break
        }
    }

    /// What HELLO said of the newest turn.
    var witness: Value { hello?.body.first?[1] ?? .nil }
}
