import SamovarCore

/// One of the millstones: a label, with the policy for what is laid on it next.
struct LabelSpec: Portable {
    let number: Int
    /// The place among `policies`.
    let rule: Int

    static let limit = 2
    static let policies: [Policy] = [.latest, .first, .serial(limit: limit), .all]
    /// Each but the last has one policy of its own.
    static let count = policies.count + 1

    var label: Label { Self.label(number) }
    var policy: Policy { Self.policies[rule] }
    var code: Int { number | rule << 4 }

    static func label(_ number: Int) -> Label { Label("label \(number)") }

    init(number: Int, rule: Int) {
        self.number = number
        self.rule = rule
    }

    /// Nil if it is the number of none.
    init?(code: Int) {
        guard code >= 0, code >> 4 < Self.policies.count, code & 15 < Self.count else { return nil }
        self.init(number: code & 15, rule: code >> 4)
    }

    static func drawn(_ random: inout SeededRandom) -> LabelSpec {
        let number = random.number(0...count - 1)
        return LabelSpec(number: number, rule: number < policies.count ? number : random.number(0...policies.count - 1))
    }
}
