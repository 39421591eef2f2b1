package import MessagePack

/// Where a part of a state or a view is: `state.orders[3].name`, `state.counts["odd key"]`.
package struct ValuePath: Hashable, CustomStringConvertible {
    package enum Root: String, CaseIterable {
        case state, view
    }

    package enum Step: Hashable {
        /// Of a map; a key that is no string is named by its text.
        case key(String)
        /// Of a sequence, from 0.
        case index(Int)
    }

    /// More steps than values are deep.
    static let maximumSteps = MessagePackLimits.largestDepth

    package var root: Root
    package var steps: [Step] = []

    package init(root: Root, steps: [Step] = []) {
        (self.root, self.steps) = (root, steps)
    }

    package var description: String { steps.reduce(root.rawValue) { $0 + Self.text(of: $1) } }

    package func appending(_ step: Step) -> ValuePath { ValuePath(root: root, steps: steps + [step]) }

    private static func text(of step: Step) -> String {
        switch step {
        case .index(let index): "[\(index)]"
        case .key(let key):
            JSONTranscoder.isWord(key) ? ".\(key)" : "[\(JSONTranscoder.text(of: .string(key)))]"
        }
    }
}

extension ValuePath.Step {
    /// The step to a pair of a map.
    package init(to key: MessagePackValue) { self = .key(key.plainText) }

    /// Whether it leads to the pair with this key.
    func leads(to key: MessagePackValue) -> Bool {
        switch self {
        case .key(let name): key.plainText == name
        case .index(let index): key == .int(Int64(index))
        }
    }
}

// MARK: Finding

extension ValuePath {
    /// The bytes of the part, in those of the whole; nil if there is none.
    ///
    /// What is beside the path is passed over, not read.
    ///
    /// - Throws: `MessagePackError` for bytes that are no value.
    package func find(in bytes: [UInt8]) throws(MessagePackError) -> ArraySlice<UInt8>? {
        var reader = MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max))
        for step in steps { guard try Self.enter(step, &reader) else { return nil } }
        let start = reader.position
        try reader.skip()
        return bytes[start..<reader.position]
    }

    private static func enter(_ step: Step, _ reader: inout MessagePackReader) throws(MessagePackError) -> Bool {
        switch (try reader.peekType(), step) {
        case (.map, _):
            for _ in 0..<(try reader.readMapHeader()) {
                if try isNext(step, &reader) { return true }
                try reader.skip()
            }
            return false
        case (.array, .index(let index)):
            let count = try reader.readArrayHeader()
            guard (0..<count).contains(index) else { return false }
            for _ in 0..<index { try reader.skip() }
            return true
        default: return false
        }
    }

    /// Reads the next key.
    private static func isNext(_ step: Step, _ reader: inout MessagePackReader) throws(MessagePackError) -> Bool {
        if case .key(let name) = step, try reader.peekType() == .string { return try reader.readString() == name }
        return step.leads(to: try reader.readValue())
    }

    /// Why there is no such part, for a person: which step leads nowhere, and what there is instead. Nil if there is one.
    package func missing(in bytes: [UInt8]) throws(MessagePackError) -> String? {
        for count in steps.indices {
            let part = ValuePath(root: root, steps: Array(steps.prefix(count + 1)))
            guard try part.find(in: bytes) == nil else { continue }
            let whole = ValuePath(root: root, steps: Array(steps.prefix(count)))
            let there = EncodedPart(bytes: try whole.find(in: bytes) ?? [])
            return "there is no \(part): \(try Self.words(for: there, whole, steps[count]))"
        }
        return nil
    }

    /// Of a map with more keys, only so many are looked at.
    private static let maximumNames = 10_000

    private static func words(
        for part: EncodedPart, _ path: ValuePath, _ step: Step
    ) throws(MessagePackError) -> String {
        var reader = part.reader
        switch try reader.peekType() {
        case .map:
            let count = try reader.readMapHeader()
            guard count > 0 else { return "\(path) is empty" }
            var names: [String] = []
            for _ in 0..<min(count, maximumNames) {
                names.append(try reader.readValue().plainText)
                try reader.skip()
            }
            if case .key(let name) = step, let near = nearest(to: name, among: names) {
                return "did you mean \(path.appending(.key(near)))?"
            }
            let shown = names.prefix(20).map {
                shortened(JSONTranscoder.isWord($0) ? $0 : JSONTranscoder.text(of: .string($0)), to: 60)
            }.joined(separator: ", ")
            return "\(path) has \(shown)\(count > 20 ? ", …" : "")"
        case .array:
            let count = try reader.readArrayHeader()
            return "\(path) has \(counted(count, "element")), from 0"
        default: return "\(path) is \(shortened(part.shown(1_000).text, to: 100))"
        }
    }
}
