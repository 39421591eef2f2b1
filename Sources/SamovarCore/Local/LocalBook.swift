/// An effect that a `LocalStore` has open, for its caller to run.
public struct LocalEffect<P: Program>: Equatable, Sendable {
    /// With what it is answered.
    public let id: EffectID
    /// What is to be done.
    public let effect: P.Effect
    /// As it was ordered. The store sees to label and policy; retries, delays and limits are left to the caller.
    public let options: RunOptions
}

/// Effects and outputs of a `LocalStore`, until its caller takes them.
@usableFromInline
struct LocalBook<P: Program> {
    private(set) var open: [EffectID: LocalEffect<P>] = [:]
    private var labels = OpenLabels()
    /// Not behind another, and not taken yet, in order. Those that have been closed since are passed over.
    private var ready: [EffectID] = []
    /// Open, and with the caller.
    private var taken: Set<EffectID> = []
    private var cancelled: [EffectID] = []
    private var outputs: [P.Output] = []
    private var paused: Set<QueueOrLabel> = []
    /// Too many with their label are open: they fail without having been run.
    private(set) var crowded: [EffectID] = []
    var isFailingCrowded = false

    /// Outputs and cancellations that the caller has not taken.
    var untaken: Int { outputs.count + cancelled.count }

    @usableFromInline
    init() {}

    mutating func enter(_ command: Command<P>, of turn: Turn) {
        for (ordinal, order) in command.enumerated() {
            switch order {
            case .run(let effect, let options):
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                self.order(LocalEffect(id: id, effect: effect, options: options))
            case .cancel(let label): cancel(label)
            case .emit(let output): outputs.append(output)
            case .control(.pause(let place)): paused.insert(place)
            case .control(.resume(let place)): paused.remove(place)
            // There are no dead effects here, and no workers whose rate or choice would matter.
            case .control, .then: break
            }
        }
        // Who takes nothing shall not gather what was closed long ago.
        if ready.count > 2 * open.count + 1_024 { ready = ready.filter { open[$0] != nil } }
    }

    private mutating func order(_ effect: LocalEffect<P>) {
        guard let label = effect.options.id else {
            open[effect.id] = effect
            return ready.append(effect.id)
        }
        switch labels.admission(of: label, effect.options.policy) {
        case .passedOver: return
        case .crowded:
            open[effect.id] = effect
            return crowded.append(effect.id)
        case .replacing: cancel(label)
        case .opened: break
        }
        open[effect.id] = effect
        labels.insert(effect.id, label, effect.options.policy)
        if !labels.isBehindAnother(effect.id, effect.options) { ready.append(effect.id) }
    }

    /// None is looked for among those that are ready: that would take a time that grows with the square of their number.
    private mutating func cancel(_ label: Label) {
        for id in labels.removeOpen(label) {
            open[id] = nil
            // One that nobody has taken is not running anywhere.
            if taken.remove(id) != nil { cancelled.append(id) }
        }
    }

    mutating func close(_ id: EffectID) -> LocalEffect<P>? {
        guard let effect = open.removeValue(forKey: id) else { return nil }
        taken.remove(id)
        if let label = effect.options.id { ready += labels.remove(id, label) }
        return effect
    }

    mutating func takeReady() -> [LocalEffect<P>] {
        let effects = ready.compactMap { open[$0] }
        let waiting = paused.isEmpty ? [] : effects.filter(isPaused)
        ready = waiting.map(\.id)
        let free = waiting.isEmpty ? effects : effects.filter { !isPaused($0) }
        taken.formUnion(free.lazy.map(\.id))
        return free
    }

    private func isPaused(_ effect: LocalEffect<P>) -> Bool {
        paused.contains(.queue(effect.options.queue)) || effect.options.id.map { paused.contains(.label($0)) } ?? false
    }

    mutating func takeCancelled() -> [EffectID] {
        defer { cancelled.removeAll() }
        return cancelled
    }

    mutating func takeOutputs() -> [P.Output] {
        defer { outputs.removeAll() }
        return outputs
    }

    mutating func takeCrowded() -> EffectID? { crowded.isEmpty ? nil : crowded.removeFirst() }
}
