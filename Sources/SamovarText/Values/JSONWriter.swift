import MessagePack
import SamovarTerminal

/// Writes a value as JSON text; see ``JSONTranscoder`` for what becomes of the values that JSON does not have.
struct JSONWriter {
    let pretty: Bool
    private(set) var text = ""

    mutating func write(_ value: MessagePackValue, depth: Int = 0) {
        switch value {
        case .nil, .bool, .int, .uint: text += value.plainText
        case .float, .double: text += value.asDouble?.isFinite ?? false ? value.plainText : "null"
        case .string(let value): write(string: value)
        case .binary: write(string: value.plainText)
        case .extension(let type, let bytes):
            if let instant = instantText(type, bytes) {
                write(string: instant)
            } else {
                write(object: [("type", .int(Int64(type))), ("base64", .binary(bytes))], depth: depth)
            }
        case .array(let elements):
            write(elements, between: ("[", "]"), depth: depth) { writer, element in
                writer.write(element, depth: depth + 1)
            }
        case .map(let pairs): write(object: pairs.map { ($0.key.plainText, $0.value) }, depth: depth)
        }
    }

    private mutating func write(object members: [(key: String, value: MessagePackValue)], depth: Int) {
        write(members, between: ("{", "}"), depth: depth) { writer, member in
            writer.write(string: member.key)
            writer.text += writer.pretty ? ": " : ":"
            writer.write(member.value, depth: depth + 1)
        }
    }

    private mutating func write<Item>(
        _ items: [Item], between brackets: (open: String, close: String), depth: Int,
        each: (inout JSONWriter, Item) -> Void
    ) {
        // Only a value made by hand is deeper than a reader allows, and it must not cost the stack.
        guard depth < MessagePackLimits.largestDepth else {
            text += "null"
            return
        }
        text += brackets.open
        for (index, item) in items.enumerated() {
            if index > 0 { text += "," }
            breakLine(depth: depth + 1)
            each(&self, item)
        }
        if !items.isEmpty { breakLine(depth: depth) }
        text += brackets.close
    }

    private mutating func breakLine(depth: Int) {
        guard pretty else { return }
        text += "\n" + String(repeating: "  ", count: depth)
    }

    private mutating func write(string: String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where scalar.controlsTerminal:
                // All of them are in the basic plane, so each is one unit.
                for unit in String(scalar).utf16 { text += "\\u" + fourDigits(unit) }
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
