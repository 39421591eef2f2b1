import SamovarCore
import SamovarProtocol

/// What a turn orders, and what labels and policies make of it.
extension ReferenceModel {
    func take(_ command: Command<ModelProgram>, of turn: Turn, root: Int) {
        for (ordinal, order) in command.enumerated() {
            let id = EffectID(turn: turn.number, ordinal: ordinal)
            switch order {
            case .then(let message): announced.append((packed(message), turn.number))
            case .emit(let output): outputs.append(EmittedOutput(id: id, bytes: packed(output)))
            case .cancel(let label):
                for other in labels[label] ?? [] {
                    close(other)
                    count(.cancelled)
                }
            case .run(let effect, let options):
                let order = Order(
                    root: root, effect: effect, payload: packed(effect), label: options.id, policy: options.policy,
                    begins: turn.now + options.delay, notBefore: turn.now + options.delay)
                runLabelled(order, id)
            }
        }
    }

    private func runLabelled(_ order: Order, _ id: EffectID) {
        var order = order
        if let label = order.label {
            let others = labels[label] ?? []
            switch order.policy {
            case .all: break
            case .latest:
                for other in others {
                    close(other)
                    count(.replaced)
                }
            case .first:
                guard others.isEmpty else { return count(.passedOver) }
            case .serial(let limit):
                order.isOverLimit = others.count >= limit
                if !others.isEmpty { count(order.isOverLimit ? .overLimit : .queued) }
            }
            if !order.isOverLimit { labels[label, default: []].append(id) }
        }
        open[id] = order
        ordered[id] = order.payload
        openByRoot[order.root, default: 0] += 1
    }

    func close(_ id: EffectID) {
        guard let order = open.removeValue(forKey: id) else { return }
        closed.insert(id)
        let count = openByRoot[order.root, default: 1] - 1
        openByRoot[order.root] = count > 0 ? count : nil
        guard let label = order.label else { return }
        labels[label]?.removeAll { $0 == id }
        if labels[label]?.isEmpty == true { labels[label] = nil }
    }

    /// Whether an attempt of an open effect has failed, or another was made since.
    func isFenced(_ lease: Lease, of id: EffectID) -> Bool {
        guard let order = open[id] else { return false }
        return order.failed.map { lease <= $0 } ?? false || leases(of: id).last.map { lease < $0 } ?? false
    }

    /// The effect that must end before this one may run; nil if there is none.
    func predecessor(of id: EffectID) -> EffectID? {
        guard let order = open[id], case .serial = order.policy, let label = order.label, let first = labels[label]?.first,
            first != id
        else { return nil }
        return first
    }
}
