/// A value as a person would write it in Swift, on one line and of limited length.
struct ValueText {
    private static let depth = 8
    private static let limit = 200

    private(set) var text = ""

    static func of(_ value: Any) -> String {
        var writer = ValueText()
        writer.write(value, depth: 0)
        return writer.text.count <= limit ? writer.text : "\(writer.text.prefix(limit))…"
    }

    private mutating func write(_ value: Any, depth: Int) {
        guard text.count <= Self.limit else { return }
        guard depth < Self.depth else { return text.append("…") }
        if let string = value as? String { return text.append(string.debugDescription) }
        let mirror = Mirror(reflecting: value)
        switch mirror.displayStyle {
        case .optional:
            guard let child = mirror.children.first else { return text.append("nil") }
            // A nil in an optional is another value than no value.
            guard holdsNil(child.value) else { return write(child.value, depth: depth) }
            text.append(".some(")
            write(child.value, depth: depth + 1)
            text.append(")")
        case .enum: writeCase(value, mirror, depth)
        case .tuple: write(mirror.children, "(", ")", depth)
        case .collection: write(mirror.children, "[", "]", depth)
        case .set:
            // In the order of their texts, as a set has none.
            text.append("[\(mirror.children.map { Self.of($0.value) }.sorted().joined(separator: ", "))]")
        case .dictionary: writePairs(mirror, depth)
        case .struct where !(value is any CustomStringConvertible), .class where !(value is any CustomStringConvertible):
            write(mirror.children, "\(type(of: value))(", ")", depth)
        default: text.append(String(describing: value))
        }
    }

    private mutating func writeCase(_ value: Any, _ mirror: Mirror, _ depth: Int) {
        guard let child = mirror.children.first, let name = child.label else {
            return text.append(caseName(of: value).map { ".\($0)" } ?? String(describing: value))
        }
        text.append(".\(name)")
        let payload = Mirror(reflecting: child.value)
        if payload.displayStyle == .tuple {
            write(payload.children, "(", ")", depth)
        } else {
            text.append("(")
            write(child.value, depth: depth + 1)
            text.append(")")
        }
    }

    private mutating func write(_ children: Mirror.Children, _ open: String, _ close: String, _ depth: Int) {
        text.append(open)
        for (index, child) in children.enumerated() {
            guard text.count <= Self.limit else { return }
            if index > 0 { text.append(", ") }
            // Unlabelled parts of a tuple are called “.0”.
            if let label = child.label, !label.hasPrefix(".") { text.append("\(label): ") }
            write(child.value, depth: depth + 1)
        }
        text.append(close)
    }

    private mutating func writePairs(_ mirror: Mirror, _ depth: Int) {
        let pairs = mirror.children.map { pair -> String in
            let parts = Array(Mirror(reflecting: pair.value).children)
            guard parts.count == 2 else { return Self.of(pair.value) }
            return "\(Self.of(parts[0].value)): \(Self.of(parts[1].value))"
        }
        text.append(pairs.isEmpty ? "[:]" : "[\(pairs.sorted().joined(separator: ", "))]")
    }
}

/// Whether a value is an optional without a value, or one of such optionals.
private func holdsNil(_ value: Any) -> Bool {
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return false }
    return mirror.children.first.map { holdsNil($0.value) } ?? true
}

/// The name of an enum's case; nil if it cannot be found out, since the enum describes itself in other words.
func caseName(of value: Any) -> String? {
    if let label = Mirror(reflecting: value).children.first?.label { return label }
    guard !(value is any CustomStringConvertible), !(value is any CustomDebugStringConvertible) else { return nil }
    return "\(value)"
}
