import MessagePack
import ProcessSupport
import SamovarText

/// Small values made at random, and changes made to them.
enum RandomValue {
    /// One change, with the steps that are left to its place.
    struct Part {
        var steps: ArraySlice<ValuePath.Step>
        let before: MessagePackValue?
        let after: MessagePackValue?
    }

    static func any(_ depth: Int, _ isSorted: Bool, _ random: inout SeededRandom) -> MessagePackValue {
        switch depth > 0 ? Int.random(in: 0..<5, using: &random) : 0 {
        case 0: return .int(.random(in: 0..<3, using: &random))
        case 1, 2:
            var elements: [MessagePackValue] = []
            for _ in 0..<Int.random(in: 0..<6, using: &random) { elements.append(any(depth - 1, isSorted, &random)) }
            return .array(elements)
        default:
            var keys = ["a", "b", "long", "odd key", "ä", "9"].shuffled(using: &random).prefix(.random(in: 0..<6, using: &random))
            if isSorted {
                keys.sort { MessagePackValue.string($0).encoded.lexicographicallyPrecedes(MessagePackValue.string($1).encoded) }
            }
            var pairs: [MessagePackPair] = []
            for key in keys { pairs.append(MessagePackPair(.string(key), any(depth - 1, isSorted, &random))) }
            return .map(pairs)
        }
    }

    /// The same but for a few of its parts.
    static func another(_ value: MessagePackValue, _ random: inout SeededRandom) -> MessagePackValue {
        switch value {
        case .array(var elements):
            for _ in 0..<2 {
                let place = Int.random(in: 0...elements.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: elements.insert(any(1, true, &random), at: place)
                case 1 where place < elements.count: elements.remove(at: place)
                case _ where place < elements.count: elements[place] = another(elements[place], &random)
                default: break
                }
            }
            return .array(elements)
        case .map(var pairs) where !pairs.isEmpty:
            let place = Int.random(in: pairs.indices, using: &random)
            if Bool.random(using: &random) {
                pairs.remove(at: place)
            } else {
                pairs[place].value = another(pairs[place].value, &random)
            }
            return .map(pairs)
        default: return any(1, true, &random)
        }
    }

    /// Whether both are maps, or sequences, with something in them.
    static func haveParts(_ one: MessagePackValue?, _ other: MessagePackValue?) -> Bool {
        switch (one, other) {
        case (.map(let one), .map(let other)): !one.isEmpty && !other.isEmpty
        case (.array(let one), .array(let other)): !one.isEmpty && !other.isEmpty
        default: false
        }
    }

    /// Its maps in the order of their keys.
    static func sorted(_ value: MessagePackValue?) -> MessagePackValue? {
        switch value {
        case .array(let elements): .array(elements.compactMap { sorted($0) })
        case .map(let pairs):
            .map(pairs.map { MessagePackPair($0.key, sorted($0.value) ?? .nil) }.sorted { $0.key.plainText < $1.key.plainText })
        default: value
        }
    }

    /// The value with these changes.
    static func making(_ parts: [Part], of value: MessagePackValue?) -> MessagePackValue? {
        if let whole = parts.first(where: { $0.steps.isEmpty }) { return whole.after }
        guard !parts.isEmpty, let value else { return value }
        switch value {
        case .map:
            var map = value
            for (step, inner) in Dictionary(grouping: parts, by: { $0.steps.first }) {
                guard case .key(let key)? = step else { return nil }
                map[key] = making(inner.map(within), of: map[key])
            }
            return map
        case .array(let elements): return .array(making(parts, of: elements))
        default: return nil
        }
    }

    private static func making(_ parts: [Part], of elements: [MessagePackValue]) -> [MessagePackValue] {
        func places(_ isOne: (Part) -> Bool) -> [Int: [Part]] {
            Dictionary(grouping: parts.filter(isOne)) { if case .index(let index)? = $0.steps.first { index } else { -1 } }
        }
        let removed = places { $0.steps.count == 1 && $0.after == nil }
        let inserted = places { $0.steps.count == 1 && $0.before == nil }
        let changed = places { $0.steps.count > 1 || $0.before != nil && $0.after != nil }
        var kept = elements.indices.filter { removed[$0] == nil }.map { elements[$0] }[...]
        var made: [MessagePackValue] = []
        while !kept.isEmpty || inserted[made.count] != nil {
            let former = inserted[made.count] == nil ? kept.popFirst() : inserted[made.count]?.first?.after
            guard let later = making((changed[made.count] ?? []).map(within), of: former) else { break }
            made.append(later)
        }
        return made
    }

    private static func within(_ part: Part) -> Part { Part(steps: part.steps.dropFirst(), before: part.before, after: part.after) }
}
