package import MessagePack

/// What differs between two values: the smallest parts that do, in the order of the later value.
package struct ValueChanges: Equatable {
    /// One part. An element of a sequence that was removed has its place in the former value, any other that in the later one.
    package struct Change: Equatable {
        package let path: ValuePath
        /// Nil where there is nothing.
        package let before: MessagePackValue?
        package let after: MessagePackValue?
    }

    /// Parts that are shown.
    static let maximumParts = 1_000
    /// Bytes of a value that are shown.
    static let maximumBytes = 64 << 10

    package private(set) var changes: [Change] = []
    /// Whether there are more.
    package private(set) var isCut = false

    package init(from before: MessagePackValue?, to after: MessagePackValue?, at path: ValuePath) {
        collect(before, after, path)
    }

    private mutating func collect(_ before: MessagePackValue?, _ after: MessagePackValue?, _ path: ValuePath) {
        guard !isCut, before != after else { return }
        switch (before, after) {
        case (.map(let old), .map(let new)) where !old.isEmpty && !new.isEmpty: collect(old, new, path)
        case (.array(let old), .array(let new)) where !old.isEmpty && !new.isEmpty:
            for pair in Alignment.pairs(of: old, and: new) {
                switch pair {
                case .both(let i, let j): collect(old[i], new[j], path.appending(.index(j)))
                case .removed(let i): note(old[i], nil, path.appending(.index(i)))
                case .inserted(let j): note(nil, new[j], path.appending(.index(j)))
                }
            }
        // Of the numbers, these alone are not equal to themselves.
        case (.double(let old), .double(let new)) where old.isNaN && new.isNaN: return
        case (.float(let old), .float(let new)) where old.isNaN && new.isNaN: return
        default: note(before, after, path)
        }
    }

    private mutating func collect(_ old: [MessagePackPair], _ new: [MessagePackPair], _ path: ValuePath) {
        let former = Dictionary(old.map { ($0.key, $0.value) }, uniquingKeysWith: { first, _ in first })
        let later = Set(new.map(\.key))
        for pair in old where !later.contains(pair.key) { note(pair.value, nil, path.appending(.init(to: pair.key))) }
        for pair in new { collect(former[pair.key], pair.value, path.appending(.init(to: pair.key))) }
    }

    private mutating func note(_ before: MessagePackValue?, _ after: MessagePackValue?, _ path: ValuePath) {
        guard changes.count < Self.maximumParts else { return isCut = true }
        changes.append(Change(path: path, before: before, after: after))
    }
}

// MARK: For people and for programs

extension ValueChanges {
    /// One line for each part: `state.sync: 1 → 2`.
    var lines: [String] {
        let lines = changes.map { "\($0.path): \(Self.text(of: $0.before)) → \(Self.text(of: $0.after))" }
        return isCut ? lines + ["… and more: only the first \(Self.maximumParts) parts are shown"] : lines
    }

    package var value: MessagePackValue {
        .array(
            changes.map { change in
                var value: MessagePackValue = ["path": .string("\(change.path)")]
                for (name, part) in [("before", change.before), ("after", change.after)] {
                    guard let part else { continue }
                    // What is cut is a text, and says so.
                    let text = JSONTranscoder.text(of: part)
                    let isCut = text.utf8.count > Self.maximumBytes
                    value[name] = isCut ? .string(Self.text(of: part)) : part
                    if isCut { value["isCut"] = true }
                }
                return value
            })
    }

    /// A value as JSON; what there is not, as “nothing”.
    static func text(of value: MessagePackValue?) -> String {
        guard let value else { return "nothing" }
        let text = JSONTranscoder.text(of: value)
        guard text.utf8.count > maximumBytes else { return escapeForTerminal(text) }
        let part = String(decoding: text.utf8.prefix(maximumBytes), as: UTF8.self)
        return "\(escapeForTerminal(part))… (cut: it has \(text.utf8.count) bytes)"
    }
}
