public import SamovarCore

extension KeyedHash {
    @usableFromInline
    mutating func combine(_ options: RunOptions) {
        combine(text: options.queue.name)
        let retry = options.retry
        combine(retry.attempts)
        combine(UInt64(bitPattern: retry.first.microseconds))
        combine(retry.factor.bitPattern)
        combine(UInt64(bitPattern: retry.maximum.microseconds))
        combine(UInt64(bitPattern: options.timeout?.microseconds ?? -1))
        combine(UInt64(bitPattern: options.delay.microseconds))
        if !options.isDefault { combineRareOptions(options) }
    }

    /// The bytes of a text, as those of an array of them.
    mutating func combine(text: String) {
        var text = text
        text.withUTF8 { combine($0) }
    }

    /// Options that most effects do not have.
    private mutating func combineRareOptions(_ options: RunOptions) {
        let isRare =
            options.id != nil || options.policy != .all || options.priority != 0 || options.at != nil
            || options.limits != RunLimits(attempt: options.timeout)
        guard isRare else { return }
        if let id = options.id { combine(text: id.text) }
        combine(options.policy.code)
        combine(options.priority)
        combine(UInt64(bitPattern: options.at?.microseconds ?? .min))
        combine(UInt64(bitPattern: options.limits.waiting?.microseconds ?? -1))
        combine(UInt64(bitPattern: options.limits.total?.microseconds ?? -1))
    }
}

extension Policy {
    /// The policy as a number, for the journal: that of the case, or 3 plus the limit of `serial`.
    var code: Int {
        switch self {
        case .all: 0
        case .latest: 1
        case .first: 2
        case .serial(let limit): 3 + max(1, min(limit, 1 << 32))
        }
    }

    init?(code: Int) {
        switch code {
        case 0: self = .all
        case 1: self = .latest
        case 2: self = .first
        case 4...(3 + 1 << 32): self = .serial(limit: code - 3)
        default: return nil
        }
    }
}
