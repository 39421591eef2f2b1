import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// Frames that are under way between one peer and the store. A cut loses them all.
struct Link {
    var toStore: [Frame] = []
    var toPeer: [Frame] = []
    /// False from a cut until the peer opens another socket.
    var isOpen = false

    mutating func cut() {
        self = Link()
    }

    mutating func open() {
        self = Link(isOpen: true)
    }
}

/// A client, a worker and a store with connections that break, all from one seed.
struct LossyWorld: ~Copyable {
    private var random: Random
    private var now = at(0)
    private var client: ClientMachine
    private var worker: WorkerMachine
    private var store = ScriptedStore()
    private var clientLink = Link()
    private var workerLink = Link()

    private var submitted = 0
    private var running: [Lease] = []
    private var started: Set<Lease> = []
    private var windows: [Lease: StreamWindow] = [:]
    private var answered: [Int: Int] = [:]
    private let slots = 3

    init(seed: UInt64) {
        random = Random(seed: seed)
        client = ClientMachine(
            session: SessionID(high: 1, low: 1), schema: counter, settings: ClientMachine.Settings(window: 5, frameBytes: 100),
            random: Random(seed: seed &+ 1))
        worker = WorkerMachine(
            WorkerOffer(id: WorkerID(high: 2, low: 2), slots: slots, queues: [.default]), schema: counter, readAhead: 2,
            settings: WorkerMachine.Settings(unacknowledged: 6, frameBytes: 200), random: Random(seed: seed &+ 2))
    }

    /// Submits `inputs`, with faults, and then lets everything heal.
    mutating func run(inputs: Int) throws {
        var steps = 0
        while submitted < inputs, steps < 20_000 {
            steps += 1
            try fault()
            try step(submitting: chance(3))
        }
        for _ in 0..<5_000 where !isHealed(inputs) { try step(submitting: false) }
        #expect(submitted == inputs)
        #expect(answered.count == inputs, "inputs without an outcome")
        #expect(answered.values.allSatisfy { $0 == 1 }, "an outcome was told twice")
        #expect(store.inputs == inputs, "the store took an input twice or never")
        #expect(store.isSettled, "effects without an answer")
        #expect(store.applied.count == inputs && store.applied.values.allSatisfy { $0 == 1 })
        #expect(store.torn == [], "an answer without all that was streamed before it")
        let kept = worker.unacknowledged
        #expect(kept == 0, "answers that were never acknowledged")
    }

    private func isHealed(_ inputs: Int) -> Bool {
        answered.count == inputs && store.isSettled && worker.unacknowledged == 0 && worker.jobs == 0
    }

    private mutating func chance(_ one: Int) -> Bool { Int.random(in: 0..<one, using: &random) == 0 }

    private mutating func fault() throws {
        switch Int.random(in: 0..<60, using: &random) {
        case 0:
            cutClient()
            perform(client.disconnected(now: now))
        case 1:
            cutWorker()
            perform(worker.disconnected(now: now))
        case 2: cutClient()  // Only silence tells.
        case 3: cutWorker()
        case 4:
            cutClient()
            cutWorker()
        case 5: store.loseWorker()  // The connection stays: the store says “unknown peer”.
        case 6: store.loseClient()
        case 7: clientLink.toPeer.removeAll { if case .receipt = $0 { true } else { false } }
        case 8: workerLink.toPeer.removeAll { if case .acknowledge = $0 { true } else { false } }
        default: break
        }
    }

    private mutating func cutClient() {
        clientLink.cut()
        store.loseClient()
    }

    private mutating func cutWorker() {
        workerLink.cut()
        store.loseWorker()
    }

    private mutating func step(submitting: Bool) throws {
        now = now + .milliseconds(Int.random(in: 0...300, using: &random))
        deliver()
        if submitting { try submit() }
        if !running.isEmpty, chance(2) {
            let lease = running.remove(at: Int.random(in: 0..<running.count, using: &random))
            perform(worker.finished(lease, .done([[UInt8(windows[lease]?.last ?? 0)]]), now: now))
        }
        if let lease = running.randomElement(using: &random), let index = windows[lease]?.next(size: 1), index < 200 {
            worker.streamed(lease, index: index, message: [UInt8(index)], checkpoint: nil)
        }
        perform(client.ticked(now: now))
        perform(client.flush(now: now))
        perform(worker.ticked(now: now))
        perform(worker.flush(now: now))
        if workerLink.isOpen { workerLink.toPeer += store.handOut() }
    }

    private mutating func submit() throws {
        do {
            _ = try client.submit([0xc0])
            submitted += 1
        } catch .backlogFull {
            return
        }
    }

    private mutating func deliver() {
        for _ in 0..<Int.random(in: 0...3, using: &random) where !clientLink.toStore.isEmpty {
            clientLink.toPeer += store.fromClient(clientLink.toStore.removeFirst())
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) where !workerLink.toStore.isEmpty {
            workerLink.toPeer += store.fromWorker(workerLink.toStore.removeFirst())
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) where !clientLink.toPeer.isEmpty {
            perform(client.received(Envelope(clientLink.toPeer.removeFirst(), timeline: home), now: now))
        }
        for _ in 0..<Int.random(in: 0...3, using: &random) where !workerLink.toPeer.isEmpty {
            perform(worker.received(Envelope(workerLink.toPeer.removeFirst(), timeline: home), now: now))
        }
    }

    private mutating func perform(_ actions: [ClientMachine.Action]) {
        for action in actions {
            switch action {
            case .connect: clientLink.open()
            case .disconnect: cutClient()
            case .send(let envelope): if clientLink.isOpen { clientLink.toStore.append(envelope.frame) }
            case .answered(let outcome): answered[outcome.sequence, default: 0] += 1
            case .unknown, .unsettled, .checkKey, .keyRefused, .refused, .stop, .page, .pageless: Issue.record("\(action)")
            case .welcomed, .settled, .waiting, .view, .noView, .note: break
            }
        }
    }

    private mutating func perform(_ actions: [WorkerMachine.Action]) {
        for action in actions {
            switch action {
            case .connect: workerLink.open()
            case .disconnect: cutWorker()
            case .send(let envelope): if workerLink.isOpen { workerLink.toStore.append(envelope.frame) }
            case .start(let task, _):
                #expect(started.insert(task.lease).inserted, "lease \(task.lease) was started twice")
                running.append(task.lease)
                windows[task.lease] = StreamWindow(after: task.resume)
                #expect(running.count <= slots, "more jobs than slots")
            case .cancel, .checkKey, .keyRefused, .refused, .stop: Issue.record("\(action)")
            case .acknowledged(let mark): windows[mark.lease]?.acknowledged(through: mark.index)
            case .note: break
            }
        }
    }
}
