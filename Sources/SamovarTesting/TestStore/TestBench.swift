import Journal
import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// A running system in memory: the store machine of production, one client, one worker that takes every effect, a journal that
/// commits at once, and a clock that stands still until it is moved.
///
/// Everything goes through the machine's own listeners, as frames, so nothing here knows of policies, retries or timers.
final class TestBench<P: Program> {
    static var worker: Route { Route(listener: .work, id: [0, 1]) }
    static var admin: Route { Route(listener: .admin, id: [0, 1]) }
    static var workerID: WorkerID { WorkerID(high: 0, low: 1) }
    static var timeline: Timeline { Timeline(high: 0, low: 1) }
    static var secret: Secret { Secret(high: 0, low: 1) }
    /// Wake-ups in one `advance`.
    static var wakeUpLimit: Int { 1_000_000 }

    private(set) var engine: TypedEngine<P>
    private(set) var machine: StoreMachine
    private(set) var now: Timestamp
    /// Why the store has stopped; then nothing more happens.
    private(set) var stop: String?
    /// Jobs that the worker holds.
    private(set) var held: [EffectID: JobTask] = [:]

    private let settings: StoreSettings
    let gates: [InputGate<P>]
    private let observers: [TurnObserver<P>]
    /// What survives the end of the store process.
    private var journal: [Batch] = []
    private var outcomes: [Outcome] = []
    /// What the store told its peers instead of an answer.
    private(set) var complaint: String?
    /// Clients: the first without a key, and one for each key that something was sent with.
    private var seats = [ClientSeat(number: 1, name: nil)]
    private var seat = 0
    private var epochs = 0
    private var queues: [Queue] = []
    /// The only queues that the worker serves; nil for all that there are.
    private var allowed: Set<Queue>?
    /// What the worker can do beside them.
    private var capabilities: Set<String> = []
    /// All that it can do; nil for what effects need.
    private var able: Set<String>?
    var hasWorkers = true
    /// Why the worker goes on with its former offer, which is an empty one after `serve`, in words; nil if it offers what is wanted.
    private(set) var objection: String?
    private var requests = 0
    private var reply: AdminReply?

    init(
        seed: [UInt8], now: Timestamp, limits: GroupLimits, gates: [InputGate<P>], observers: [TurnObserver<P>]
    ) throws {
        var settings = StoreSettings()
        settings.group = limits
        // Nobody falls silent here, however far the clock is moved; and a job runs out of time when its timeout says so.
        settings.silence = .seconds(1 << 36)
        settings.sessionIdle = .seconds(1 << 36)
        settings.tickInterval = .seconds(1 << 36)
        settings.unservedWarning = .seconds(1 << 36)
        settings.timeoutGrace = .zero
        self.settings = settings
        self.gates = gates
        self.observers = observers
        self.now = now
        engine = Self.engine(limits, gates, observers)
        machine = Self.machine(engine, settings)
        try machine.start(seed: seed, now: now)
        greet()
    }

    private static func engine(
        _ limits: GroupLimits, _ gates: [InputGate<P>], _ observers: [TurnObserver<P>]
    ) -> TypedEngine<P> {
        TypedEngine(P.self, secret: secret, limits: limits, gates: gates, observers: observers)
    }

    private static func machine(_ engine: TypedEngine<P>, _ settings: StoreSettings) -> StoreMachine {
        StoreMachine(settings: settings, engine: engine, timeline: timeline, secret: secret, build: "test")
    }

    // MARK: Events

    /// Sends an input and returns what became of it; nil if the store has stopped, or complains.
    func send(_ input: [UInt8]) -> Outcome? {
        seats[seat].sequence += 1
        let sequence = seats[seat].sequence
        outcomes.removeAll()
        complaint = nil
        deliver(.send([Submission(sequence: sequence, input: input)], confirmed: sequence - 1), from: seats[seat])
        settle()
        return outcomes.last { $0.sequence == sequence }
    }

    /// With the key of which name is sent; nil for none.
    var sender: KeyName? { seats[seat].name }

    /// Sends from here on with a key of this name; nil for none.
    func sit(as name: KeyName?) {
        if let known = seats.firstIndex(where: { $0.name == name }) {
            seat = known
        } else {
            seats.append(ClientSeat(number: seats.count + 1, name: name))
            seat = seats.count - 1
            machine.keysRead(keys, now: now)
            greet(seats[seat])
            settle()
        }
    }

    private var keys: Result<KeyTable, KeyTableError> {
        Result { () throws(KeyTableError) in try KeyTable(seats.compactMap(\.key)) }
    }

    /// Answers a job that the worker holds.
    func answer(_ effect: EffectID, _ answer: JobResult.Answer) {
        guard let task = held.removeValue(forKey: effect) else { return }
        let result = JobResult(effect: effect, lease: task.lease, token: task.token, answer: answer)
        deliver(.result([result], credit: .max), from: Self.worker)
        settle()
    }

    /// Sends a message of a job that goes on.
    func stream(_ effect: EffectID, _ message: [UInt8], checkpoint: [UInt8]?) {
        guard let task = held[effect] else { return }
        let index = (machine.openEffects.first { $0.id == effect }?.place?.index ?? 0) + 1
        let answer = JobResult.Answer.streamed(index: index, message: message, checkpoint: checkpoint)
        let result = JobResult(effect: effect, lease: task.lease, token: task.token, answer: answer)
        deliver(.result([result], credit: .max), from: Self.worker)
        settle()
    }

    /// Asks as an operator; returns why it was not done, or nil.
    func ask(_ verb: String, _ arguments: MessagePackValue) -> String? {
        requests += 1
        reply = nil
        deliver(.request(AdminRequest(id: requests, verb: verb, arguments: arguments)), from: Self.admin)
        settle()
        return reply?.id == requests ? reply?.refusal : "the store gave no answer"
    }

    /// Moves the clock, and stops on the way wherever something is due.
    ///
    /// - Returns: false if too much was due.
    func advance(by duration: Duration) -> Bool {
        let end = now + duration
        for _ in 0..<Self.wakeUpLimit {
            let next = machine.wakeUp(now: now)
            guard stop == nil, next <= end else {
                now = end
                settle()
                return true
            }
            now = next
            settle()
        }
        return false
    }

    /// Lets no worker take effects, or lets one again.
    func setWorkers(_ hasWorkers: Bool) {
        self.hasWorkers = hasWorkers
        if hasWorkers { greetAsWorker() } else { deliver(.drain, from: Self.worker) }
        settle()
    }

    /// Lets the worker serve these queues and no others, and do this beside it; nil for all that there are. What it has it keeps.
    func serve(only queues: Set<Queue>?, can capabilities: Set<String>?) {
        (allowed, able) = (queues, capabilities)
        // What is wanted is offered anew.
        (self.queues, self.capabilities) = ([], [])
        if hasWorkers { greetAsWorker() }
        settle()
    }

    // MARK: Restart

    /// What the journal alone gives, in a process that knows nothing else.
    ///
    /// - Throws: `ReplayError`, naming the turn.
    func replayed() throws -> P.State? {
        let engine = Self.engine(settings.group, gates, observers)
        _ = try machine(replaying: engine)
        return engine.current
    }

    private func machine(replaying engine: TypedEngine<P>) throws -> StoreMachine {
        var machine = Self.machine(engine, settings)
        for batch in journal { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        return machine
    }

    /// Goes on as a store process that was started again.
    ///
    /// - Throws: `ReplayError`; then nothing has changed.
    func restart() throws {
        let engine = Self.engine(settings.group, gates, observers)
        machine = try machine(replaying: engine)
        self.engine = engine
        try machine.start(seed: [], now: now)
        machine.keysRead(keys, now: now)
        greet()
    }

    // MARK: Peers

    private func greet() {
        for seat in seats { greet(seat) }
        // Also one that takes nothing any more: it goes on with what it has.
        greetAsWorker()
        settle()
    }

    private func greet(_ seat: ClientSeat) {
        deliver(.hello(Hello(role: .client(session: seat.session), schema: P.schema, epoch: nextEpoch())), from: seat)
    }

    private func greetAsWorker() {
        let claims = held.values.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
        var offer = offer(queues, capabilities)
        offer.running = claims.sorted { $0.effect < $1.effect }
        deliver(.hello(Hello(role: .worker(offer), schema: P.schema, epoch: nextEpoch())), from: Self.worker)
        deliver(hasWorkers ? .credit(.max) : .drain, from: Self.worker)
    }

    private func offer(_ queues: [Queue], _ capabilities: Set<String>) -> WorkerOffer {
        WorkerOffer(id: Self.workerID, slots: WorkerOffer.slotLimit, queues: queues, capabilities: capabilities)
    }

    private func nextEpoch() -> Int {
        epochs += 1
        return epochs
    }

    /// The worker serves each queue that an open effect is in, and can do what it needs. What those need that are closed it offers no more:
    /// an offer has a limit. Beyond that the store would not take it, and say nothing.
    private func serveQueues() {
        objection = nil
        guard hasWorkers else { return }
        let open = machine.openEffects
        let wanted = allowed ?? Set(open.map(\.queue))
        let needs = able ?? open.reduce(into: Set<String>()) { $0.formUnion($1.options.needs) }
        guard !wanted.isSubset(of: queues) || !needs.isSubset(of: capabilities) else { return }
        if let limit = offer(wanted.sorted(), needs).objection {
            objection = "one worker cannot offer all that is wanted, so nothing new: \(limit); use workersServe(_:can:) with less"
            return
        }
        (queues, capabilities) = (wanted.sorted(), needs)
        greetAsWorker()
    }

    private func deliver(_ frame: Frame, from seat: ClientSeat) {
        let identity: Identity = seat.key.map { .key($0.fingerprint) } ?? .local
        machine.received(Envelope(frame, timeline: Self.timeline).parts, from: seat.route, by: identity, now: now)
    }

    private func deliver(_ frame: Frame, from route: Route) {
        machine.received(Envelope(frame, timeline: Self.timeline).parts, from: route, now: now)
    }

    // MARK: Hosting

    /// Does what a host does, until there is nothing left to do at this time.
    private func settle() {
        repeat {
            serveQueues()
            machine.advance(now: now)
            if machine.viewIsDue(now: now) { machine.publishView(now: now) }
            machine.flush(now: now)
        } while perform() || (stop == nil && machine.hasWork)
    }

    /// Whether it did anything that the machine has to hear of.
    private func perform() -> Bool {
        var committed: Int?
        let actions = machine.takeActions()
        for action in actions {
            switch action {
            case .append(let first, let last, let bytes):
                journal.append(Batch(first: first, last: last, bytes: bytes))
                committed = last
            case .send(let envelope, _): take(envelope.frame)
            case .stop(let reason): stop = "\(reason)"
            case .publish, .save, .snapshot, .export, .readHistory, .backlog, .reopenViews, .readKeys, .measureProcess, .renewLease,
                .note:
                break
            }
        }
        if let committed { machine.committed(through: committed, now: now) }
        return !actions.isEmpty
    }

    private func take(_ frame: Frame) {
        switch frame {
        case .receipt(let receipts, _): outcomes += receipts
        case .task(let tasks, _): for task in tasks { held[task.effect] = task }
        case .cancel(let leases, _): held = held.filter { !leases.contains($0.value.lease) }
        case .error(let error): complaint = error.text
        case .reply(let reply): self.reply = reply
        default: break
        }
    }
}
