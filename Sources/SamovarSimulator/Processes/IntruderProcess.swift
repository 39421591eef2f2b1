import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// Somebody on the network who has keys that are good for little, knows some that are good for nothing any more, and has overheard what
/// others are called and what they were given.
///
/// It is let in at all doors but that of views: what the sockets keep out is not what is tried here.
final class IntruderProcess: Process {
    private final class Way {
        var port = Port()
        let identity: Identity
        let listener: Listener?
        let session: SessionID
        let worker: WorkerID
        var id: UniqueID { listener == .work ? worker : session }

        init(_ identity: Identity, _ listener: Listener?, session: SessionID, worker: WorkerID) {
            self.identity = identity
            self.listener = listener
            self.session = session
            self.worker = worker
        }
    }

    /// Of its own keys.
    static let names = ["guest", "watcher", "hand", "loud"]
    private static let waysAtOnce = 6

    private var ways: [Way] = []
    /// Sessions and workers that nobody else uses.
    private var own: Set<UniqueID> = []
    private var tasks: [JobTask] = []
    private var actsAt: Instant = 0

    init(_ world: World) {
        super.init(world, "intruder", 401)
    }

    /// It has read along.
    func overhears(_ task: JobTask) {
        tasks.append(task)
        if tasks.count > 10 { tasks.removeFirst() }
    }

    override func begin() throws(Violation) { wake(at: world.now + seconds) }

    override func arrive(_ parts: [[UInt8]], on link: Link) {
        ways.first { $0.port.link === link }?.port.arrive(parts)
        wake(at: world.now)
    }

    override func connected(_ link: Link) {
        guard let way = ways.first(where: { $0.port.link === link }) else { return }
        if way.listener == .front || way.listener == .work { send(hello(way), way) }
    }

    override func broke(_ link: Link) { ways.removeAll { $0.port.link === link } }

    override func round() throws(Violation) {
        for way in ways { _ = way.port.receive(limit: .max) }
        guard world.isFaulty else {
            for way in ways { way.port.disconnect(world.network) }
            return ways.removeAll()
        }
        if world.now >= actsAt {
            actsAt = world.now + random.about(200 * milliseconds)
            if random.chance(0.3) || ways.isEmpty { open() }
            for _ in 0..<3 { act(random.pick(ways)) }
        }
        wake(at: actsAt)
    }

    private func open() {
        if ways.count == Self.waysAtOnce { ways.remove(at: random.number(0...ways.count - 1)).port.disconnect(world.network) }
        let listener: Listener? = random.pick([.front, .front, .front, .work, .work, .admin, nil])
        let way = Way(identity(), listener, session: session(), worker: worker())
        way.port.connect(world.network.connect(self, listener: listener, as: way.identity), world.network)
        ways.append(way)
    }

    private func identity() -> Identity {
        let keeper = world.keyKeeper
        // While a key is good, whoever has it is its owner.
        let retired = keeper?.retired.suffix(8).filter { !world.store.mayLetIn($0) } ?? []
        if !retired.isEmpty, random.chance(0.3) { return .key(random.pick(retired)) }
        if random.chance(0.05) { return .key(Fingerprint(high: random.word(), low: 0)) }
        return keeper?.holders[random.pick(Self.names)].map { .key($0.held) } ?? .local
    }

    /// Its own, or that of somebody else.
    private func session() -> SessionID {
        let other = random.pick(world.clients).session
        if random.chance(0.4), isOfOthers(other) { return other }
        let ended = world.checker.reference.endedByInput.sorted()
        if !ended.isEmpty, random.chance(0.2) { return random.pick(ended) }
        let session = SessionID(high: random.word(), low: random.word())
        own.insert(session)
        return session
    }

    private func worker() -> WorkerID {
        let other = random.pick(world.workers).id
        if random.chance(0.5), isOfOthers(other) { return other }
        let worker = WorkerID(high: random.word(), low: random.word())
        world.knownWorkers.insert(worker)
        own.insert(worker)
        return worker
    }

    /// It is known whose it is. Of what nobody has used before, the store takes the first who comes for the owner.
    private func isOfOthers(_ id: UniqueID) -> Bool { world.checker.reference.keys.owner(of: id) != nil }

    // MARK: What it sends

    private func act(_ way: Way) {
        guard let link = way.port.link, let listener = way.listener else { return }
        if random.chance(0.02) {
            world.note("\(name) makes noise")
            let parts: [[UInt8]] = [[UInt8]](repeating: [UInt8](repeating: 7, count: random.number(0...40)), count: 1)
            return world.network.send(parts, on: link, .toStore)
        }
        if random.chance(0.02) { for _ in 0..<20 { send(hello(way), way) } }
        // Mostly at the right door.
        switch random.chance(0.9) ? listener : random.pick(Listener.allCases) {
        case .front: send(frontFrame(way), way)
        case .work: send(workFrame(way), way)
        case .admin: send(request(), way)
        }
    }

    private func send(_ frame: Frame, _ way: Way) {
        guard way.port.link?.state == .open, own.contains(way.id) || isOfOthers(way.id) else { return }
        way.port.send(Envelope(frame, timeline: world.checker.reference.timeline), world.network)
    }

    private func hello(_ way: Way) -> Frame {
        let claims = tasks.suffix(2).map { JobClaim(effect: $0.effect, lease: $0.lease, token: token(of: $0, way)) }
        let offer = WorkerOffer(
            id: way.worker, slots: 2, queues: random.chance(0.5) ? ["guests"] : [.default, "heavy"], running: claims)
        let role: Hello.Role = way.listener == .work ? .worker(offer) : .client(session: way.session)
        return .hello(
            Hello(role: role, schema: ModelProgram.schema, epoch: random.number(1...1_000_000), mayHaveEnded: random.chance(0.5)))
    }

    private func frontFrame(_ way: Way) -> Frame {
        let turn = world.checker.reference.last
        switch random.number(0...13) {
        case 0: return hello(way)
        case 1: return .ping(0)
        case 2: return random.chance(0.2) ? .goodbye : .ping(1)
        case 3, 4: return .settle(turn: max(1, turn - random.number(0...3)))
        case 5: return .viewRequest(instance: .main, atLeast: random.pick([0, turn, turn + 1]))
        case 6: return .viewsRequest(instance: .main, after: turn)
        case 7, 8: return .outputsRequest(instance: .main, after: EffectID(turn: 0, ordinal: 0), waits: random.chance(0.5))
        default: return input(way)
        }
    }

    /// The next input of its session. What it sends in one of its own is known, for it may be taken.
    private func input(_ way: Way) -> Frame {
        let reference = world.checker.reference
        let sequence = (reference.fates[way.session]?.count ?? 0) + 1
        var input = ClientProcess.Input(world.nextInputID(), .noted(random.word() >> 16))
        if random.chance(0.2) { input = .init(input.inputID, bytes: packed(ModelProgram.Input.refuse(input.inputID))) }
        input.name()
        if own.contains(way.session) {
            let known = world.checker.wire[way.session]?[reference.timeline]?[sequence]
            input = known ?? input
            world.checker.wire[way.session, default: [:]][reference.timeline, default: [:]][sequence] = input
        }
        return .send([Submission(sequence: sequence, input: input.bytes)], confirmed: 0)
    }

    private func workFrame(_ way: Way) -> Frame {
        switch random.number(0...9) {
        case 0: return hello(way)
        case 1: return .ping(2)
        case 2: return .credit(random.number(0...9))
        case 3: return random.chance(0.3) ? .drain : .ping(1)
        case 4: return random.chance(0.3) ? .goodbye : .ping(1)
        case 5: return .progress([])
        default: return result(way)
        }
    }

    /// The answer of a job of somebody else.
    private func result(_ way: Way) -> Frame {
        guard !tasks.isEmpty else { return .credit(1) }
        let task = random.pick(tasks)
        let message = packed(ModelProgram.Message.answered(0, resultID: random.word()))
        let result = JobResult(
            effect: task.effect, lease: task.lease, token: token(of: task, way), answer: .done([message]))
        return .result([result], credit: random.number(0...9))
    }

    /// A worker is believed whose token is right, so one that may work has another.
    private func token(of task: JobTask, _ way: Way) -> UInt64 {
        world.keyKeeper?.isIn(way.identity) ?? true ? random.word() : task.token
    }

    private func request() -> Frame {
        let verb = random.pick(["status", "effects", "inspect", "drain", "reloadKeys", "pause", "resume", "requeue", "drop"])
        let arguments: MessagePackValue =
            switch verb {
            case "pause", "resume": ["queue": .string(Queue.default.name)]
            case "requeue", "drop": ["all": .bool(true)]
            default: .nil
            }
        return .request(AdminRequest(id: random.number(1...20), verb: verb, arguments: arguments))
    }
}
