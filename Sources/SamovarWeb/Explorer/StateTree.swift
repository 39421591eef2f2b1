import MessagePack
import SamovarText

/// One level of a state: a part and its children, as a tree shows it that opens one part after the other. What is below the children is passed over, not
/// read.
enum StateTree {
    /// Children that are shown at once.
    static let children = 500
    /// Bytes of a value that is no list of others.
    static let valueBytes = 64 << 10
    /// Characters of a name, and of such a value in the list of its parent's children.
    private static let previewLength = 200

    /// - Parameters:
    ///   - path: of the part.
    ///   - from: the first child that is shown.
    /// - Throws: `MessagePackError` for bytes that are no value.
    static func level(of path: ValuePath, in state: [UInt8], from: Int) throws -> MessagePackValue {
        guard let part = try path.find(in: state) else {
            return ["path": .string("\(path)"), "problem": .string(try path.missing(in: state) ?? "there is no \(path)")]
        }
        var reader = MessagePackReader(part, limits: MessagePackLimits(maximumBytes: .max))
        var level: MessagePackValue = ["path": .string("\(path)")]
        let type = try reader.peekType()
        guard type == .map || type == .array else {
            level["kind"] = "value"
            // What is long is cut already, and says how long it was.
            level["value"] = PageValues.bounded(try leaf(&reader, valueBytes), text: .max)
            return level
        }
        let count = try type == .map ? reader.readMapHeader() : reader.readArrayHeader()
        var shown: [MessagePackValue] = []
        for index in 0..<(from < count ? min(count, from + children) : 0) {
            let key: MessagePackValue = try type == .map ? reader.readValue() : .int(Int64(index))
            if index < from {
                try reader.skip()
            } else {
                let step: ValuePath.Step = type == .map ? .init(to: key) : .index(index)
                shown.append(try child(key.plainText, path.appending(step), &reader))
            }
        }
        level["kind"] = type == .map ? "map" : "list"
        level["count"] = .int(Int64(count))
        level["children"] = .array(shown)
        return level
    }

    private static func child(_ name: String, _ path: ValuePath, _ reader: inout MessagePackReader) throws -> MessagePackValue {
        var child: MessagePackValue = ["name": .string(shortened(name, to: previewLength)), "path": .string("\(path)")]
        switch try reader.peekType() {
        case .map, .array:
            var ahead = reader
            let isMap = try ahead.peekType() == .map
            child["kind"] = isMap ? "map" : "list"
            child["count"] = .int(Int64(isMap ? try ahead.readMapHeader() : try ahead.readArrayHeader()))
            try reader.skip()
        default:
            child["kind"] = "value"
            child["value"] = .string(TurnText.preview(of: try leaf(&reader, 4 * previewLength), previewLength))
        }
        return child
    }

    /// A value that is no list of others. Of a long one only the beginning is read.
    private static func leaf(_ reader: inout MessagePackReader, _ maximum: Int) throws -> MessagePackValue {
        switch try reader.peekType() {
        case .string:
            let text = try reader.readStringSlice()
            let shown = String(decoding: text.prefix(maximum), as: UTF8.self)
            return .string(text.count > maximum ? shown + "… (\(text.count) bytes)" : shown)
        case .binary:
            let bytes = try reader.readBinarySlice()
            return bytes.count > maximum ? .string("(\(bytes.count) bytes)") : .binary(Array(bytes))
        default: return try reader.readValue()
        }
    }
}
