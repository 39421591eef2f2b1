import Foundation
import MessagePack
import SamovarText
import SamovarWire

/// Turns in words, short enough for a list.
enum TurnText {
    /// Characters of a message in a row.
    static let previewLength = 200

    static func row(of record: Record) -> MessagePackValue {
        var row: MessagePackValue = [
            "turn": .int(Int64(record.turn)), "time": .string(instantText(of: record.time)), "kind": .string(record.kind),
            "name": .string(record.messageName), "origin": .string(record.originText), "root": .int(Int64(record.root)),
            "text": .string(preview(of: record.detail)),
        ]
        if let cause = record.causeTurn { row["cause"] = .int(Int64(cause)) }
        return row
    }

    static func holds(_ text: String, _ record: Record) -> Bool {
        JSONTranscoder.text(of: record.detail).range(of: text, options: .caseInsensitive) != nil
            || record.originText.range(of: text, options: .caseInsensitive) != nil
    }

    /// The beginning of a value as JSON would show it.
    static func preview(of value: MessagePackValue, _ length: Int = previewLength) -> String {
        var text = ""
        append(value, to: &text, length)
        return shortened(text, to: length)
    }

    /// Ends soon after the text is long enough, however large the value is.
    private static func append(_ value: MessagePackValue, to text: inout String, _ length: Int) {
        guard text.utf8.count <= 4 * length else { return }
        switch value {
        case .map(let pairs):
            text += "{"
            for (index, pair) in pairs.enumerated() {
                guard text.utf8.count <= 4 * length else { return }
                text += (index == 0 ? "" : ", ") + shortened(pair.key.plainText, to: length) + ": "
                append(pair.value, to: &text, length)
            }
            text += "}"
        case .array(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                guard text.utf8.count <= 4 * length else { return }
                if index > 0 { text += ", " }
                append(element, to: &text, length)
            }
            text += "]"
        default: text += short(value, length)
        }
    }

    private static func short(_ value: MessagePackValue, _ length: Int) -> String {
        switch value {
        case .string(let string) where string.utf8.count > 4 * length:
            JSONTranscoder.text(of: .string(String(decoding: string.utf8.prefix(4 * length), as: UTF8.self)))
        case .binary(let bytes) where bytes.count > length: "(\(bytes.count) bytes)"
        default: JSONTranscoder.text(of: value)
        }
    }
}
