import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

struct StoredBatch: Equatable {
    var first: Int
    var last: Int
    var bytes: [UInt8]
}

extension StoreMachine {
    mutating func turnViewsOff(_ why: String) { readers.turnViewsOff(why, &out) }
    mutating func workerLost(_ id: WorkerID, now: Timestamp) throws {
        try workers.ended(id, evidence: nil, now: now, &scheduler, &turns, &out)
    }
    mutating func saveSnapshot() { snapshots.save(&turns, &out) }

    /// All that `status` counts.
    var counters: [Int] {
        [
            turns.counts.applied, turns.counts.refused, turns.counts.quarantined, turns.counts.batches, workers.applied,
            workers.results, workers.lateResults, workers.deadWorkers, turns.counts.kinds.firings, out.droppedFrames,
            access.refused, out.unprovenWitnesses, out.laterStarts, readers.published,
        ]
    }
}

/// A store machine with a journal that commits when it is told, and everything that it sent. A replica replays what is on disk,
/// and every frame is held against it: nothing may leave that tells of more.
final class Rig {
    var machine: StoreMachine
    var now: Timestamp
    /// What the next digest takes.
    var digestCost = Duration.zero
    /// Commit at the end of each round.
    var commits = true
    private(set) var journal: [StoredBatch] = []
    private(set) var committed = 0
    private(set) var snapshots: [(turn: Int, bytes: [UInt8])] = []
    /// The turns of which the machine wants a snapshot that is made from the journal.
    private(set) var snapshotRequests: [Int] = []
    private(set) var exports: [(turn: Int, folder: String)] = []
    private(set) var follows: [(after: Int?, through: Int)] = []
    private(set) var notes: [Note] = []
    private(set) var backlogs: [[QueueBacklog]] = []
    /// How often the view socket was to be opened anew, and the keys to be read.
    private(set) var viewsReopened = 0
    private(set) var keysRead = 0
    /// How often the machine has asked what its process takes.
    private(set) var processMeasurements = 0
    private(set) var published: [Frame] = []
    private(set) var stop: StopReason?
    /// The order in which things left, frames by their kind.
    private(set) var order: [String] = []
    private(set) var durable: StoreState
    private var mail: [Route: [Frame]] = [:]
    /// The kinds of the frames that came with a proof, and the newest proof, by their connection.
    private(set) var proven: [Route: [FrameKind]] = [:]
    private(set) var proofs: [Route: TurnProof] = [:]
    /// Requests of operators so far; each has its own number.
    var requests = 0
    /// The number of the newest input of client 1, for tests that do not count them.
    private var newestInput = 0
    var nextInput: Int {
        newestInput += 1
        return newestInput
    }

    /// - Parameters:
    ///   - journal: without it, a snapshot is all that there is of former turns.
    ///   - replica: replays what the engine takes, where that is no shop.
    init(
        _ settings: StoreSettings = StoreSettings(), journal: [StoredBatch] = [], snapshot: [UInt8]? = nil, now: Timestamp = at(0),
        engine: (any ProgramEngine)? = nil, replica: (any ProgramEngine)? = nil, marker: TrapMarker = TrapMarker(),
        build: String = "test", keys: KeyTable = .none, accepting divergences: [Divergence] = [], isFenced: Bool = false
    ) throws {
        self.now = now
        machine = Self.machine(settings, engine: engine, marker: marker, build: build, keys: keys, isFenced: isFenced)
        durable = StoreState(engine: replica ?? TypedEngine(Shop.self, secret: workshopSecret), window: settings.window)
        if let snapshot {
            try machine.restore(snapshot: snapshot)
            if journal.isEmpty { try durable.restore(snapshot) }
        }
        for batch in journal {
            if batch.last > machine.head { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
            try replicate(batch)
        }
        self.journal = journal
        committed = journal.count
        try machine.start(seed: packed(NoSeed()), now: now, accepting: divergences)
    }

    static func machine(
        _ settings: StoreSettings = StoreSettings(), group: GroupLimits = .default, engine: (any ProgramEngine)? = nil,
        marker: TrapMarker = TrapMarker(), build: String = "test", keys: KeyTable = .none, isFenced: Bool = false
    ) -> StoreMachine {
        StoreMachine(
            settings: settings, engine: engine ?? TypedEngine(Shop.self, secret: workshopSecret, limits: group), timeline: home,
            secret: workshopSecret, build: build, keys: keys, marker: marker, isFenced: isFenced)
    }

    /// As if the process had been killed: what was not committed is lost.
    func restarted(_ settings: StoreSettings? = nil, after pause: Duration = .seconds(1)) throws -> Rig {
        try Rig(
            settings ?? machine.settings, journal: Array(journal.prefix(committed)), now: now + pause, keys: machine.access.keys)
    }

    /// What a process that ends here leaves on disk.
    var committedBatches: [StoredBatch] { Array(journal.prefix(committed)) }

    var suspects: Suspects { machine.turns.quarantine.suspects }

    // MARK: Driving

    /// What a host does after an event, until there is nothing left to do at once.
    func round() {
        repeat {
            machine.advance(now: now)
            if machine.digestIsDue(now: now) {
                machine.writeDigest(now: now)
                machine.digestTook(digestCost)
            }
            if machine.viewIsDue(now: now) { machine.publishView(now: now) }
            machine.flush(now: now)
            perform()
            if commits { commitAll() }
        } while machine.hasWork && commits
    }

    func tick(_ pause: Duration) {
        now = now + pause
        round()
    }

    /// Puts the oldest batch that is not on disk there.
    @discardableResult
    func commit() -> Bool {
        guard committed < journal.count else { return false }
        let batch = journal[committed]
        committed += 1
        do {
            try replicate(batch)
        } catch {
            Issue.record("the journal cannot be replayed: \(error)")
        }
        expectEqualBooks()
        machine.committed(through: batch.last, now: now)
        perform()
        return true
    }

    /// What a host does behind a flush.
    func performAndCommit() {
        perform()
        commitAll()
    }

    private func commitAll() {
        while commit() { machine.flush(now: now); perform() }
    }

    private func replicate(_ batch: StoredBatch) throws {
        let log = SharedLog(after: durable.head)
        try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { try durable.replay($0, log: log) }
    }

    private func perform() {
        let actions = machine.takeActions()
        for action in actions {
            #expect(stop == nil, "nothing happens after the stop")
            switch action {
            case .send(let envelope, let route):
                expectDurable(envelope.frame)
                #expect(envelope.timeline == home)
                mail[route, default: []].append(envelope.frame)
                if let proof = envelope.proof { keep(proof, of: envelope, at: route) }
                order.append("\(envelope.frame.kind)")
            case .publish(let envelope, _):
                expectDurable(envelope.frame)
                published.append(envelope.frame)
                order.append("\(envelope.frame.kind)")
            case .append(let first, let last, let bytes): journal.append(StoredBatch(first: first, last: last, bytes: bytes))
            case .save(let turn, let bytes): snapshots.append((turn, bytes))
            case .snapshot(let turn): snapshotRequests.append(turn)
            case .export(let turn, let folder, _): exports.append((turn, folder))
            case .readHistory(let after, let through): follows.append((after, through))
            case .backlog(let queues): backlogs.append(queues)
            case .reopenViews: viewsReopened += 1
            case .readKeys: keysRead += 1
            case .renewLease: break
            case .measureProcess: processMeasurements += 1
            case .note(let note): notes.append(note)
            case .stop(let reason):
                stop = reason
                order.append("stop")
            }
        }
    }

    private func keep(_ proof: TurnProof, of envelope: Envelope, at route: Route) {
        #expect(proof.turn <= durable.head, "\(envelope.frame)")
        #expect((try? Envelope(parts: envelope.parts)) == envelope)
        proven[route, default: []].append(envelope.kind)
        proofs[route] = proof
    }

    /// The law of the gate.
    private func expectDurable(_ frame: Frame) {
        let head = durable.head
        switch frame {
        case .receipt(let outcomes, _): for outcome in outcomes { #expect(outcome.turn <= head, "\(frame)") }
        case .view(_, let turn, _), .settled(let turn, _), .waiting(let turn, _): #expect(turn <= head, "\(frame)")
        case .tick(_, let told, let view, _): #expect(told <= head && view <= head, "\(frame)")
        case .welcome(let welcome): #expect(welcome.head <= head, "\(frame)")
        case .outputs(let page): for output in page.outputs { #expect(output.id.turn <= head, "\(frame)") }
        case .views(let page): for view in page.views { #expect(view.turn <= head, "\(frame)") }
        case .task(let tasks, _): for task in tasks { #expect(task.effect.turn <= head, "\(frame)") }
        case .reply(let reply):
            if case .int(let turn)? = reply.value["turn"] { #expect(Int(turn) <= head, "\(frame)") }
        default: break
        }
    }

    /// What a replay gives is what was there.
    private func expectEqualBooks() {
        guard machine.head == durable.head else { return }
        let state = machine.turns.state
        #expect(state.time == durable.time && state.starts == durable.starts && state.seed == durable.seed)
        #expect(state.ledger.open == durable.ledger.open && state.ledger.dead == durable.ledger.dead)
        #expect(state.ledger.controls == durable.ledger.controls)
        #expect(state.ledger.cancelled == durable.ledger.cancelled && state.outputs == durable.outputs)
        #expect(state.subscriptions == durable.subscriptions)
        #expect(state.sessions.expired == durable.sessions.expired && state.sessions.closed == durable.sessions.closed)
        #expect(state.joined == durable.joined && state.missing == durable.missing && state.workerKeys == durable.workerKeys)
        #expect(state.sessions.places == durable.sessions.places)
    }

    // MARK: Peers

    func deliver(_ frame: Frame, from route: Route, by identity: Identity = .local, of timeline: Timeline = home) {
        machine.received(Envelope(frame, timeline: timeline).parts, from: route, by: identity, now: now)
    }

    /// Delivers a frame, lets a round pass, and returns what came back.
    @discardableResult
    func exchange(_ frame: Frame, from route: Route, by identity: Identity = .local, of timeline: Timeline = home) -> [Frame] {
        deliver(frame, from: route, by: identity, of: timeline)
        round()
        return take(route)
    }

    /// What was sent to this connection since the last call.
    func take(_ route: Route) -> [Frame] { mail.removeValue(forKey: route) ?? [] }

    func takeTasks(_ route: Route) -> [JobTask] { take(route).tasks }

    func takePublished() -> [Frame] {
        defer { published.removeAll() }
        return published
    }

    func takeNotes() -> [String] {
        defer { notes.removeAll() }
        return notes.map(\.text)
    }

    func takeOrder() -> [String] {
        defer { order.removeAll() }
        return order
    }

    /// The state as its own program sees it.
    func state() throws -> Shop.State { try unpacked(Shop.State.self, machine.stateBytes()) }
}

extension Rig: CustomReflectable {
    /// Nothing: an expectation that fails reflects what it speaks of, and a machine, which cannot be copied, ends the process.
    var customMirror: Mirror { Mirror(self, children: []) }
}
