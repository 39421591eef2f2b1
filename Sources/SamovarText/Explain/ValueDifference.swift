package import MessagePack

/// Where two values differ: the path to the smallest parts that do.
package struct ValueDifference: Equatable {
    /// Such as `tree.files.3`; empty for the whole value.
    package let path: String
    /// Both as JSON, in short; “nothing” where there is none.
    package let one: String
    package let other: String

    /// The first differences, in the order of the first value.
    package static func first(_ limit: Int, between one: MessagePackValue, and other: MessagePackValue) -> [ValueDifference] {
        var found: [ValueDifference] = []
        collect(one, other, path: [], limit: limit, into: &found)
        return found
    }

    private static func collect(
        _ one: MessagePackValue?, _ other: MessagePackValue?, path: [String], limit: Int, into found: inout [ValueDifference]
    ) {
        guard one != other, found.count < limit else { return }
        switch (one, other) {
        case (.map(let left), .map(let right)) where !left.isEmpty && !right.isEmpty:
            let values = Dictionary(right.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
            let known = Set(left.map(\.key))
            for pair in left { collect(pair.value, values[pair.key], path: path + [name(pair.key)], limit: limit, into: &found) }
            for pair in right where !known.contains(pair.key) {
                collect(nil, pair.value, path: path + [name(pair.key)], limit: limit, into: &found)
            }
        case (.array(let left), .array(let right)) where !left.isEmpty && !right.isEmpty:
            for index in 0..<max(left.count, right.count) {
                collect(
                    left.dropFirst(index).first, right.dropFirst(index).first, path: path + ["\(index)"], limit: limit, into: &found
                )
            }
        default: found.append(ValueDifference(path: path.joined(separator: "."), one: text(one), other: text(other)))
        }
    }

    private static func name(_ key: MessagePackValue) -> String {
        if case .string(let text) = key { text } else { JSONTranscoder.text(of: key) }
    }

    private static func text(_ value: MessagePackValue?) -> String {
        value.map { shortened(JSONTranscoder.text(of: $0), to: 200) } ?? "nothing"
    }
}
