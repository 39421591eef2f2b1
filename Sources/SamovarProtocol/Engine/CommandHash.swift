public import SamovarCore

extension KeyedHash {
    @usableFromInline
    mutating func combine(_ options: RunOptions) {
        guard !options.isDefault else { return RunOptions.defaultBytes.withUnsafeBytes { combine($0) } }
        combine(text: options.queue.name)
        for word in options.commonWords { combine(word) }
        combineRareOptions(options)
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

extension RunOptions {
    /// What every effect has, beside its queue.
    fileprivate var commonWords: [UInt64] {
        [
            UInt64(bitPattern: Int64(retry.attempts)), UInt64(bitPattern: retry.first.microseconds), retry.factor.bitPattern,
            UInt64(bitPattern: retry.maximum.microseconds), UInt64(bitPattern: timeout?.microseconds ?? -1),
            UInt64(bitPattern: delay.microseconds),
        ]
    }

    /// What the hash of an effect without options takes, made once: nearly all effects have none.
    fileprivate static let defaultBytes: [UInt8] = {
        let options = RunOptions()
        let name = Array(options.queue.name.utf8)
        var bytes: [UInt8] = []
        for byte in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: name.count >> (8 * byte))) }
        bytes += name
        for word in options.commonWords {
            for byte in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: word >> (8 * byte))) }
        }
        return bytes
    }()
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
