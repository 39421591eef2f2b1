import DequeModule
import Journal
import SamovarCore
import SamovarProtocol

/// The store process: the loop of `StoreLoop` around the machine, and the journal's thread with its clerk.
final class StoreProcess: Process {
    private enum News {
        case journal(JournalClerk.News)
        case drain(within: Duration)
        case workerDied(WorkerID, String)
    }

    private var machine: StoreMachine?
    private var clerk: JournalClerk?
    private var news: [News] = []
    private var inboxes: [Deque<(route: Route, parts: [[UInt8]])>] = [[], [], []]
    private var work: Deque<JournalClerk.Work> = []
    private var isWriting = false
    /// While it drains: until when jobs may end.
    private var drainUntil: Timestamp?

    init(_ world: World) {
        super.init(world, "store", 0)
    }

    // MARK: Life

    override func begin() throws(Violation) {
        guard world.survives(self) else { return }
        world.disk.reopen()
        clerk = JournalClerk(world.disk)
        guard var machine = try recover() else { return }
        try world.judge.recovered(machine)
        guard world.survives(self) else { return }
        do {
            let isNew = machine.head == 0
            try machine.start(seed: packed(Mill.Seed(sackBytes: world.swarm.sackBytes)), now: localNow)
            if isNew { try world.disk.record([1], as: "timeline") }
        } catch {
            return try world.judge.require(false, .i4, expected: "a store that starts", seen: "\(error)")
        }
        self.machine = consume machine
        world.turnsTaken += 1
        wake(at: world.now)
    }

    private func replay(through last: Int = .max) throws -> StoreMachine {
        let world = world
        return try world.disk.recover(through: last) {
            let disk = world.disk
            let engine = TypedEngine(Mill.self, secret: disk.secret, limits: world.swarm.store.group)
            return StoreMachine(
                settings: world.swarm.store, engine: engine, timeline: disk.timeline, secret: disk.secret, build: "simulated")
        } restore: { (machine: inout StoreMachine, snapshot) in
            try machine.restore(snapshot: snapshot.bytes)
        } replay: { (machine: inout StoreMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last)
        } note: {
            world.note("store: \($0)")
        }
    }

    /// A snapshot from the journal, beside the service. A damaged block is found by the next start.
    private func saveSnapshot(through turn: Int) {
        do {
            let machine = try replay(through: turn)
            post(.save(Snapshot(turn: machine.head, bytes: try machine.snapshot())))
        } catch {
            world.note("store: no snapshot: \(error)")
            machine?.snapshotSaved(bytes: nil)
        }
    }

    private func recover() throws(Violation) -> StoreMachine? {
        do {
            return try replay()
        } catch let error as JournalError where error.code == .damaged {
            world.storeRefused(error)
        } catch {
            try world.judge.require(false, .i4, expected: "a journal that can be replayed", seen: "\(error)")
        }
        return nil
    }

    override func end() {
        machine = nil
        clerk = nil
        news.removeAll()
        for door in inboxes.indices { inboxes[door].removeAll() }
        work.removeAll()
        isWriting = false
        drainUntil = nil
    }

    // MARK: Events

    func arrive(_ parts: [[UInt8]], on link: Link) {
        guard let route = link.route else { return }
        inboxes[route.door.rawValue].append((route, parts))
        if let client = link.peer as? ClientProcess, parts[0].count > 5, parts[0][5] == FrameKind.hello.rawValue {
            world.judge.greeted(client.session)
        }
        wake(at: world.now)
    }

    func drain(within limit: Duration) {
        news.append(.drain(within: limit))
        wake(at: world.now)
    }

    func workerDied(_ id: WorkerID, _ evidence: String) {
        news.append(.workerDied(id, evidence))
        wake(at: world.now)
    }

    /// ZeroMQ reads fairly from all connections, so that what waited meanwhile keeps its order only within each.
    override func resume() throws(Violation) {
        for door in inboxes.indices { inboxes[door] = interleaved(inboxes[door]) }
        try super.resume()
    }

    private func interleaved(
        _ messages: Deque<(route: Route, parts: [[UInt8]])>
    ) -> Deque<(route: Route, parts: [[UInt8]])> {
        var routes: [Route] = []
        var queues: [Route: Deque<[[UInt8]]>] = [:]
        for (route, parts) in messages {
            if queues[route] == nil { routes.append(route) }
            queues[route, default: []].append(parts)
        }
        var mixed: Deque<(route: Route, parts: [[UInt8]])> = []
        while !routes.isEmpty {
            let index = dice.number(0...routes.count - 1)
            if let parts = queues[routes[index]]?.popFirst() {
                mixed.append((routes[index], parts))
            } else {
                routes.remove(at: index)
            }
        }
        return mixed
    }

    // MARK: The journal's thread

    private func post(_ item: JournalClerk.Work) {
        work.append(item)
        startWriting()
    }

    private func startWriting() {
        guard !isWriting, !work.isEmpty else { return }
        isWriting = true
        world.plan(.diskDone(incarnation: incarnation), at: world.now + world.syncTime())
    }

    func diskDone() throws(Violation) {
        guard !isPaused else { return world.plan(.diskDone(incarnation: incarnation), at: world.now + 20 * milliseconds) }
        guard let item = work.first else { return }
        guard try perform(item, waiting: true) else {
            let pause = JournalClerk.pause.microseconds
            return world.plan(.diskDone(incarnation: incarnation), at: world.now + pause)
        }
        work.removeFirst()
        isWriting = false
        startWriting()
    }

    /// False if the disk is full, and the same is to be tried again.
    private func perform(_ item: JournalClerk.Work, waiting: Bool) throws(Violation) -> Bool {
        let last = world.disk.last
        var reports: [JournalClerk.News] = []
        let isDone = clerk?.perform(item, waiting: waiting) { reports.append($0) } ?? true
        news += reports.map { .journal($0) }
        world.note("disk: \(item.description)\(isDone ? "" : ", full"), it ends at turn \(world.disk.last)")
        if case .append(let batch) = item, world.disk.last > last { try world.judge.durable(batch) }
        wake(at: world.now)
        return isDone
    }

    /// The write that was under way when the process died may have reached the disk.
    func writeUnconfirmed() throws(Violation) {
        guard isWriting, let item = work.first else { return }
        _ = try perform(item, waiting: false)
    }

    var isAppending: Bool {
        if isWriting, case .append? = work.first { true } else { false }
    }

    // MARK: The loop

    override func round() throws(Violation) {
        let now = localNow
        guard try takeNews(now) else { return }
        var mayHaveMore = false
        for door in [Door.work, .admin, .front] {
            for _ in 0..<256 {
                guard let (route, parts) = inboxes[door.rawValue].popFirst() else { break }
                guard world.survives(self) else { return }
                machine?.received(parts, from: route, now: now)
            }
            mayHaveMore = mayHaveMore || !inboxes[door.rawValue].isEmpty
        }
        machine?.advance(now: now)
        if machine?.viewIsDue(now: now) == true {
            machine?.publishView(now: now)
            machine?.viewTook(.microseconds(dice.time(20...2_000)))
        }
        machine?.flush(now: now)
        for action in machine?.takeActions() ?? [] {
            guard world.survives(self) else { return }
            guard try perform(action) else { return }
        }
        if mayHaveMore || machine?.hasWork == true {
            wake(at: world.now + 1)
        } else if let time = machine?.wakeUp(now: now) {
            wake(at: clock.instant(of: time, after: world.now))
        }
    }

    /// False if the process has ended.
    private func takeNews(_ now: Timestamp) throws(Violation) -> Bool {
        let taken = news
        news.removeAll()
        for item in taken {
            guard world.survives(self) else { return false }
            switch item {
            case .drain(let limit):
                if drainUntil == nil { drainUntil = now + limit }
                machine?.drain(within: limit, now: now)
            case .workerDied(let id, let evidence): machine?.workerDied(id, evidence, now: now)
            case .journal(.committed(let turn)): machine?.committed(through: turn, now: now)
            case .journal(.full): machine?.journalIsFull(true, now: now)
            case .journal(.freed): machine?.journalIsFull(false, now: now)
            case .journal(.saved(let bytes)): machine?.snapshotSaved(bytes: bytes)
            case .journal(.snapshotFailed(let error)):
                world.note("store: no snapshot: \(error)")
                machine?.snapshotSaved(bytes: nil)
            case .journal(.failed(let error)):
                try world.judge.require(
                    error.code != .misuse, .i4, expected: "a journal that is used rightly", seen: "\(error)")
                try world.storeDied("the journal failed: \(error)")
                return false
            }
        }
        return true
    }

    /// False at the end.
    private func perform(_ action: StoreAction) throws(Violation) -> Bool {
        switch action {
        case .send(let envelope, let route):
            let link = world.network.link(to: route)
            // The way back to a process that is gone tells nothing to the one that was started since.
            let peer = link.flatMap { $0.incarnation == $0.peer.incarnation ? $0.peer : nil }
            try world.judge.storeSends(envelope, to: peer, on: link)
            if let link { world.network.send(envelope.parts, on: link, .toPeer) }
        case .publish(let envelope, _):
            try world.judge.storePublishes(envelope)
            world.network.publish(envelope.parts)
        case .append(let first, let last, let bytes):
            world.turnsTaken += last - first + 1
            post(.append(Batch(first: first, last: last, bytes: bytes)))
        case .save(let turn, let bytes): post(.save(Snapshot(turn: turn, bytes: bytes)))
        case .snapshot(let turn): saveSnapshot(through: turn)
        case .export:
            try world.judge.require(false, .i2, expected: "no operator", seen: "a backup")
        case .note(let note): world.note("store: \(note.text)")
        case .stop(.drained):
            try stopped()
            return false
        case .stop(let reason):
            try world.judge.require(false, .i4, expected: "a store that serves", seen: "it stops: \(reason)")
        }
        return true
    }

    /// The journal's thread finishes what it has; then the process ends.
    private func stopped() throws(Violation) {
        let isEarly = drainUntil.map { localNow + .milliseconds(1) < $0 } ?? false
        var isWhole = true
        while let item = work.popFirst() { isWhole = try perform(item, waiting: false) && isWhole }
        if isEarly, isWhole, !world.disk.isFull, world.disk.failure == nil {
            try world.judge.require(
                world.judge.chronicle.endsDrained, .i6, expected: "the record of an orderly stop at the end of the journal",
                seen: "none, though nothing was left to wait for")
        }
        try world.storeDied("stopped in order", isOrderly: true)
    }

    // MARK: What the judge may see

    /// Compares live state and journal, if the store has nothing to write.
    func compare() throws(Violation) {
        // A machine cannot be lent out of an optional property, so it is taken out and put back.
        guard isUp, work.isEmpty, let live = machine.take() else { return }
        do throws(Violation) {
            if live.head == world.judge.chronicle.last { try world.judge.compare(live, "in a live store") }
            machine = consume live
        } catch {
            machine = consume live
            throw error
        }
    }
}

extension JournalClerk.Work {
    fileprivate var description: String {
        switch self {
        case .append(let batch): "append turns \(batch.first) to \(batch.last)"
        case .save(let snapshot): "save a snapshot of turn \(snapshot.turn)"
        }
    }
}
