import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// What an operator has asked of the store, and what came of it.
final class Errand {
    let request: AdminRequest
    /// What it orders of queues and labels; nil if it is about effects.
    let control: Control?
    /// Effects that it names; nil if it is about all that are dead.
    let effects: Set<EffectID>?
    /// With which keys the store has read it.
    var senders: Set<Sender?> = []

    init(_ request: AdminRequest, control: Control? = nil, effects: Set<EffectID>? = nil) {
        self.request = request
        self.control = control
        self.effects = effects
    }
}

/// An operator with a tool: one request after the other over the admin socket, each repeated under its number until it is answered.
///
/// Connects anew for each attempt, and sometimes goes away before the answer. When everything has healed, it brings all into order:
/// what is paused goes on, queues have no rules, and no lane stands still behind a dead effect.
final class OperatorProcess: Process {
    private(set) var errands: [Errand] = []
    private var pending: Errand?
    private var actsAt: Instant = 0
    private var triesAt: Instant = 0
    /// Dead effects that have had their chance.
    private var requeued: Set<EffectID> = []

    init(_ world: World) {
        super.init(world, "operator", 300)
    }

    var isIdle: Bool { pending == nil }

    func errand(_ id: Int) -> Errand? { errands.indices.contains(id - 1) ? errands[id - 1] : nil }

    override func begin() throws(Violation) {
        actsAt = world.now + pause
        wake(at: actsAt)
    }

    private var pause: Instant { random.about(world.isFaulty ? 2 * seconds : 200 * milliseconds) }

    override func round() throws(Violation) {
        port.sendWaiting(world.network)
        for parts in port.receive(limit: .max).messages {
            guard let envelope = try? Envelope(parts: parts), case .reply(let reply) = envelope.frame else { continue }  // Noise.
            answered(reply)
        }
        if port.takeBroke() { triesAt = min(triesAt, world.now + 50 * milliseconds) }
        if let pending {
            if world.now >= triesAt { attempt(pending) }
            wake(at: triesAt)
        } else {
            if world.now >= actsAt { act() }
            wake(at: pending == nil ? actsAt : triesAt)
        }
    }

    private func attempt(_ errand: Errand) {
        port.connect(world.network.connect(self, listener: .admin), world.network)
        port.send(Envelope(.request(errand.request), timeline: .zero), world.network)
        triesAt = world.now + (world.isFaulty && random.chance(0.1) ? 10 * milliseconds : 2 * seconds)
    }

    private func answered(_ reply: AdminReply) {
        guard let errand = pending, reply.id == errand.request.id else { return }
        world.note("\(name) hears of \(reply.id): \(reply.refusal ?? "done")")
        pending = nil
        port.disconnect(world.network)
        actsAt = world.now + pause
    }

    // MARK: What is asked

    private func act() {
        actsAt = world.now + pause
        guard let errand = world.isFaulty ? drawn() : repair() else { return }
        world.note("\(name) asks \(errand.request.id): \(errand.request.verb) \(errand.request.arguments)")
        errands.append(errand)
        pending = errand
        triesAt = world.now
        attempt(errand)
    }

    private func drawn() -> Errand {
        let reference = world.checker.reference
        let paused = reference.paused.keys.sorted { "\($0)" < "\($1)" }
        if !paused.isEmpty, random.chance(0.5) { return order(.resume(random.pick(paused))) }
        switch random.number(0...9) {
        case 0...2: return random.chance(0.5) ? ask("requeue", drawnEffects(reference)) : ask("requeue", all: true)
        case 3: return random.chance(0.8) ? ask("drop", drawnEffects(reference)) : ask("drop", all: true)
        case 4...6: return order(.pause(drawnPlace()))
        case 7: return order(.resume(drawnPlace()))
        default: return order(.rule(random.pick(ControlSpec.queues), random.pick(ControlSpec.rules)))
        }
    }

    private func drawnPlace() -> QueueOrLabel {
        random.chance(0.4)
            ? .queue(random.pick(ControlSpec.queues)) : .label(LabelSpec.label(random.number(0...LabelSpec.count - 1)))
    }

    /// Mostly dead ones; an open one may be dropped, too.
    private func drawnEffects(_ reference: ReferenceModel) -> [EffectID] {
        let dead = reference.dead.keys.sorted()
        if dead.isEmpty || random.chance(0.1) { return [reference.open.keys.min() ?? EffectID(turn: 1, ordinal: 0)] }
        return (0..<random.pick([1, 1, 3])).map { _ in random.pick(dead) }
    }

    /// What keeps work from its end, one after the other; nil if nothing does.
    private func repair() -> Errand? {
        let reference = world.checker.reference
        if let place = reference.paused.keys.min(by: { "\($0)" < "\($1)" }) { return order(.resume(place)) }
        if let queue = reference.rules.keys.min() { return order(.rule(queue, .none)) }
        guard let id = reference.dead.keys.filter(reference.hasPlace).min() else { return nil }
        return ask(requeued.insert(id).inserted ? "requeue" : "drop", [id])
    }

    private func ask(_ verb: String, _ effects: [EffectID] = [], all: Bool = false) -> Errand {
        let arguments: MessagePackValue =
            if all { ["all": .bool(true)] } else if effects.count == 1, let id = effects.first { ["effect": .string("\(id)")] } else
            {
                ["effects": .array(effects.map { .string("\($0)") })]
            }
        return Errand(
            AdminRequest(id: errands.count + 1, verb: verb, arguments: arguments), effects: all ? nil : Set(effects))
    }

    private func order(_ control: Control) -> Errand {
        let (verb, arguments): (String, MessagePackValue) =
            switch control {
            case .pause(let place): ("pause", Self.arguments(place))
            case .resume(let place): ("resume", Self.arguments(place))
            case .rule(let queue, let rules): ("rule", Self.arguments(queue, rules))
            case .requeue, .drop: preconditionFailure("\(control) is asked by effect")
            }
        return Errand(AdminRequest(id: errands.count + 1, verb: verb, arguments: arguments), control: control, effects: [])
    }

    private static func arguments(_ place: QueueOrLabel) -> MessagePackValue {
        switch place {
        case .queue(let queue): ["queue": .string(queue.name)]
        case .label(let label): ["label": .string(label.text)]
        }
    }

    private static func arguments(_ queue: Queue, _ rules: QueueRules) -> MessagePackValue {
        var pairs = [MessagePackPair("queue", .string(queue.name))]
        if let rate = rules.rate {
            pairs.append(MessagePackPair("rate", .int(Int64(rate.count))))
            pairs.append(MessagePackPair("milliseconds", .int(rate.interval.microseconds / 1_000)))
            pairs.append(MessagePackPair("burst", .int(Int64(rate.burst))))
        }
        if let shares = rules.shares {
            let weights = shares.weights.sorted { $0.key < $1.key }
            pairs.append(
                MessagePackPair("shares", .map(weights.map { MessagePackPair(.string($0.key.text), .int(Int64($0.value))) })))
            pairs.append(MessagePackPair("others", .int(Int64(shares.others))))
        }
        return .map(pairs)
    }
}
