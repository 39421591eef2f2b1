import SamovarCore

/// One of the millstones: a label, with the policy for what is laid on it next.
struct LabelSpec: Portable {
    let number: Int
    /// The place among `policies`.
    let rule: Int

    static let limit = 2
    static let policies: [Policy] = [
        .latest, .first, .serial(limit: limit), .all,
        .lane(width: 1, limit: 3, behindDead: .stops), .lane(width: 2, limit: 4, behindDead: .stops), .lane(width: 3, limit: 5),
        .lane(width: 1, limit: 3),
    ]

    /// A group of labels: each but the last has one policy of its own, and the last has all of them.
    enum Group {
        case plain
        case lanes
        /// Labels that queues have shares for.
        case shares

        fileprivate var numbers: ClosedRange<Int> {
            switch self {
            case .plain: 0...4
            case .lanes: 5...9
            case .shares: 10...12
            }
        }

        fileprivate var rules: ClosedRange<Int> {
            switch self {
            case .plain: 0...3
            case .lanes: 4...7
            case .shares: 3...3
            }
        }
    }

    static let count = 13

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

    static func number(in group: Group, _ random: inout SeededRandom) -> Int { random.number(group.numbers) }

    static func drawn(_ group: Group = .plain, _ random: inout SeededRandom) -> LabelSpec {
        let (numbers, rules) = (group.numbers, group.rules)
        let number = random.number(numbers)
        let own = rules.lowerBound + number - numbers.lowerBound
        let rule = number < numbers.upperBound || rules.count == 1 ? min(own, rules.upperBound) : random.number(rules)
        return LabelSpec(number: number, rule: rule)
    }
}
