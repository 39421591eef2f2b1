package import MessagePack
package import SamovarCore

/// An input with places for a typed value, found by comparing the two inputs of a field.
package struct FieldTemplate {
    private let field: PanelField<MessagePackValue>
    private let examples: (first: MessagePackValue, second: MessagePackValue)

    /// Nil if the two inputs differ by anything but the known values, or do not differ.
    package init?(_ field: PanelField<MessagePackValue>) {
        self.field = field
        examples =
            switch field.kind {
            case .text: (.string(PanelExample.text.0), .string(PanelExample.text.1))
            case .integer: (.int(Int64(PanelExample.integer.0)), .int(Int64(PanelExample.integer.1)))
            case .number: (.double(PanelExample.number.0), .double(PanelExample.number.1))
            }
        guard field.first != field.second, merged(field.first, field.second, with: .nil) != nil else { return nil }
    }

    /// The input for what was typed; nil for a text that is no number where one is wanted.
    package func filled(with text: String) -> MessagePackValue? {
        let value: MessagePackValue
        switch field.kind {
        case .text: value = .string(text)
        case .integer:
            guard let number = Int64(Self.trimmed(text)) else { return nil }
            value = .int(number)
        case .number:
            guard let number = Double(Self.trimmed(text)), number.isFinite else { return nil }
            value = .double(number)
        }
        // Looked at when this was made: the inputs can be merged.
        return merged(field.first, field.second, with: value)
    }

    /// The first input with `value` wherever the two differ; nil if they differ elsewhere.
    private func merged(_ a: MessagePackValue, _ b: MessagePackValue, with value: MessagePackValue) -> MessagePackValue? {
        if a == b { return a }
        if a == examples.first, b == examples.second { return value }
        switch (a, b) {
        case (.array(let a), .array(let b)) where a.count == b.count:
            var merged: [MessagePackValue] = []
            for (a, b) in zip(a, b) {
                guard let element = self.merged(a, b, with: value) else { return nil }
                merged.append(element)
            }
            return .array(merged)
        case (.map(let a), .map(let b)) where a.count == b.count:
            var merged: [MessagePackPair] = []
            for (a, b) in zip(a, b) {
                // A place for a key is none: what is typed would decide of what kind the input is.
                guard a.key == b.key, let element = self.merged(a.value, b.value, with: value) else { return nil }
                merged.append(MessagePackPair(a.key, element))
            }
            return .map(merged)
        default: return nil
        }
    }

    private static func trimmed(_ text: String) -> String {
        var text = text[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}
