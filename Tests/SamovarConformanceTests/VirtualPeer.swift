import MessagePack
import SamovarCore

@testable import SamovarConformance

/// What a peer does in virtual time.
enum Deed {
    case connect, disconnect
    case send([[UInt8]])
    case print(Value)
    case exit(Int32)
}

/// A peer without socket and clock.
protocol VirtualPeer: AnyObject {
    var deeds: [Deed] { get set }
    var deadline: Timestamp? { get }
    func received(_ parts: [[UInt8]], now: Timestamp)
    func ticked(now: Timestamp)
    /// A line of standard input, nil for its end.
    func read(_ line: String?, now: Timestamp)
    /// SIGTERM.
    func terminate(now: Timestamp)
}

/// Plays a scenario to a peer in virtual time, with somebody in between who may change what they say to each other.
struct Play {
    private var machine: ScenarioMachine
    private let peer: any VirtualPeer
    private let meddler: Meddler?
    private var now = Timestamp(microseconds: 0)
    private var connections: UInt8 = 0
    private var isConnected = false
    private var isOver = false

    init(_ scenario: Scenario, _ role: Subject, to peer: any VirtualPeer, _ meddler: Meddler? = nil) {
        machine = ScenarioMachine(scenario, as: role, now: Timestamp(microseconds: 0))
        self.peer = peer
        self.meddler = meddler
        listener = role == .worker ? .work : .front
    }

    private let listener: Route.Listener
    private var route: Route { Route(listener, [0, connections]) }

    mutating func run() -> Verdict {
        while true {
            if let verdict = machine.verdict { return verdict }
            // What nobody waits for never ends: each scenario has a deadline.
            guard !exchange() else { continue }
            let next = [machine.deadline, isOver ? nil : peer.deadline].compactMap { $0 }.min() ?? now
            now = max(now, next)
            if !isOver { peer.ticked(now: now) }
            if peer.deeds.isEmpty { machine.ticked(now: now) }
        }
    }

    /// False if neither side has said anything.
    private mutating func exchange() -> Bool {
        let actions = machine.takeActions()
        for action in actions where !isOver { perform(action) }
        let deeds = peer.deeds
        peer.deeds = []
        for deed in deeds where !isOver { perform(deed) }
        return !actions.isEmpty || !deeds.isEmpty
    }

    private mutating func perform(_ action: ScenarioMachine.Action) {
        switch action {
        case .send(let parts, let to):
            guard isConnected, to == route else { return }
            guard let changed = meddler.map({ $0.toPeer(parts) }) ?? .some([parts]) else { return end(-6) }
            for parts in changed { peer.received(parts, now: now) }
        case .write(let line): peer.read(line, now: now)
        case .closeInput: peer.read(nil, now: now)
        case .terminate: peer.terminate(now: now)
        case .publish: break
        }
    }

    private mutating func perform(_ deed: Deed) {
        switch deed {
        case .connect:
            connections += 1
            isConnected = true
            meddler?.connected()
        case .disconnect: isConnected = false
        case .send(let parts):
            guard isConnected else { return }
            for parts in meddler.map({ $0.toStore(parts) }) ?? [parts] { machine.received(parts, from: route, now: now) }
        case .print(let line): for line in meddler.map({ $0.toPerson(line) }) ?? [line] { machine.printed(line, now: now) }
        case .exit(let code): end(code)
        }
    }

    private mutating func end(_ code: Int32) {
        isOver = true
        machine.exited(code, now: now)
    }
}
