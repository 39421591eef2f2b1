package import SamovarCore

/// What is paused, and the rules of queues: state that the journal determines, as the effects are.
///
/// `update` may set any number of them, as it may order any number of labels: they are part of what the program remembers.
package struct QueueControls: Equatable, Sendable {
    package private(set) var paused: Set<QueueOrLabel> = []
    package private(set) var rules: [Queue: QueueRules] = [:]

    var count: Int { paused.count + rules.count }

    package func isPaused(_ queue: Queue) -> Bool { paused.contains(.queue(queue)) }

    package func isPaused(_ label: Label) -> Bool { paused.contains(.label(label)) }

    /// Whether anything is another than before.
    @discardableResult
    mutating func take(_ control: Control) -> Bool {
        switch control {
        case .requeue, .drop: return false
        case .pause(let place): return paused.insert(place).inserted
        case .resume(let place): return paused.remove(place) != nil
        case .rule(let queue, let rule):
            let former = rules[queue] ?? .none
            rules[queue] = rule == .none ? nil : rule
            return former != rule
        }
    }

    /// The controls that lead to what there is, always in the same order.
    var controls: [Control] {
        let places = paused.sorted { "\($0)" < "\($1)" }
        return places.map { .pause($0) } + rules.sorted { $0.key < $1.key }.map { .rule($0.key, $0.value) }
    }
}
