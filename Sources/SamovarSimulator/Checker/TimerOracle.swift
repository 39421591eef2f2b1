import SamovarCore

/// The subscriptions of one timeline, as the checker keeps them: what is wanted, since when, and when it is due. The times of a
/// schedule are computed here once more, by other means than those of the store.
struct TimerOracle {
    /// One activation of a subscription.
    struct Activation {
        let id: EffectID
        var armed: ArmedTimer
        /// The next time; nil if there is none.
        var due: Int64?
        /// The time of the newest one.
        var last: Int64?
        /// In which start a moment was heard of.
        var heardIn = 0

        var timer: TimerSpec { armed.timer }
    }

    /// Effects and activations are named after the turn that begins them; the latter come after all that a turn can order.
    static let firstPlace = 1 << 20

    private(set) var activations: [String: Activation] = [:]

    func activation(_ id: EffectID) -> Activation? { activations.values.first { $0.id == id } }

    /// - Returns: what has begun, and what has ended.
    mutating func want(
        _ timers: [String: ArmedTimer], turn: Int, now: Timestamp
    ) -> (begun: [Activation], ended: [Activation]) {
        guard !timers.isEmpty || !activations.isEmpty else { return ([], []) }
        let before = activations
        var begun: [Activation] = []
        activations = [:]
        for (place, (name, armed)) in timers.sorted(by: { $0.key < $1.key }).enumerated() {
            if var old = before[name], old.armed.isServedAs(armed) {
                old.armed = armed
                activations[name] = old
            } else {
                let id = EffectID(turn: turn, ordinal: Self.firstPlace + place)
                let activation = Activation(id: id, armed: armed, due: armed.first(after: now.microseconds))
                activations[name] = activation
                begun.append(activation)
            }
        }
        return (begun, before.filter { activations[$0.key]?.id != $0.value.id }.map(\.value))
    }

    /// A store came back: what it missed is passed over where the program wants it so.
    mutating func returned(now: Timestamp) {
        for (name, activation) in activations where activation.timer.missed == Missed.none.rawValue {
            guard let due = activation.due, due <= now.microseconds else { continue }
            activations[name]?.due = activation.armed.next(after: now.microseconds, from: due)
        }
    }

    /// For which time the timer has to be served now; nil if it is not due.
    func nominal(of activation: Activation, now: Timestamp) -> Int64? {
        guard let due = activation.due, due <= now.microseconds else { return nil }
        guard activation.timer.missed != Missed.all.rawValue else { return due }
        return activation.armed.latest(until: now.microseconds, from: due)
    }

    mutating func fired(_ id: EffectID, nominal: Int64) {
        guard let name = activations.first(where: { $0.value.id == id })?.key, let armed = activations[name]?.armed else { return }
        activations[name]?.due = armed.next(after: nominal, from: nominal)
        activations[name]?.last = nominal
    }

    mutating func heard(_ id: EffectID, start: Int) {
        guard let name = activations.first(where: { $0.value.id == id })?.key else { return }
        activations[name]?.heardIn = start
    }

    /// The timer that has been due for the longest time.
    var longestDue: (activation: Activation, due: Int64)? {
        activations.values.compactMap { activation in activation.due.map { (activation, $0) } }.min {
            ($0.1, $0.0.id) < ($1.1, $1.0.id)
        }
    }
}

extension ArmedTimer {
    private var step: Int64 { Int64(timer.milliseconds) * milliseconds }

    /// A subscription to the same times goes on, whatever it sends, and so does one to the same source.
    fileprivate func isServedAs(_ other: ArmedTimer) -> Bool {
        guard timer.kind == other.timer.kind else { return false }
        if timer.kind.isLifecycle { return true }
        if timer.kind == .source { return effect == other.effect }
        guard timer.missed == other.timer.missed else { return false }
        return timer.kind == .at ? time == other.time : timer.milliseconds == other.timer.milliseconds
    }

    fileprivate func first(after now: Int64) -> Int64? {
        switch timer.kind {
        case .every: now + step
        case .at: time.microseconds
        case .cron: (now / step + 1) * step
        case .resumed, .draining, .source: nil
        }
    }

    /// The first of its times after `now`, where `one` is one of them.
    fileprivate func next(after now: Int64, from one: Int64) -> Int64? {
        switch timer.kind {
        case .every, .cron: one + ((now - one) / step + 1) * step
        case .at, .resumed, .draining, .source: nil
        }
    }

    /// The last of its times that is not after `now`, where `one` is one of them.
    fileprivate func latest(until now: Int64, from one: Int64) -> Int64 {
        switch timer.kind {
        case .every, .cron: one + (now - one) / step * step
        case .at, .resumed, .draining, .source: one
        }
    }
}
