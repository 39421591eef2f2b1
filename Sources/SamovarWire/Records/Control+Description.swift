package import MessagePack
import SamovarCore

extension Control {
    /// For people and scripts.
    package var shown: MessagePackValue {
        switch self {
        case .requeue(let effects): ["requeue": effects.shown]
        case .drop(let effects): ["drop": effects.shown]
        case .pause(let place): ["pause": .string("\(place)".bounded())]
        case .resume(let place): ["resume": .string("\(place)".bounded())]
        case .rule(let queue, let rules):
            [
                "queue": .string(queue.name.bounded()), "text": .string("\(rules)".bounded()),
                "rate": rules.rate?.shown ?? .nil, "shares": rules.shares?.shown ?? .nil,
            ]
        }
    }
}

extension DeadEffects {
    fileprivate var shown: MessagePackValue {
        switch self {
        case .effect(let id): ["effect": .string("\(id)")]
        case .label(let label): ["label": .string(label.text.bounded())]
        case .queue(let queue): ["queue": .string(queue.name.bounded())]
        }
    }
}

extension QueueRules.Rate {
    package var shown: MessagePackValue {
        [
            "count": .number(count), "milliseconds": .number(Int(interval.microseconds / 1_000)), "burst": .number(burst),
        ]
    }
}

extension QueueRules.Shares {
    fileprivate var shown: MessagePackValue {
        .map(
            weights.sorted { $0.key < $1.key }.map { MessagePackPair(.string($0.key.text.bounded()), .number($0.value)) }
                + [MessagePackPair("", .number(others))])
    }
}

extension MessagePackValue {
    package static func number(_ number: Int) -> MessagePackValue { .int(Int64(number)) }
}
