import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire

/// A client process: the loop of `ClientLoop` around its two machines, and a user who sends, waits and watches.
final class ClientProcess: Process {
    struct Input: CustomStringConvertible {
        let inputID: UInt64
        private(set) var bytes: [UInt8]
        /// What it becomes; nil if it is refused, or no input at all.
        var message: ModelProgram.Message?
        /// Its client's session ends with it, if it is applied.
        var endsSession = false

        init(_ inputID: UInt64, _ message: ModelProgram.Message) {
            self.init(inputID, bytes: packed(ModelProgram.Input.message(message)))
            self.message = message
        }

        /// One that becomes no message.
        init(_ inputID: UInt64, bytes: [UInt8]) {
            self.inputID = inputID
            self.bytes = bytes
        }

        /// Its case, as a key that is not for all of them knows it; nil for what is no input.
        var caseName: String? { message != nil ? "message" : bytes.first == 0xc1 ? nil : "refuse" }

        /// Says its case on the wire, as most inputs do.
        mutating func name() {
            if let caseName { bytes = ModelProgram.Input.named(caseName, bytes) }
        }

        var description: String {
            (message.map { "\($0)" } ?? "the refused input \(inputID)") + (endsSession ? ", which ends its session" : "")
        }
    }

    struct Shown {
        let timeline: Timeline
        let turn: Int
        let bytes: [UInt8]
    }

    private(set) var session = SessionID.zero
    /// The session that this user has said goodbye to; the next one breaks the protocol and may come back to it.
    private var left: SessionID?
    /// This one uses a session that another has left.
    private(set) var hasComeBack = false
    /// Its session has ended with an input.
    private var isDone = false
    private var machine: ClientMachine?
    private var subscriber: SubscriberMachine?
    private var front = Port()
    private var feed = Port()
    /// By the caller's number.
    private var inputs: [Int: Input] = [:]
    private var inputsByBytes: [[UInt8]: Input] = [:]
    private var settling: Set<Int> = []
    private var wantedView: Int?
    /// A turn of an input that was applied.
    private var newestTurn: Int?
    private(set) var shown: Shown?
    /// The last output that was heard.
    private var heard = silence
    private static let silence = EffectID(turn: 0, ordinal: 0)
    /// The timeline of the newest WELCOME.
    private var home = Timeline.zero
    private let isSender: Bool
    private var endings: SeededRandom

    init(_ world: World, _ number: Int) {
        var random = SeededRandom(seed: world.seed, "client", number)
        endings = SeededRandom(seed: world.seed, "endings", number)
        isSender = number == 0 || random.chance(0.7)
        super.init(world, "client \(number + 1)", 200 + number)
    }

    var isSettled: Bool { isUp && inputs.isEmpty && settling.isEmpty && wantedView == nil }
    var unanswered: Int { inputs.count }
    var waitsFor: String { "\(unanswered) outcomes, \(settling.count) settled turns, \(wantedView == nil ? 0 : 1) views" }

    /// What stands behind a number on the wire.
    func input(_ submission: Submission) -> Input? { inputsByBytes[submission.input] }

    // MARK: Life

    override func begin() throws(Violation) {
        session = sessionToUse()
        machine = ClientMachine(
            session: session, schema: ModelProgram.schema, settings: world.swarm.client, random: random.generator())
        subscriber = SubscriberMachine(random: random.generator())
        machine?.places = world.stores.count
        subscriber?.places = world.stores.count
        wake(at: world.now)
        world.plan(for: self, at: world.now + random.about(world.swarm.pause), act)
    }

    private func sessionToUse() -> SessionID {
        defer { left = nil }
        hasComeBack = false
        // Before its end is on disk, it would be a process that has forgotten the session which it uses.
        guard let left, world.checker.reference.isOver(left), random.chance(0.5) else { return random.id() }
        hasComeBack = true
        world.checker.reference.count(.cameBack)
        world.note("\(name) comes back to a session that it has left")
        return left
    }

    override func end() {
        machine = nil
        subscriber = nil
        front.disconnect(world.network)
        feed.disconnect(world.network)
        isDone = false
        inputs.removeAll()
        inputsByBytes.removeAll()
        settling.removeAll()
        wantedView = nil
        newestTurn = nil
        shown = nil
        home = .zero
        heard = Self.silence
    }

    // MARK: Events

    override func arrive(_ parts: [[UInt8]], on link: Link) {
        if link === front.link { front.arrive(parts) } else if link === feed.link { feed.arrive(parts) } else { return }
        wake(at: world.now)
    }

    override func connected(_ link: Link) {
        if link === front.link || link === feed.link { wake(at: world.now) }
    }

    override func broke(_ link: Link) {
        if link === front.link { front.breakOff() } else if link === feed.link { feed.breakOff() } else { return }
        wake(at: world.now)
    }

    // MARK: The user

    private func act() throws(Violation) {
        guard world.isFaulty else { return }
        world.plan(for: self, at: world.now + random.about(world.swarm.pause), act)
        guard !isPaused else { return }
        let now = localNow
        if isSender { for _ in 0..<random.pick([1, 1, 2, 5]) where maySend { submit() } }
        if random.chance(0.1), let turn = newestTurn, settling.count < 4 { try settle(turn, now) }
        if world.swarm.traits.contains(.outputs), random.chance(0.2) { try requestOutputs(now) }
        if random.chance(0.1) { try requestView(atLeast: newestTurn ?? 0, now) }
        if random.chance(0.005) || isDone && endings.chance(0.3) { try leave(now) }
        if isUp { wake(at: world.now) }
    }

    /// Neither too much waits for an outcome, nor is a small world's number of inputs reached.
    private var maySend: Bool { inputs.count < world.swarm.unanswered && world.report.inputs < world.swarm.inputs ?? .max }

    private func submit() {
        let inputID = world.nextInputID()
        var input = makeInput(inputID)
        input.endsSession = endsSession()
        if world.keyKeeper != nil { input.name() }
        do throws(ClientMachine.SubmitError) {
            guard let number = try machine?.submit(input.bytes, endsSession: input.endsSession) else { return }
            inputs[number] = input
            inputsByBytes[input.bytes] = input
            world.report.inputs += 1
            world.note("\(name) submits \(number): \(input)")
        } catch {
            world.note("\(name) cannot submit: \(error)")
        }
    }

    private func endsSession() -> Bool {
        guard let count = world.swarm.inputs else { return endings.chance(0.005) }
        return world.swarm.lastEnds && world.report.inputs == count - 1
    }

    private func makeInput(_ inputID: UInt64) -> Input {
        if world.swarm.script.indices.contains(world.report.inputs) {
            return Input(inputID, world.swarm.script[world.report.inputs](inputID))
        }
        let traits = world.swarm.inputTraits
        if world.swarm.inputs == nil, !traits.isEmpty, random.chance(0.4) { return makeInput(inputID, random.pick(traits)) }
        return makePlainInput(inputID)
    }

    private func makeInput(_ inputID: UInt64, _ trait: Swarm.Trait) -> Input {
        switch trait {
        case .timers where random.chance(0.3):
            return Input(inputID, .disarmed(inputID, timer: random.number(0...TimerSpec.places - 1)))
        case .timers: return Input(inputID, .armed(inputID, TimerSpec.drawn(&random, hasSources: world.swarm.hasSources)))
        case .labels where random.chance(0.25):
            return Input(inputID, .cancelled(inputID, labelSpec: LabelSpec.number(in: .plain, &random)))
        case .labels: return orderLabelled(random.pick(world.swarm.works + [.relay]), .drawn(.plain, &random), inputID)
        case .controls where random.chance(0.1):
            return Input(inputID, .cancelled(inputID, labelSpec: LabelSpec.number(in: .lanes, &random)))
        case .controls where random.chance(0.4): return Input(inputID, .controlled(inputID, ControlSpec.drawn(&random)))
        case .controls where random.chance(0.35): return orderLabelled(.quick, .drawn(.shares, &random), inputID)
        case .controls:
            return orderLabelled(random.pick([.wavering, .cursed] + world.swarm.works), .drawn(.lanes, &random), inputID)
        case .streaming: return order(.streaming, inputID)
        case .limits: return order(.endless, inputID)
        case .outputs, .keys: return Input(inputID, .emitted(inputID))
        }
    }

    private func orderLabelled(_ work: Work, _ labelSpec: LabelSpec, _ inputID: UInt64) -> Input {
        Input(inputID, .labelled(inputID, world.isLoaded && !work.isShort ? .quick : work, labelSpec))
    }

    private func order(_ work: Work, _ inputID: UInt64) -> Input {
        Input(inputID, .ordered(inputID, world.isLoaded ? .quick : work, count: 1))
    }

    private func makePlainInput(_ inputID: UInt64) -> Input {
        switch world.swarm.inputs == nil ? random.number(0...19) : [5, 3, 12][world.report.inputs % 3] {
        case 0: return Input(inputID, bytes: [0xc1] + packed(inputID))
        case 1: return Input(inputID, bytes: packed(ModelProgram.Input.refuse(inputID)))
        case 2...4: return Input(inputID, .link(inputID, rest: random.pick([0, 1, 3, 10])))
        case 5...11: return Input(inputID, .noted(inputID))
        default:
            let isDeadly = !world.swarm.deadly.isEmpty && random.chance(0.03)
            var work = random.pick(isDeadly ? world.swarm.deadly : world.swarm.works)
            if world.isLoaded, !work.isShort { work = .quick }
            return Input(inputID, .ordered(inputID, work, count: isDeadly ? 1 : random.pick([1, 1, 1, 3])))
        }
    }

    private func settle(_ turn: Int, _ now: Timestamp) throws(Violation) {
        try ask(now) { () throws(ClientMachine.SubmitError) in
            let actions = try machine?.settle(turn: turn, now: now)
            settling.insert(turn)
            return actions
        }
    }

    private func requestView(atLeast turn: Int, _ now: Timestamp) throws(Violation) {
        try ask(now) { () throws(ClientMachine.SubmitError) in
            let actions = try machine?.requestView(atLeast: turn, now: now)
            wantedView = max(turn, wantedView ?? turn)
            return actions
        }
    }

    /// All outputs after the last one that was heard.
    private func requestOutputs(_ now: Timestamp) throws(Violation) {
        let page = PageRequest.outputs(after: heard, in: home == .zero ? nil : home, waits: false)
        try ask(now) { () throws(ClientMachine.SubmitError) in try machine?.request(page, now: now) }
    }

    private func ask(
        _ now: Timestamp, _ request: () throws(ClientMachine.SubmitError) -> [ClientMachine.Action]?
    ) throws(Violation) {
        var actions: [ClientMachine.Action] = []
        do throws(ClientMachine.SubmitError) { actions = try request() ?? [] } catch { world.note("\(name) cannot ask: \(error)") }
        try perform(actions, now)
    }

    /// Says goodbye; another user comes later.
    private func leave(_ now: Timestamp) throws(Violation) {
        world.leavers.insert(session)
        left = session
        try perform(machine?.close() ?? [], now)
    }

    // MARK: The loop

    override func round() throws(Violation) {
        let now = localNow
        front.sendWaiting(world.network)
        var actions: [ClientMachine.Action] = []
        let (messages, mayHaveMore) = front.receive()
        for parts in messages {
            guard let envelope = try? Envelope(parts: parts) else { continue }  // Noise, as in the host.
            actions += machine?.received(envelope, now: now) ?? []
        }
        if front.takeBroke() { actions += machine?.disconnected(now: now) ?? [] }
        actions += machine?.ticked(now: now) ?? []
        actions += machine?.flush(now: now) ?? []
        try perform(actions, now)
        guard isUp else { return }
        try watch(now)
        guard isUp else { return }
        if mayHaveMore { wake(at: world.now) }
        if let deadline = machine?.deadline { wake(at: clock.instant(of: deadline, after: world.now)) }
        if let deadline = subscriber?.deadline { wake(at: clock.instant(of: deadline, after: world.now)) }
    }

    private func watch(_ now: Timestamp) throws(Violation) {
        var views: [SubscriberMachine.Action] = []
        for parts in feed.receive(limit: .max).messages {
            guard let envelope = try? Envelope(parts: parts) else { continue }  // Noise, as in the host.
            views += subscriber?.received(envelope, now: now) ?? []
        }
        if feed.takeBroke() { views += subscriber?.disconnected(now: now) ?? [] }
        views += subscriber?.ticked(now: now) ?? []
        try perform(views, now)
    }

    private func perform(_ actions: [ClientMachine.Action], _ now: Timestamp) throws(Violation) {
        for action in actions where isUp { try perform(action, now) }
    }

    private func perform(_ action: ClientMachine.Action, _ now: Timestamp) throws(Violation) {
        switch action {
        case .connect:
            front.connect(world.network.connect(self, listener: .front), world.network)
            machine?.keyShown(world.keyKeeper?.key(of: self))
        case .checkKey: try perform(machine?.keyFound(world.keyKeeper?.key(of: self), now: now) ?? [], now)
        case .disconnect: front.disconnect(world.network)
        case .send(let envelope):
            try world.checker.clientSends(envelope, self)
            front.send(envelope, world.network)
        case .welcomed(_, let timeline): welcomed(timeline)
        case .answered(let outcome): try answered(outcome)
        case .unknown(let number, let reason):
            try world.checker.unknown(self, reason)
            try take(number, "unknown: \(reason)")
        case .settled(let turn, _):
            try world.checker.settled(self, turn: turn, timeline: machine?.timeline ?? .zero)
            settling.remove(turn)
        case .unsettled(let turn, _): settling.remove(turn)
        case .waiting, .noView, .keyRefused, .note: break
        case .page(.outputs(let place, _, _), .outputs(let page)):
            try world.checker.heard(self, page, timeline: machine?.timeline ?? .zero)
            if place == heard { heard = page.outputs.last?.id ?? heard }
        case .page:
            try world.checker.require(false, .i12, expected: "no page that nobody asked for", seen: "one at \(name)")
        case .pageless: break
        case .view(_, let turn, let bytes): try viewed(turn, bytes, now)
        case .refused(let error):
            try world.checker.refused(self, error)
            world.clientEnded(self, "refused: \(error)")
        case .stop:
            front.disconnect(world.network, gracefully: true)
            world.clientEnded(self, "closed")
        }
    }

    private func welcomed(_ timeline: Timeline) {
        guard timeline != home else { return }
        home = timeline
        newestTurn = nil
        heard = Self.silence
        // Turns of one timeline mean nothing in another: any view will do.
        if wantedView != nil { wantedView = 0 }
    }

    private func answered(_ outcome: Outcome) throws(Violation) {
        guard let input = inputs[outcome.sequence] else {
            return try world.checker.require(
                false, .i12, expected: "each input of \(name) to be answered once", seen: "\(outcome) once more")
        }
        try world.checker.told(self, outcome, input, timeline: machine?.timeline ?? .zero)
        try take(outcome.sequence, "\(outcome.verdict) at turn \(outcome.turn)")
        guard case .applied = outcome.verdict else { return }
        newestTurn = outcome.turn
        if input.endsSession { isDone = true }
    }

    private func take(_ number: Int, _ what: String) throws(Violation) {
        let input = inputs.removeValue(forKey: number)
        try world.checker.require(
            input != nil, .i12, expected: "input \(number) of \(name) to end once", seen: "\(what), once more")
        if let input { inputsByBytes[input.bytes] = nil }
        world.note("\(name) hears of \(number): \(what)")
    }

    private func viewed(_ turn: Int, _ bytes: [UInt8], _ now: Timestamp) throws(Violation) {
        let timeline = machine?.timeline ?? .zero
        if let wanted = wantedView, turn >= wanted { wantedView = nil }
        try perform(subscriber?.answered(turn: turn, bytes: bytes, timeline: timeline, now: now) ?? [], now)
    }

    private func perform(_ actions: [SubscriberMachine.Action], _ now: Timestamp) throws(Violation) {
        for action in actions where isUp {
            switch action {
            case .reconnect:
                feed.connect(world.network.connect(self, listener: nil), world.network)
                subscriber?.keyShown(world.keyKeeper?.key(of: self))
            case .checkKey: subscriber?.keyFound(world.keyKeeper?.key(of: self), now: now)
            case .show(let turn, let bytes, let timeline):
                let previous = shown?.timeline == timeline ? shown?.turn : nil
                try world.checker.shown(self, turn: turn, bytes: bytes, timeline: timeline, after: previous)
                shown = Shown(timeline: timeline, turn: turn, bytes: bytes)
                world.note("\(name) shows turn \(turn)")
            case .requestView(let turn, let timeline):
                // Through the front socket.
                try ask(now) { () throws(ClientMachine.SubmitError) in
                    try machine?.requestView(atLeast: turn, in: timeline, now: now)
                }
            case .stale, .live, .idle: break
            case .note(let text): world.note("\(name): \(text)")
            }
        }
    }
}
