import DequeModule
import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// The store process: the loop of `StoreLoop` around the machine, the journal's thread with its clerk, and that of the maintenance.
final class StoreProcess: Process {
    enum Event {
        case journal(JournalWriter.Event)
        case maintenance(JournalMaintenance.Report)
        case drain(within: Duration)
        case keys(Result<KeyTable, KeyTableError>)
        case workerDied(WorkerID, String)
    }

    /// Its place among the stores.
    let number: Int
    /// How it comes to have the journal, where several stores share it.
    private(set) lazy var succession = world.database.map { Succession(self, $0) }
    /// The number of its start, once it serves.
    var start = 0
    /// When it began to serve.
    var serviceInstant: Instant = 0
    var machine: StoreMachine?
    var clerk: JournalWriter?
    var events: [Event] = []
    private typealias Message = (link: Link, route: Route, parts: [[UInt8]])
    private var inboxes: [Deque<Message>] = [[], [], []]
    var batches: Deque<Batch> = []
    var isWriting = false
    var maintenance: JournalMaintenance?
    var maintenanceWork: Deque<JournalMaintenance.Work> = []
    var isMaintaining = false
    private var isStopping = false
    /// The newest turn of whose commit it had heard before this round, or before its lease was in doubt, for the checker.
    var heard = 0
    var hears = 0
    /// The keys by which its machine and its sockets go, and whether the newest table could be read.
    private(set) var keys = KeyTable.none
    private(set) var hasRead = true
    /// The keys before this round, and the time of the round before it, for the checker.
    var former = (keys: KeyTable.none, time: Timestamp(microseconds: 0))
    /// Keys of this start that came to be for no client, each with the newest turn of then, for the checker.
    private(set) var demotions: [Fingerprint: Int] = [:]
    /// How far the journal was ahead of its clock at the start.
    private var lead = Duration.zero
    /// While it drains: until when jobs may end.
    private var drainUntil: Timestamp?
    /// The newest turn of before it stopped, for the checker: those behind it are of the orderly stop. Nil until then.
    var headAtStop: Int?

    init(_ world: World, _ number: Int) {
        self.number = number
        super.init(world, number == 0 ? "store" : "store \(number + 1)", number)
    }

    // MARK: Life

    override func begin() throws(Violation) {
        guard world.survives(self) else { return }
        if let succession { return succession.begin() }
        world.disk.reopen()
        clerk = JournalWriter(world.disk)
        maintenance = makeMaintenance()
        do { keys = try world.keyKeeper?.readAtStart() ?? .none } catch {
            return try world.checker.require(false, .i26, expected: "a table of keys", seen: "\(error)")
        }
        guard var machine = try recover() else { return }
        try world.checker.recovered(machine)
        prepare(machine)
        former = (keys, time)
        demotions = [:]
        world.checker.reference.keys.start()
        world.checker.reference.keys.bring(keys, after: machine.head)
        guard world.survives(self) else { return }
        (heard, hears) = (machine.head, machine.head)
        do {
            let isNew = machine.head == 0
            try machine.start(seed: packed(ModelProgram.Seed(viewBytes: world.swarm.viewBytes)), now: localNow)
            if isNew { try world.disk.record([1], as: "timeline") }
        } catch {
            return try world.checker.require(false, .i4, expected: "a store that starts", seen: "\(error)")
        }
        self.machine = consume machine
        maintain { $0.trim(&$1) }
        wake(at: world.now)
    }

    func prepare(_ machine: borrowing StoreMachine) {
        lead = machine.head == 0 ? .zero : max(.zero, world.checker.reference.time - localNow)
        serviceInstant = world.now
    }

    func leaseIsAsked() { machine?.leaseIsAsked() }
    func leaseIsRenewed() { machine?.leaseIsRenewed() }
    func setDoubt(_ isInDoubt: Bool, _ now: Timestamp) { machine?.leaseIsInDoubt(isInDoubt, now: now) }

    /// Peers are let in.
    var isServing: Bool { succession == nil || start > 0 }

    static func newMachine(_ world: World) -> StoreMachine {
        let engine = TypedEngine(ModelProgram.self, secret: world.disk.secret, limits: world.swarm.store.group)
        return StoreMachine(
            settings: world.swarm.store, engine: engine, timeline: world.disk.timeline, secret: world.disk.secret,
            build: "simulated", keys: world.store.keys, isFenced: world.database != nil)
    }

    /// What the machine takes for the time.
    var time: Timestamp { localNow + lead }

    var isStopped: Bool { machine?.isStopped ?? true }

    /// The sockets let a peer in; they ask only when a connection begins.
    func admits(_ link: Link) -> Bool {
        guard let fingerprint = link.fingerprint, !link.isForced else { return true }
        return keys.admits(fingerprint, at: link.door, now: time)
    }

    private func replay(through last: Int = .max) throws -> StoreMachine { try recover(from: journal, through: last) }

    func recover(from journal: any Journal, through last: Int = .max) throws -> StoreMachine {
        let world = world
        return try journal.recover(through: last) {
            Self.newMachine(world)
        } restore: { (machine: inout StoreMachine, snapshot) in
            try machine.restore(snapshot: snapshot.bytes)
        } replay: { (machine: inout StoreMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last)
        } note: {
            world.note("store: \($0)")
        }
    }

    func makeMaintenance() -> JournalMaintenance {
        JournalMaintenance(retain: world.swarm.retain) { [unowned self] turn in
            let machine = try replay(through: turn)
            return Snapshot(turn: machine.head, bytes: try machine.snapshot())
        } check: { [unowned self] snapshot in
            var machine = Self.newMachine(world)
            try machine.restore(snapshot: snapshot.bytes)
        } isStopping: { [unowned self] in
            isStopping
        } report: { [unowned self] in
            events.append(.maintenance($0))
        }
    }

    private func recover() throws(Violation) -> StoreMachine? {
        do {
            return try replay()
        } catch let error as JournalError where error.code == .damaged {
            world.storeRefused(error)
        } catch is MissingBeginning where world.disk.hasDamagedSnapshots {
            world.storeRefused(JournalError(.damaged, "No snapshot can be used, and the beginning was trimmed."))
        } catch {
            try world.checker.require(false, .i4, expected: "a journal that can be replayed", seen: "\(error)")
        }
        return nil
    }

    override func end() {
        machine = nil
        clerk = nil
        events.removeAll()
        for listener in inboxes.indices { inboxes[listener].removeAll() }
        batches.removeAll()
        isWriting = false
        maintenance = nil
        maintenanceWork.removeAll()
        isMaintaining = false
        isStopping = false
        drainUntil = nil
        headAtStop = nil
        start = 0
        succession?.end()
    }

    // MARK: Events

    override func arrive(_ parts: [[UInt8]], on link: Link) {
        guard let route = link.route else { return }
        inboxes[route.listener.rawValue].append((link, route, parts))
        if !link.isRemote, let client = link.peer as? ClientProcess, parts[0].count > 5, parts[0][5] == FrameKind.hello.rawValue {
            world.checker.greeted(client.session)
        }
        wake(at: world.now)
    }

    func drain(within limit: Duration) {
        events.append(.drain(within: limit))
        wake(at: world.now)
    }

    /// Whether a key is in the table that is in force, or in one that was read and is not yet.
    func mayLetIn(_ fingerprint: Fingerprint) -> Bool {
        let waiting = events.contains { if case .keys(.success(let table)) = $0 { table[fingerprint] != nil } else { false } }
        return keys[fingerprint] != nil || waiting
    }

    /// Somebody has it read the table of keys again, or its machine has. Once is enough.
    func readKeys() {
        guard isUp, let read = world.keyKeeper?.read() else { return }
        events.removeAll { if case .keys = $0 { true } else { false } }
        events.append(.keys(read))
        wake(at: world.now)
    }

    func workerDied(_ id: WorkerID, _ evidence: String) {
        world.checker.reference.keys.farewells.insert(id)
        events.append(.workerDied(id, evidence))
        wake(at: world.now)
    }

    /// ZeroMQ reads fairly from all connections, so that what waited meanwhile keeps its order only within each.
    override func resume() throws(Violation) {
        for listener in inboxes.indices { inboxes[listener] = interleaved(inboxes[listener]) }
        try super.resume()
    }

    private func interleaved(_ messages: Deque<Message>) -> Deque<Message> {
        var routes: [Route] = []
        var queues: [Route: Deque<Message>] = [:]
        for message in messages {
            if queues[message.route] == nil { routes.append(message.route) }
            queues[message.route, default: []].append(message)
        }
        var mixed: Deque<Message> = []
        while !routes.isEmpty {
            let index = random.number(0...routes.count - 1)
            if let message = queues[routes[index]]?.popFirst() {
                mixed.append(message)
            } else {
                routes.remove(at: index)
            }
        }
        return mixed
    }

    // MARK: The loop

    override func round() throws(Violation) {
        let now = localNow
        // What waits at the gate while the lease is in doubt leaves in the round in which that ends.
        let wasInDoubt = succession?.isInDoubt == true
        if let succession {
            try succession.round(now)
            guard start > 0 else { return }
        }
        if !wasInDoubt { heard = hears }
        defer { former = (keys, time) }
        world.checker.handedOut.removeAll()
        world.checker.leases.now.removeAll()
        guard try takeNews(now) else { return }
        var mayHaveMore = false
        for listener in [Listener.work, .admin, .front] {
            for _ in 0..<256 {
                guard let (link, route, parts) = inboxes[listener.rawValue].popFirst() else { break }
                guard world.survives(self) else { return }
                world.checker.handles(parts, on: link)
                machine?.received(parts, from: route, by: link.identity, now: now)
            }
            mayHaveMore = mayHaveMore || !inboxes[listener.rawValue].isEmpty
        }
        machine?.advance(now: now)
        if machine?.digestIsDue(now: now) == true {
            machine?.writeDigest(now: now)
            machine?.digestTook(.microseconds(world.databaseRandom.time(20...2_000)))
        }
        if machine?.viewIsDue(now: now) == true {
            machine?.publishView(now: now)
            machine?.viewTook(.microseconds(random.time(20...2_000)))
        }
        let head = machine?.head
        machine?.flush(now: now)
        if headAtStop == nil, isStopped { headAtStop = head }
        for action in machine?.takeActions() ?? [] {
            guard world.survives(self) else { return }
            guard try perform(action) else { return }
        }
        try world.checker.roundEnded()
        if mayHaveMore || machine?.hasWork == true {
            wake(at: world.now + 1)
        } else if let time = machine?.wakeUp(now: now) {
            wake(at: clock.instant(of: time, after: world.now))
        }
    }

    /// False if the process has ended.
    private func takeNews(_ now: Timestamp) throws(Violation) -> Bool {
        let taken = events
        events.removeAll()
        for item in taken {
            guard world.survives(self) else { return false }
            switch item {
            case .drain(let limit):
                if drainUntil == nil { drainUntil = now + limit }
                machine?.drain(within: limit, now: now)
            case .keys(let read): if !isStopped { take(read, now) }
            case .workerDied(let id, let evidence): machine?.workerDied(id, evidence, now: now)
            case .journal(.committed(let turn)):
                hears = turn
                machine?.committed(through: turn, now: now)
            case .journal(.full(let error)): machine?.journalIsFull(true, isAway: error.isAway, now: now)
            case .journal(.freed): machine?.journalIsFull(false, now: now)
            case .maintenance(.saved(let bytes)): machine?.snapshotSaved(bytes: bytes)
            case .maintenance(.notSaved(let reason)):
                world.note("store: no snapshot: \(reason)")
                machine?.snapshotSaved(bytes: nil)
            case .maintenance(.trimmed(let turn)): world.note("store: trimmed up to turn \(turn)")
            case .maintenance(.notTrimmed(let reason)): world.note("store: not trimmed: \(reason)")
            case .journal(.failed(let error)) where succession != nil && error.code != .misuse:
                try succession?.failed(error)
                return false
            case .journal(.failed(let error)), .maintenance(.failed(let error)):
                try world.checker.require(
                    error.code != .misuse, .i4, expected: "a journal that is used rightly", seen: "\(error)")
                try world.storeDied(self, "the journal failed: \(error)")
                return false
            }
        }
        return true
    }

    private func take(_ read: Result<KeyTable, KeyTableError>, _ now: Timestamp) {
        if case .success(let table) = read {
            keys = table
            let head = machine?.head ?? 0
            demotions = table.keys.filter { !$0.roles.contains(.client) }.reduce(into: [:]) { demotions, key in
                demotions[key.fingerprint] = self.demotions[key.fingerprint] ?? head
            }
            world.checker.reference.keys.bring(table, after: head)
        }
        hasRead = (try? read.get()) != nil
        world.checker.reference.count(hasRead ? .tableRead : .tableUnreadable)
        machine?.keysRead(read, now: now)
    }

    /// False at the end.
    private func perform(_ action: StoreAction) throws(Violation) -> Bool {
        switch action {
        case .send(let envelope, let route):
            let link = world.network.link(to: route)
            // The way back to a process that is gone tells nothing to the one that was started since.
            let peer = link.flatMap { $0.incarnation == $0.peer.incarnation ? $0.peer : nil }
            try world.checker.storeSends(envelope, to: peer, on: link, by: self)
            if let link { world.network.send(envelope.parts, on: link, .toPeer) }
        case .publish(let envelope, _):
            try world.checker.storePublishes(envelope, by: self)
            world.network.publish(envelope.parts, by: self)
        case .append(let first, let last, let bytes):
            append(Batch(first: first, last: last, bytes: bytes))
        case .save(let turn, let bytes): post(.save(Snapshot(turn: turn, bytes: bytes)))
        case .snapshot(let turn): post(.snapshot(through: turn))
        case .export:
            try world.checker.require(false, .i2, expected: "no operator", seen: "a backup")
        case .readHistory:
            try world.checker.require(false, .i2, expected: "no operator", seen: "a follower")
        // For `status`, which nobody asks for here.
        case .measureProcess: break
        case .reopenViews:
            world.checker.reference.count(.viewsReopened)
            world.network.reopenViews()
        case .readKeys: readKeys()
        case .renewLease: succession?.hurry()
        case .backlog: break
        case .note(let note): world.note("store: \(note.text)")
        case .stop(.drained):
            try stopped()
            return false
        case .stop(.superseded(let evidence)) where succession != nil:
            try succession?.superseded(evidence)
            return false
        case .stop(let reason):
            try world.checker.require(false, .i4, expected: "a store that serves", seen: "it stops: \(reason)")
        }
        return true
    }

    /// The journal's thread finishes what it has; then the process ends.
    private func stopped() throws(Violation) {
        let isEarly = drainUntil.map { localNow + .milliseconds(1) < $0 } ?? false
        var isWhole = true
        while let batch = batches.popFirst() { isWhole = try perform(batch, waiting: false) && isWhole }
        isStopping = true
        while !maintenanceWork.isEmpty { maintainNext() }
        if let succession { return try succession.release() }
        if isEarly, isWhole, !world.disk.isFull, world.disk.failure == nil {
            let reference = world.checker.reference
            if !reference.missing.isEmpty { reference.count(.stoppedWithoutAll) }
            try world.checker.require(
                reference.endsDrained || !reference.missing.isEmpty, .i6,
                expected: "the record of an orderly stop at the end of the journal", seen: "none, and nobody may be running a job")
        }
        try world.storeDied(self, "stopped in order", isOrderly: true)
    }

    // MARK: What the checker may see

    /// What begins with a snapshot is the same as a replay of all turns, also in what the books do not show. Drops the snapshots.
    func requireSameReplay() throws(Violation) {
        // One that only follows has no journal to replay.
        if let succession, succession.journal == nil { return }
        let parts: [String]
        do {
            let restored = try replay()
            world.note(
                "store: compares its snapshots with a replay to turn \(restored.head), \(restored.books.dead.count) dead"
            )
            world.disk.dropSnapshots()
            world.database?.dropSnapshots()
            parts = try replay().differences(from: restored)
        } catch {
            return try world.checker.require(false, .i4, expected: "a journal that can be replayed", seen: "\(error)")
        }
        try world.checker.require(
            parts.isEmpty, .i4, expected: "the same from a snapshot as by a replay", seen: "other \(parts.joined(separator: ", "))")
    }

    /// Compares live state and journal, if the store has nothing to write.
    func compare() throws(Violation) {
        // A machine cannot be lent out of an optional property, so it is taken out and put back.
        try succession?.compare()
        guard isUp, batches.isEmpty, let live = machine.take() else { return }
        do throws(Violation) {
            if live.head == world.checker.reference.last {
                try world.checker.compare(live, "in a live store")
                try world.checker.requireOwners()
            }
            machine = consume live
        } catch {
            machine = consume live
            throw error
        }
    }
}
