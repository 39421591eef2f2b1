import SamovarCore
import SamovarWire

/// The effects that a chain of turns has ordered, sources of new subscriptions included, by their identity.
struct OrderedEffects {
    private(set) var payloads: [EffectID: [UInt8]] = [:]
    /// The turns after which the state wanted something else.
    private var wanting: Set<Int> = []

    /// Notes what turns have ordered, before it is carried out.
    mutating func note(_ log: borrowing TurnLog) {
        for order in log.orders {
            switch order {
            case .run(let effect): payloads[effect.id] = effect.payload
            case .want(_, let turn, _): wanting.insert(turn)
            default: break
            }
        }
    }

    /// Notes the sources that began, when that is carried out.
    mutating func note(_ subscriptions: SubscriptionTable) {
        guard !wanting.isEmpty else { return }
        for activation in subscriptions.activations.values where wanting.contains(activation.id.turn) {
            if case .source(let payload, _) = activation.wanted.kind { payloads[activation.id] = payload }
        }
        wanting = []
    }

    /// Those that another chain has not, or otherwise, in their order.
    func missing(in other: OrderedEffects) -> [WhatIf.Order] {
        payloads.filter { other.payloads[$0.key] != $0.value }.map { WhatIf.Order(id: $0, payload: $1) }.sorted { $0.id < $1.id }
    }
}
