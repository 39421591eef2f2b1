import MachineSupport
import MessagePack
import SamovarCore

@testable import SamovarStore
@testable import SamovarWire

/// A journal of the mill, written by its engine and its books: whatever can happen there, at random.
final class MillJournal {
    private(set) var records: [Record] = []
    private var state = StoreState(engine: TypedEngine(Mill.self, secret: millSecret), window: 100)
    private var log = TurnLog(after: 0)
    private(set) var now = at(100)
    private var sequence = 0
    private var lease = 0
    private var starts = 0
    private var streamed: [EffectID: Int] = [:]
    private let build: String

    /// - Parameter build: that has written it.
    init(by build: String = "mill" + Record.Event.mark) throws {
        self.build = build
        try begin()
    }

    convenience init(_ random: inout Random, items: Int) throws {
        try self.init()
        for _ in 0..<items { try step(&random) }
    }

    private func begin() throws {
        start()
        try state.engine.start(seed: packed(NoSeed()), now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    private func start() {
        starts += 1
        write(.started(number: starts, build: build, schema: Mill.schema, seed: packed(NoSeed())))
    }

    private func collect() throws {
        let batch = log.batch
        try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { records.append($0) }
        log.batch = RecordBatch(after: batch.last)
        state.ledger.forgetChanges()
    }

    func write(_ event: Record.Event, origin: Origin = .store) {
        let record = Record(turn: state.engine.skip(), time: now, origin: origin, event: event)
        log.batch.append(record)
        state.absorb(record)
    }

    func wait(_ pause: Duration) { now = now + pause }

    func send(_ input: Mill.Message) throws {
        sequence += 1
        _ = try state.engine.apply(
            .input(packed(input), .client(session: session(1), sequence: sequence)), now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    var open: [OpenEffect] { state.ledger.open.values.sorted { $0.id < $1.id } }

    func answer(_ id: EffectID, _ names: [String]) throws {
        guard let effect = state.ledger.open[id] else { return }
        lease += 1
        let lease = Lease(start: starts, counter: lease)
        if names.isEmpty {
            write(.done(id), origin: .effect(id, lease: lease, index: 0))
        } else {
            let messages = MessageList(names.map { packed(Mill.Message.flour($0)) })
            _ = try state.engine.apply(.answer(messages, id, lease, root: effect.root), now: now, log: &log)
        }
        state.carryOut(&log)
        try collect()
    }

    func stream(_ id: EffectID, _ name: String) throws {
        guard let effect = state.ledger.open[id] else { return }
        lease += 1
        streamed[id, default: 0] += 1
        let origin = Origin.effect(id, lease: Lease(start: starts, counter: lease), index: streamed[id, default: 0])
        let message = EngineMessage(
            bytes: packed(Mill.Message.flour(name))[...], origin: origin, role: .streamed, checkpoint: [1], root: effect.root)
        _ = try state.engine.apply(.message(message), now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    /// The timer that is due longest fires.
    func fire() throws {
        guard let firing = state.subscriptions.firing(now: now) else { return }
        let origin = Origin.subscription(firing.id, nominal: firing.nominal)
        let message = EngineMessage(bytes: firing.message[...], origin: origin, role: .open, checkpoint: nil, root: 0)
        _ = try state.engine.apply(.message(message), now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    func fail(_ id: EffectID) throws {
        guard let effect = state.ledger.open[id] else { return }
        let failure = Failure(reason: .threw, text: "no", attempts: 1)
        let input = EngineInput.failure(failure, id, payload: effect.payload, root: effect.root, staysDead: false)
        if try state.engine.apply(input, now: now, log: &log) == .unhandled { write(.dead(id, failure)) }
        state.carryOut(&log)
        try collect()
    }

    var dead: [EffectID] { state.ledger.dead.keys.sorted() }

    func operate(_ id: EffectID, requeues: Bool) throws {
        guard let effect = state.ledger.dead[id]?.effect else { return }
        write(requeues ? .requeued(id) : .dropped(id), origin: .operator)
        let notice: OperatorNotice = requeues ? .requeued(id, payload: effect.payload) : .dropped(id, payload: effect.payload)
        _ = try state.engine.apply(.operated(notice), now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    func restart() throws {
        start()
        state.engine.resubscribe(now: now, log: &log)
        state.carryOut(&log)
        try collect()
    }

    private func step(_ random: inout Random) throws {
        let names = ["a", "b", "long", "late", "d", "dusty"]
        let name = names.randomElement(using: &random) ?? "a"
        let effect = open.randomElement(using: &random)?.id
        switch Int.random(in: 0..<20, using: &random) {
        case 0...3: try send(.pour(.random(in: -6...5, using: &random)))
        case 4...6: try send(.grind(name))
        case 7: try send(.stop(name))
        case 8: try send(.time(["t", "u"].randomElement(using: &random) ?? "t", .random(in: 0...3, using: &random)))
        case 9: try send(.watch(["", "x", "y"].randomElement(using: &random) ?? ""))
        case 10...12: if let effect { try answer(effect, Array([name, "more"].prefix(.random(in: 0...2, using: &random)))) }
        case 13: if let effect { try stream(effect, name) }
        case 14: if let effect { try fail(effect) }
        case 15:
            if let dead = dead.randomElement(using: &random) { try operate(dead, requeues: Bool.random(using: &random)) }
        case 16:
            if let effect {
                write(.attemptFailed(effect, .threw, "no", notBefore: now))
                try collect()
            }
        case 17: if Int.random(in: 0..<4, using: &random) == 0 { try restart() }
        default:
            wait(.milliseconds(Int.random(in: 0...3_000, using: &random)))
            try fire()
        }
    }
}
