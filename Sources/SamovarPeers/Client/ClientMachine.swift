public import SamovarCore
public import SamovarWire

/// What a client does with its inputs: numbers them, sends what the credit allows, sends again what a lost connection may have
/// lost, and tells each outcome exactly once.
///
/// The idea: go-back-N. The numbers of a session have no holes, so the store needs one number to know what it has, and the
/// client one to know what is answered. After every WELCOME the client sends again from the oldest input without an outcome;
/// the store applies what is new and repeats the outcome of what is not. Selective repetition was rejected: it saves bytes
/// only when a connection is lost, and both sides would keep sets in place of numbers.
///
/// | | open | closed |
/// |---|---|---|
/// | submit | numbered and kept; backlog full, or after an input that ends the session: throws | throws |
/// | settle, requestView, request (page) | kept; sent if welcomed | throws |
/// | flush | SEND within credit and window; blocked by credit: PING confirms | – |
/// | WELCOME | welcomed; goes back to the oldest unanswered, requests again; each other time 1 s later, if it was turned away while inputs are unanswered | – |
/// | WELCOME, another timeline | everything unanswered is unknown; on the wire, numbers go on with the one that it expects | – |
/// | WELCOME that expects an impossible number | as ERROR sessionExpired | – |
/// | PONG | credit | – |
/// | RECEIPT | each new outcome is answered, a known one ignored; credit; an input that was to end the session and was not applied has not | – |
/// | ERROR resync | goes back to its number; a note if that is answered | – |
/// | SETTLED, WAITING, VIEW, OUTPUTS, VIEWS | told if it was asked for | – |
/// | ticked | 6 s without an outcome or an answer: goes back, asks again | – |
/// | close | unanswered is unknown, goodbye, stop, closed; a durable one keeps what it has and says no goodbye | – |
/// | refused | unanswered is unknown, closed; a durable one keeps what it has, unless its session is over | – |
///
/// The connection itself follows the table of ``Connection``.
///
/// A host calls, in each round of its loop: `received` for every frame, `submit` for every new input, `ticked`, and last
/// `flush`; it carries the actions out in order.
public struct ClientMachine: ~Copyable {
    enum State: Equatable {
        case open
        case closed
    }

    private(set) var state = State.open
    var connection: Connection
    /// Its numbers are those of the wire.
    private var backlog = Backlog()
    /// The caller's number of an input is its number on the wire plus this.
    private var base = 0
    /// The caller's number of the last input of earlier timelines.
    private var lastOfEarlier = 0
    private var credit = 0
    /// The confirmation that the store was told last.
    private var toldConfirmed = 0
    /// When inputs in flight are sent again.
    private var repeatAt: Timestamp?
    var requests = ClientRequests()
    /// Where the last ERROR resync led: each frame that was under way then gives another, which says nothing new.
    private var resynced: Int?

    /// Why the store takes nothing from us at present, in its words; nil if it has not said so since the last WELCOME.
    public private(set) var obstacle: String?
    /// The store did not welcome us, and said when to come again: until it does, we keep no other connection either.
    public private(set) var isSentAway = false
    /// Whether a store that had welcomed us has sent us away since, perhaps for a request; and whether a WELCOME has put requests off since.
    private var (isTurnedAway, hasPutOff) = (false, false)

    /// Steps of the outbox that are not on disk yet; always empty without one.
    private var unsaved: [OutboxEntry] = []
    /// Only these inputs are sent, and only these outcomes confirmed: their steps are on disk.
    private var savedInputs = Int.max
    private var savedConfirmed = 0
    /// Inputs that are answered, and whose outcome nobody has seen yet. Numbers of the wire.
    private var unseen = UnseenInputs()
    private let isDurable: Bool
    /// How many processes have used the outbox.
    private let openings: Int
    /// With this input the session ends, if it is applied; nil if it goes on. A number of the wire.
    private var ending: (sequence: Int, isSent: Bool)?

    private let session: SessionID
    private let schema: Schema?
    let settings: Settings

    /// - Parameters:
    ///   - session: drawn by the client, and never used by another.
    ///   - schema: the program whose inputs it sends; nil for a tool that sends what it was given.
    ///   - random: seeds the pauses between connections.
    public init(session: SessionID, schema: Schema?, settings: Settings = .standard, random: Random) {
        self.session = session
        self.schema = schema
        self.settings = settings
        (isDurable, openings) = (false, 0)
        connection = Connection(settings.connection, random: random)
    }

    /// A client that outlives its process. Its host writes what `takeEntries` gives to the outbox before it calls `flush`.
    ///
    /// - Parameter outbox: as this process has opened it.
    public init(outbox: ClientOutbox, schema: Schema?, settings: Settings = .standard, random: Random) {
        session = outbox.session
        self.schema = schema
        self.settings = settings
        (isDurable, openings) = (true, outbox.openings)
        backlog = Backlog(restoring: outbox.inputs, next: outbox.next)
        savedInputs = backlog.next - 1
        savedConfirmed = backlog.confirmed
        // No process connects a million times; so the store knows the newer process by its greater number.
        connection = Connection(
            settings.connection, random: random, timeline: outbox.timeline, epoch: outbox.openings << 20, witness: outbox.witness,
            proof: outbox.proof, start: outbox.start)
    }

    /// The numbers of the inputs without an outcome, in order.
    public var open: [Int] { backlog.unanswered.map { base + $0 } }

    /// The number of the newest input.
    public var submitted: Int { base + backlog.next - 1 }
    /// The store has another timeline than when this input was submitted, so the turn of its outcome means nothing there.
    public func isOfEarlierTimeline(_ sequence: Int) -> Bool { sequence <= lastOfEarlier }
    /// Inputs without an outcome.
    public var unanswered: Int { backlog.count }

    /// When `ticked` is to be called at the latest; nil for never.
    public var deadline: Timestamp? {
        [connection.deadline, repeatAt, requests.repeatAt].compactMap { $0 }.min()
    }
}

// MARK: - Events of the host

extension ClientMachine {
    /// Takes an input, to be sent by the next `flush`, and gives its number: 1, 2, 3 …
    ///
    /// - Parameter endsSession: the session ends with it, in its own record, if it is applied; so there is no further one. It is sent when
    ///   those before it have their outcome, for that is all that the store keeps of a session which has ended so. The session of a
    ///   durable client ends with `close`.
    public mutating func submit(
        _ input: [UInt8], to instance: Instance = .main, endsSession: Bool = false
    ) throws(SubmitError) -> Int {
        guard state == .open, ending == nil else { throw .closed }
        guard input.count <= settings.inputBytes else { throw .tooLarge(bytes: input.count, limit: settings.inputBytes) }
        let bytes = backlog.bytes + input.count
        guard backlog.count < settings.backlog, bytes <= settings.backlogBytes, unseen.bytes + bytes <= settings.keptBytes else {
            throw .backlogFull
        }
        let number = backlog.append(input, to: instance)
        if isDurable {
            note(.input(Submission(sequence: number, instance: instance, input: input)))
        } else if endsSession {
            ending = (number, isSent: false)
        }
        return base + number
    }

    /// Whoever sent this input has seen its outcome; a durable client need not be told it again.
    public mutating func seen(_ sequence: Int) {
        guard unseen.remove(sequence - base) else { return }
        note(.seen(sequence: sequence - base))
    }

    private mutating func note(_ entry: OutboxEntry) {
        if isDurable { unsaved.append(entry) }
    }

    /// What is to be added to the outbox now; `saved` follows when it is on disk, and nothing else between the two.
    public mutating func takeEntries() -> [OutboxEntry] {
        defer { unsaved.removeAll() }
        return unsaved
    }

    public mutating func saved() {
        guard isDurable else { return }
        savedInputs = backlog.next - 1
        savedConfirmed = min(backlog.confirmed, (unseen.oldest ?? .max) - 1)
    }

    /// The input whose outcome has to be seen before the store takes one that waits; nil if there is none.
    public var heldUpBy: Int? {
        guard backlog.hasUnsent, !backlog.hasInFlight, backlog.cursor > credit, let oldest = unseen.oldest else { return nil }
        return oldest <= backlog.confirmed ? base + oldest : nil
    }

    /// All outcomes up to this number may be forgotten by the store.
    private var confirmed: Int { isDurable ? savedConfirmed : backlog.confirmed }

    /// Sends what credit and window allow.
    public mutating func flush(now: Timestamp) -> [Action] {
        guard connection.isWelcomed else { return [] }
        var actions: [Action] = []
        while true {
            var frame = backlog.takeFrame(credit: min(credit, savedInputs, lastToSend), settings: settings)
            guard let last = frame.indices.last else { break }
            if frame[last].sequence == ending?.sequence {
                frame[last].endsSession = true
                ending?.isSent = true
            }
            send(.send(frame, confirmed: confirmed), &actions)
        }
        // The store's credit follows our confirmations, which otherwise travel with inputs.
        if backlog.hasUnsent, backlog.cursor > credit, confirmed > toldConfirmed {
            send(.ping(confirmed), &actions)
        }
        if backlog.hasInFlight, repeatAt == nil { repeatAt = now + connection.silence }
        return actions
    }

    /// An input that ends the session waits for the outcomes of those before it.
    private var lastToSend: Int {
        if let ending, backlog.oldest < ending.sequence { ending.sequence - 1 } else { .max }
    }

    /// Time has passed.
    public mutating func ticked(now: Timestamp) -> [Action] {
        var actions: [Action] = []
        perform(connection.ticked(now: now), now, &actions)
        if let due = repeatAt, now >= due {
            goBackToOldest()
            repeatAt = nil
        }
        if let due = requests.repeatAt, now >= due { askAgain(now, &actions) }
        return actions
    }

    /// The transport knows that the connection is gone. Without this event, silence tells.
    public mutating func disconnected(now: Timestamp, because reason: Disconnection = .broken) -> [Action] {
        var actions: [Action] = []
        perform(connection.disconnected(now: now, because: reason), now, &actions)
        return actions
    }

    /// Ends the session. What is not answered yet stays unknown. A durable client with something left only goes away.
    public mutating func close() -> [Action] {
        guard state == .open else { return [] }
        var actions: [Action] = []
        let isDone = !isDurable || (backlog.count == 0 && unseen.isEmpty && unsaved.isEmpty)
        forgetUnanswered(.closed, isKept: isDurable, &actions)
        if connection.isWelcomed, isDone { send(.goodbye, &actions) }
        connection.close()
        end()
        actions.append(.stop)
        return actions
    }
}

// MARK: - Frames of the store

extension ClientMachine {
    /// A frame came from the store.
    public mutating func received(_ envelope: Envelope, now: Timestamp) -> [Action] {
        var actions: [Action] = []
        if case .error(let error) = envelope.frame, error.code == .retryLater {
            obstacle = error.text
            if connection.isWelcomed { isTurnedAway = true } else { isSentAway = true }
        }
        perform(connection.received(envelope, now: now), now, &actions)
        return actions
    }

    private mutating func welcomed(_ welcome: Welcome, left: Timeline?, _ now: Timestamp, _ actions: inout [Action]) {
        (obstacle, isSentAway) = (nil, false)
        actions.append(.welcomed(head: welcome.head, timeline: connection.timeline))
        if let left {
            actions.append(.note("the timeline is \(connection.timeline) and no more \(left)"))
            changeTimeline(expected: welcome.expected, &actions)
        }
        note(.welcomed(connection.timeline, head: welcome.head, proof: connection.proof, start: connection.start))
        for request in requests.dropPages(otherThan: connection.timeline) {
            actions.append(.pageless(request, .timelineChanged))
        }
        guard isPossible(expected: welcome.expected, &actions) else { return }
        credit = welcome.credit
        goBackToOldest()
        requests.forgetGivenUp()
        // Sent away again at once for a request, we would never hear what became of inputs, for outcomes wait for the disk; and sent away
        // for inputs, never of a request.
        if isTurnedAway, backlog.count > 0, !hasPutOff {
            hasPutOff = true
            requests.asked(now, again: .seconds(1))
        } else {
            askAgain(now, &actions)
        }
        isTurnedAway = false
    }

    private mutating func resync(_ expected: Int, _ actions: inout [Action]) {
        // The store has taken that number since, or there were no answer: the network was slow.
        if (1..<backlog.oldest).contains(expected) {
            return actions.append(.note("dropped a RESYNC to input \(expected), which is answered"))
        }
        guard isPossible(expected: expected, &actions), resynced != expected else { return }
        resynced = expected
        backlog.goBack(to: expected)
    }

    /// A store that expects a number that was answered has forgotten the session; one that expects a number that was never
    /// used has met another client with its identity. Neither can be mended.
    private mutating func isPossible(expected: Int, _ actions: inout [Action]) -> Bool {
        if (backlog.oldest...backlog.next).contains(expected) { return true }
        let text = "the store expects input \(expected) of this session, which is at \(backlog.oldest)"
        connection.close()
        refused(PeerError(.sessionExpired, text), &actions)
        return false
    }

    /// - Parameter expected: the number of the next input of this session there: 1 in a new journal, and more in one that goes on from another.
    private mutating func changeTimeline(expected: Int, _ actions: inout [Action]) {
        let first = max(1, min(expected, backlog.next))
        lastOfEarlier = base + backlog.next - 1
        for sequence in backlog.unanswered { actions.append(.unknown(sequence: base + sequence, .timelineChanged)) }
        for turn in requests.dropTurns() { actions.append(.unsettled(turn: turn, .timelineChanged)) }
        base = lastOfEarlier + 1 - first
        backlog = Backlog(restoring: [], next: first)
        if first > 1 { note(.opened(session: session, openings: openings, next: first)) }
        toldConfirmed = 0
        ending = nil
        unseen = UnseenInputs()
        savedConfirmed = 0
        if isDurable { savedInputs = 0 }
    }

    private mutating func take(_ frame: Frame, _ now: Timestamp, _ actions: inout [Action]) {
        switch frame {
        case .pong(let credit): self.credit = max(self.credit, credit)
        case .receipt(let outcomes, let credit):
            self.credit = max(self.credit, credit)
            actions.reserveCapacity(actions.count + outcomes.count)
            let oldest = backlog.oldest
            var isNew = false
            for outcome in outcomes where take(outcome, &actions) { isNew = true }
            guard isNew else { break }
            resynced = nil
            // Later outcomes say nothing of one that was lost.
            if backlog.oldest > oldest { repeatAt = backlog.hasInFlight ? now + connection.silence : nil }
        case .settled(let turn, let dead):
            guard requests.settled(turn) else { break }
            actions.append(.settled(turn: turn, dead: dead))
        case .waiting(let turn, let reason):
            if requests.isWaiting(for: turn) {
                actions.append(.waiting(turn: turn, on: reason))
            } else if requests.isWaitingForViews, !requests.hasGivenUp(turn) {
                actions.append(.noView(reason))
            }
        case .view(let instance, let turn, let bytes):
            connection.hasTold(of: turn)
            let asked = requests.viewRequest(of: instance)
            guard requests.viewed(instance, turn) else { break }
            actions.append(.view(instance: instance, turn: turn, bytes: bytes))
            if let next = requests.viewRequest(of: instance), next != asked { actions += ask(next, now) }
        case .outputs(let page): answered(.outputs(page), &actions)
        case .views(let page): answered(.views(page), &actions)
        case .error(let error): resync(error.expected, &actions)
        case .drain: actions.append(.note("the store is about to stop"))
        default: actions.append(.note("dropped a \(frame.kind), which is not for clients"))
        }
    }

    /// False if the outcome is known already.
    private mutating func take(_ outcome: Outcome, _ actions: inout [Action]) -> Bool {
        guard let size = backlog.answer(outcome.sequence) else { return false }
        connection.hasTold(of: outcome.turn)
        if isDurable { unseen.insert(outcome.sequence, bytes: size) }
        if outcome.sequence == ending?.sequence, outcome.verdict != .applied { ending = nil }
        var outcome = outcome
        outcome.sequence += base
        actions.append(.answered(outcome))
        return true
    }

    private mutating func refused(_ error: PeerError, _ actions: inout [Action]) {
        // Of an expired session nobody will ever know more. Anything else may be mended, and a durable client keeps its inputs.
        let isOver = error.code == .sessionExpired
        for sequence in backlog.unanswered where isOver { note(.seen(sequence: sequence)) }
        forgetUnanswered(.refused(error.text), isKept: isDurable && !isOver, &actions)
        end()
        actions += [.disconnect, .refused(error)]
    }
}

// MARK: - Decisions

extension ClientMachine {
    private mutating func perform(_ action: Connection.Action, _ now: Timestamp, _ actions: inout [Action]) {
        switch action {
        case .none: break
        case .open:
            actions.append(.connect)
            greet(&actions)
        case .greet: greet(&actions)
        case .ping: send(.ping(confirmed), &actions)
        case .note(let text): actions.append(.note(text))
        case .welcomed(let welcome, let left): welcomed(welcome, left: left, now, &actions)
        case .answer(let frame): send(frame, &actions)
        case .deliver(let frame): take(frame, now, &actions)
        case .lost(let reason):
            lost(&actions)
            if let reason { actions.append(.note("lost the store: \(reason)")) }
        case .checkKey:
            lost(&actions)
            actions.append(.checkKey)
        case .refused(let error): refused(error, &actions)
        }
    }

    private mutating func lost(_ actions: inout [Action]) {
        repeatAt = nil
        requests.pause()
        actions.append(.disconnect)
    }

    private mutating func greet(_ actions: inout [Action]) {
        repeatAt = nil
        requests.pause()
        toldConfirmed = 0
        let hello = connection.hello(
            .client(session: session), schema: schema, isDurable: isDurable, mayHaveEnded: ending?.isSent ?? false)
        send(hello, &actions)
    }

    private mutating func goBackToOldest() {
        resynced = nil
        backlog.goBack(to: backlog.oldest)
    }

    private mutating func askAgain(_ now: Timestamp, _ actions: inout [Action]) {
        hasPutOff = false
        for frame in requests.frames { send(frame, &actions) }
        requests.pause()
        requests.asked(now, again: connection.silence)
    }

    /// - Parameter isKept: the inputs are in the outbox; of what was asked for, nothing is.
    private mutating func forgetUnanswered(_ reason: UnknownReason, isKept: Bool, _ actions: inout [Action]) {
        for sequence in backlog.unanswered { actions.append(.unknown(sequence: base + sequence, isKept ? .kept : reason)) }
        for turn in requests.dropTurns() { actions.append(.unsettled(turn: turn, reason)) }
        for request in requests.dropPages(otherThan: nil) { actions.append(.pageless(request, reason)) }
    }

    private mutating func end() {
        base += backlog.next - 1
        backlog = Backlog()
        requests = ClientRequests()
        repeatAt = nil
        state = .closed
    }

    mutating func send(_ frame: Frame, _ actions: inout [Action]) {
        switch frame {
        case .send(_, let confirmed), .ping(let confirmed): toldConfirmed = confirmed
        default: break
        }
        actions.append(.send(Envelope(frame, timeline: connection.timeline)))
    }
}
