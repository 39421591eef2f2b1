import SamovarCore
import SamovarWire

/// The subscriptions that are active and when they are due next: state that the journal determines.
///
/// An activation is named by the turn with which it began and its place there, which is that of its label among all that are wanted.
/// A firing names its activation, so one that an older activation ordered is nobody's any more.
struct SubscriptionTable: Equatable, Sendable {
    struct Activation: Equatable, Sendable {
        var id: EffectID
        var wanted: WantedEvent
        /// The nominal time of the next firing; nil if there is none.
        var due: Timestamp?

        /// Whether this is a timer that fires at `now` for this time.
        fileprivate func fires(for nominal: Timestamp, at now: Timestamp) -> Bool {
            guard case .timer(let schedule, _) = wanted.kind, let due else { return false }
            return due <= now && schedule.nominal(due: due, now: now) == nominal
        }
    }

    /// Effects of sources come after all that a turn can order.
    static let firstSource = 1 << 20

    private(set) var activations: [Label: Activation] = [:]
    /// Whether places go by labels, as they do in turns behind a start of this build. Former builds took them in the order in which the
    /// program told them; of what follows a set or a dictionary, that is another one in each process.
    var isByLabel = true
    /// The earliest time at which an activation is due; nil if no timer will fire.
    private(set) var nextDue: Timestamp?

    /// Brings the book to what a state wants: what is the same goes on, what differs begins anew.
    mutating func want(_ events: [WantedEvent], turn: Int, now: Timestamp, ledger: inout EffectLedger) {
        let before = activations
        activations.removeAll(keepingCapacity: true)
        // Sorting is stable: of two with one label the first still counts.
        let events = isByLabel ? events.sorted { $0.id < $1.id } : events
        for (place, event) in events.enumerated() where activations[event.id] == nil {
            let id = EffectID(turn: turn, ordinal: Self.firstSource + place)
            var activation = Activation(id: id, wanted: event, due: event.first(from: now))
            if let old = before[event.id], old.wanted.isSameEvent(as: event) {
                activation = old
                activation.wanted = event
            } else if case .source(let payload, var options) = event.kind {
                options.id = nil
                ledger.open(OpenEffect(id: id, root: 0, options: options, payload: payload, now: now))
            }
            activations[event.id] = activation
        }
        for (label, old) in before.sorted(by: { $0.value.id < $1.value.id }) where activations[label]?.id != old.id {
            if case .source = old.wanted.kind { ledger.cancel(old.id) }
        }
        noteNextDue()
    }

    /// Takes over the name under which a timer has fired this message.
    ///
    /// A replay asks this build what the state wanted in the turns of a former one, so an activation may have begun with another turn or
    /// place than it had there. The only timer with this message, or the only one of several whose time it was, is the one that fired; who
    /// has its name takes the other one.
    ///
    /// - Parameter message: as this build encodes it.
    mutating func rename(to id: EffectID, firing message: [UInt8], for nominal: Timestamp, at now: Timestamp) {
        var timers = activations.values.filter { if case .timer(_, message) = $0.wanted.kind { true } else { false } }
        if timers.count > 1 { timers = timers.filter { $0.fires(for: nominal, at: now) } }
        guard timers.count == 1, let timer = timers.first else { return }
        if let (label, holder) = activations.first(where: { $0.value.id == id }) {
            switch holder.wanted.kind {
            // A source is an open effect of its name.
            case .source: return
            // What fired was this moment in the life of the store, and no timer.
            case .lifecycle(_, message): return
            case .lifecycle, .timer: break
            }
            activations[label]?.id = timer.id
        }
        activations[timer.wanted.id]?.id = id
    }

    mutating func fired(_ id: EffectID, nominal: Timestamp) {
        guard let (label, activation) = activations.first(where: { $0.value.id == id }),
            case .timer(let schedule, _) = activation.wanted.kind
        else { return }
        activations[label]?.due = schedule.next(after: nominal)
        noteNextDue()
    }

    /// The store was away until `now`.
    mutating func returned(now: Timestamp) {
        for (label, activation) in activations {
            guard case .timer(let schedule, _) = activation.wanted.kind, let due = activation.due else { continue }
            activations[label]?.due = schedule.due(due, afterAbsenceUntil: now)
        }
        noteNextDue()
    }

    /// The timer to fire now, the longest due first, with the time to fire it for.
    func firing(now: Timestamp) -> Firing? {
        guard let nextDue, nextDue <= now else { return nil }
        let first = activations.values.filter { $0.due == nextDue }.min { $0.id < $1.id }
        guard let first, case .timer(let schedule, let message) = first.wanted.kind else { return nil }
        return Firing(id: first.id, nominal: schedule.nominal(due: nextDue, now: now), message: message)
    }

    /// Subscriptions to a moment in the life of the store, in the order in which they began.
    func subscriptions(to moment: Lifecycle) -> [(id: EffectID, message: [UInt8])] {
        activations.values.sorted { $0.id < $1.id }.compactMap { activation in
            guard case .lifecycle(moment, let message) = activation.wanted.kind else { return nil }
            return (activation.id, message)
        }
    }

    func isWanted(_ activation: EffectID) -> Bool { activations.values.contains { $0.id == activation } }

    mutating func restore(_ activations: [Activation]) {
        for activation in activations { self.activations[activation.wanted.id] = activation }
        noteNextDue()
    }

    private mutating func noteNextDue() {
        nextDue = activations.values.lazy.compactMap(\.due).min()
    }
}

extension EffectID {
    /// Whether it is of a source, which has no end.
    var isOfSource: Bool { ordinal >= SubscriptionTable.firstSource }
}

extension WantedEvent {
    fileprivate func first(from now: Timestamp) -> Timestamp? {
        if case .timer(let schedule, _) = kind { schedule.first(from: now) } else { nil }
    }

    /// Whether a subscription goes on undisturbed; its message may be another one.
    fileprivate func isSameEvent(as other: WantedEvent) -> Bool {
        switch (kind, other.kind) {
        case (.timer(let a, _), .timer(let b, _)): a == b
        case (.lifecycle(let a, _), .lifecycle(let b, _)): a == b
        case (.source, .source): kind == other.kind
        default: false
        }
    }
}
