import DequeModule
import SamovarCore
import SamovarWire

/// How long an action has to wait.
enum Floor {
    /// It tells of no turn.
    case none
    /// Until this turn is on disk.
    case turn(Int)

    var turn: Int? {
        if case .turn(let turn) = self { turn } else { nil }
    }
}

/// The only way out of the store: what its parts send and note, in order, and the gate before it.
///
/// A part cannot make an action leave without naming its floor, so none can forget the gate. Rejected: parts that return lists of frames
/// with their floors, which are copied twice on their way and say no more.
///
/// | event | what waits | what follows |
/// |---|---|---|
/// | `emit` with no floor, or one on disk | the same | it leaves |
/// | `emit` with a later floor | it, too | – |
/// | `committed` | what has a later floor | the others leave, in order |
/// | `takeActions` | the same | the host has what has left |
struct Outlet {
    var identity: StoreIdentity
    private var gate = Gate<StoreAction>(durable: 0)
    private var actions: [StoreAction] = []
    /// The newest view that has left the store.
    private(set) var shown: TurnView?
    /// Messages on our sockets that were not well-formed frames of a known peer.
    private(set) var droppedFrames = 0
    /// Those that no peer sends in good faith, whatever it has missed.
    private(set) var misused = 0
    /// Greetings with a turn beyond the journal that were not proven.
    private(set) var unprovenWitnesses = 0
    /// Greetings that knew of a later start than this one.
    private(set) var laterStarts = 0
    /// Connections whose keys were refused: nothing but errors leaves there, also of what has waited at the gate.
    private var closed: Set<Route> = []
    /// Few: with a key that is not good, nobody gets another connection.
    private static let closedLimit = 10_000
    /// Connections that are gone, each until this turn is on disk: of what waits for it at the gate, nothing but errors leaves there.
    private var gone: [Route: Int] = [:]
    /// Bytes of views for single peers of the network since the last time.
    private var viewBytes: [Route: Int] = [:]

    init(_ identity: StoreIdentity) {
        self.identity = identity
    }

    var durable: Int { gate.durable }

    /// The service begins, with so many turns on disk.
    mutating func begin(durable: Int) {
        gate = Gate(durable: durable)
    }

    // MARK: Leaving

    /// Whatever tells of state, outcomes or open effects names the turn that it tells of.
    mutating func emit(_ action: StoreAction, floor: Floor) {
        switch floor {
        case .none: leave(action)
        case .turn(let turn):
            if let action = gate.pass(action, floor: turn) { leave(action) }
        }
    }

    mutating func committed(through turn: Int) {
        for action in gate.open(to: turn) { leave(action) }
        // While nothing leaves, what was for them waits on.
        if !gone.isEmpty, !gate.isHeld { gone = gone.filter { $0.value > durable } }
    }

    private mutating func leave(_ action: StoreAction) {
        if !closed.isEmpty || !gone.isEmpty, case .send(let envelope, let route) = action, envelope.kind != .error,
            closed.contains(route) || gone[route] != nil
        {
            return
        }
        if case .publish(let envelope, _) = action, case .view(_, let turn, let bytes) = envelope.frame {
            shown = TurnView(turn: turn, bytes: bytes)
        }
        actions.append(action)
    }

    /// What is to be done now, in order. Empty until the next event.
    mutating func takeActions() -> [StoreAction] {
        let taken = actions
        actions.removeAll(keepingCapacity: true)
        return taken
    }

    /// Whether something waits for a commit.
    var isWaiting: Bool { !gate.isEmpty }

    /// Nothing leaves that tells of turns, on disk or not, until it may again.
    mutating func hold(_ isHeld: Bool) {
        for action in gate.hold(isHeld) { leave(action) }
    }

    // MARK: Frames

    /// - Parameter isProven: with a proof of the turn that it waits for, or of the newest on disk.
    mutating func send(_ frame: Frame, isProven: Bool = false, to route: Route, floor: Floor) {
        let proof = isProven ? identity.proof(of: floor.turn ?? durable) : nil
        emit(.send(Envelope(frame, timeline: identity.timeline, proof: proof), to: route), floor: floor)
        guard route.isRemote else { return }
        switch frame {
        case .view(_, _, let bytes): viewBytes[route, default: 0] += bytes.count
        case .views(let page): viewBytes[route, default: 0] += page.views.reduce(0) { $0 + $1.bytes.count }
        default: break
        }
    }

    mutating func takeViewBytes() -> [Route: Int] {
        defer { viewBytes.removeAll() }
        return viewBytes
    }

    /// Sends the tasks of a worker, which are written already.
    mutating func send(_ tasks: TaskBatch.Frame, to route: Route, floor: Floor) {
        let envelope = Envelope(written: .task, number: tasks.number, body: tasks.body, timeline: identity.timeline)
        emit(.send(envelope, to: route), floor: floor)
    }

    /// To all subscribers of an instance.
    mutating func publish(_ frame: Frame, of instance: Instance, floor: Floor) {
        emit(.publish(Envelope(frame, timeline: identity.timeline), of: instance), floor: floor)
    }

    mutating func note(_ level: Note.Level, _ text: String) {
        note(Note(level, text))
    }

    mutating func note(_ note: Note) {
        actions.append(.note(note))
    }

    // MARK: Refusing

    /// The last that a connection hears, until its key is good again.
    mutating func close(_ route: Route, _ error: PeerError) {
        send(.error(error), to: route, floor: .none)
        if closed.count >= Self.closedLimit { closed.removeAll() }
        closed.insert(route)
    }

    /// Its peer is gone, or has another connection: it is told nothing any more, also of what waits at the gate, or it would hear that with
    /// whatever becomes of its key.
    mutating func mute(_ route: Route) {
        gone[route] = gate.newest
    }

    /// Its peer is welcome, now or again. What still waits for a connection that was gone does not leave either: its peer has begun anew.
    mutating func open(_ route: Route) {
        if !closed.isEmpty { closed.remove(route) }
        guard gone.removeValue(forKey: route) != nil else { return }
        gate.removeAll { action in
            if case .send(let envelope, route) = action { envelope.kind != .error } else { false }
        }
    }

    mutating func refuse(_ route: Route, _ reason: String, wait: Duration = .seconds(1)) {
        send(.error(PeerError(.retryLater, reason, wait: wait)), to: route, floor: .none)
    }

    /// Counts a message that is no frame of a known peer.
    mutating func drop(_ what: String, from route: Route) {
        droppedFrames += 1
        warn(droppedFrames, "dropped a message at \(route.listener): \(what)")
    }

    /// Warns of the first of a kind, and then of fewer and fewer: a flood of noise must not become a flood of log lines.
    ///
    /// - Parameter count: how many there were so far.
    mutating func warn(_ count: Int, _ text: @autoclosure () -> String, words: String = "so far") {
        if count.nonzeroBitCount == 1 { note(.warning, "\(text()) (\(count) \(words))") }
    }

    /// - Parameter isNoise: false for what a peer may send in good faith, as one does that has missed something.
    mutating func misuse(_ what: String, _ route: Route, isNoise: Bool = true) {
        drop(what, from: route)
        if isNoise { misused += 1 }
        send(.error(PeerError(.misuse, what)), to: route, floor: .none)
    }

    // MARK: Lost tails, and stores that have taken over

    /// Whether a peer may be welcomed, by what it says of the journal and its stores. One that knows of a later start in this timeline is sent
    /// on: another store has taken over. Its word is believed for itself alone; it cannot end this store, which looks at its journal by itself.
    ///
    /// - Parameters:
    ///   - seen: the timeline of what the peer was told of.
    ///   - start: our number.
    mutating func admits(
        _ hello: Hello, of seen: Timeline, start: Int, what: @autoclosure () -> String, _ route: Route
    ) throws(StopReason) -> Bool {
        guard seen == identity.timeline else { return true }
        try requireTail(hello, start: start, what: what())
        guard hello.start > start else { return true }
        laterStarts += 1
        warn(laterStarts, "\(what()) knows start \(hello.start), and this is start \(start): it is sent on")
        refuse(route, "another store has taken over: this is start \(start), and you know start \(hello.start)")
        return false
    }

    /// Throws if a peer proves that the journal has lost its tail. A number alone proves nothing: whoever reaches the socket could end the
    /// store.
    private mutating func requireTail(_ hello: Hello, start: Int, what: @autoclosure () -> String) throws(StopReason) {
        guard hello.witness > durable else { return }
        guard let proof = hello.proof, proof == identity.proof(of: hello.witness).code else {
            unprovenWitnesses += 1
            let words = "turn \(hello.witness), the journal ends at \(durable): it cannot prove that, and is served"
            warn(unprovenWitnesses, "\(what()) says that it has seen \(words)")
            return
        }
        if identity.isFenced, hello.start > start {
            let end = "the journal of start \(start) ends at \(durable)"
            throw .superseded("\(what()) has seen turn \(hello.witness) and knows start \(hello.start), \(end)")
        }
        try requireTail(provenBy: hello.witness, what: what())
    }

    /// Throws if a turn was seen that the journal does not hold: its end is lost, and going on would use these numbers again.
    func requireTail(provenBy witness: Int, what: @autoclosure () -> String) throws(StopReason) {
        guard witness > durable else { return }
        throw .lostTail("\(what()) has seen turn \(witness), the journal ends at \(durable)")
    }
}

extension PeerError {
    /// A HELLO that was read late.
    static var superseded: PeerError { PeerError(.superseded, "a newer connection uses this identity") }

    /// Another key has used it first, or none.
    static func notYours(_ what: String) -> PeerError { PeerError(.forbidden, "this \(what) belongs to another key") }
}
