import MessagePack
import SamovarCore
import SamovarWire

/// The program's invariants, looked at as the store goes: each until it is broken once.
///
/// A store that does not look has none of these, and asks for nothing in a turn but whether it has.
struct InvariantWatch {
    struct Breach: Equatable {
        let name: String
        /// The last turn of the group after which it was broken.
        let turn: Int
    }

    /// How many the program has.
    let count: Int
    private var kept: [(index: Int, name: String)]
    private(set) var breaches: [Breach] = []

    init(_ engine: any ProgramEngine) {
        kept = engine.invariants.enumerated().map { ($0.offset, $0.element) }
        count = kept.count
    }

    /// Returns those that are broken, and were not when they were looked at last.
    mutating func look(at engine: any ProgramEngine) -> [Breach] {
        let broken = kept.filter { !engine.keeps(invariant: $0.index) }
        kept.removeAll { rule in broken.contains { $0.index == rule.index } }
        let news = broken.map { Breach(name: $0.name, turn: engine.head) }
        breaches += news
        return news
    }

    /// For `status`.
    var shown: MessagePackValue {
        [
            "count": .number(count),
            "broken": .array(breaches.map { ["name": .string($0.name.bounded()), "turn": .number($0.turn)] }),
        ]
    }
}
