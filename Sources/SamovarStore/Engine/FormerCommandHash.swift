import SamovarCore
import SamovarWire

extension Divergence {
    /// The hash that builds before ``CommandHash`` wrote of the same orders, so that their journals can be replayed: SipHash-2-4 without a key.
    static func formerHash(of orders: [Order]) -> UInt64 {
        guard !orders.isEmpty else { return 0 }
        var hash = KeyedHash(Secret(high: 0, low: 0))
        func add(_ kind: UInt8, _ bytes: some Collection<UInt8>) {
            hash.combine(kind)
            hash.combine(bytes)
        }
        for order in orders {
            switch order {
            case .run(let effect):
                add(1, effect.payload)
                hash.combine(effect.options)
            case .then(let message): add(2, message)
            case .cancel(let label): add(3, label.text.utf8)
            case .emit(let output): add(4, output)
            // Those builds had none.
            case .control: return 0
            }
        }
        return hash.finish()
    }
}

extension KeyedHash {
    fileprivate mutating func combine(_ options: RunOptions) {
        combine(options.queue.name.utf8)
        for word in options.commonWords { combine(word) }
        let isRare =
            options.id != nil || options.policy != .all || options.priority != 0 || options.at != nil
            || options.limits != RunLimits(attempt: options.timeout)
        guard isRare else { return }
        if let id = options.id { combine(id.text.utf8) }
        for word in options.rareWords { combine(word) }
    }
}

extension RunOptions {
    /// What every effect has, beside its queue.
    var commonWords: [UInt64] {
        [
            UInt64(bitPattern: Int64(retry.attempts)), UInt64(bitPattern: retry.first.microseconds), retry.factor.bitPattern,
            UInt64(bitPattern: retry.maximum.microseconds), UInt64(bitPattern: timeout?.microseconds ?? -1),
            UInt64(bitPattern: delay.microseconds),
        ]
    }

    /// What most effects do not have, beside their label.
    var rareWords: [UInt64] {
        [
            UInt64(truncatingIfNeeded: policy.code), UInt64(truncatingIfNeeded: priority),
            UInt64(bitPattern: at?.microseconds ?? .min), UInt64(bitPattern: limits.waiting?.microseconds ?? -1),
            UInt64(bitPattern: limits.total?.microseconds ?? -1),
        ]
    }
}
