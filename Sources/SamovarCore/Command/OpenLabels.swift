/// Which open effects have which label, and what a policy makes of one more: the one place where policies are decided.
package struct OpenLabels: Equatable, Sendable {
    /// What a policy makes of an effect that is ordered.
    package enum Admission: Equatable, Sendable {
        case opened
        /// It is opened, and these are cancelled.
        case replaces([EffectID])
        case passedOver
        /// It fails without an attempt.
        case crowded
    }

    private var effects: [Label: [EffectID]] = [:]

    package init() {}

    /// Open effects with this label, oldest first; crowded ones are not among them.
    package subscript(label: Label) -> [EffectID] { effects[label] ?? [] }

    package func admission(of label: Label, _ policy: Policy) -> Admission {
        let others = self[label]
        return switch policy {
        case .all: .opened
        case .latest: others.isEmpty ? .opened : .replaces(others)
        case .first: others.isEmpty ? .opened : .passedOver
        case .serial(let limit): others.count < max(1, limit) ? .opened : .crowded
        }
    }

    package mutating func insert(_ id: EffectID, _ label: Label) {
        effects[label, default: []].append(id)
    }

    /// Returns the effect that comes to the front of its label by this.
    package mutating func remove(_ id: EffectID, _ label: Label) -> EffectID? {
        guard var others = effects[label], let place = others.firstIndex(of: id) else { return nil }
        others.remove(at: place)
        effects[label] = others.isEmpty ? nil : others
        return place == 0 ? others.first : nil
    }

    /// Whether an effect has to wait until another with its label is closed.
    package func isBehindAnother(_ id: EffectID, _ options: RunOptions) -> Bool {
        guard case .serial = options.policy, let label = options.id, let first = effects[label]?.first else { return false }
        return first != id
    }
}
