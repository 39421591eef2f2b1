import MessagePack

/// The numbers of section 2 of `docs/protocol.md`, as somebody copies them who reads that page and nothing else.
enum Kind: UInt8 {
    case hello = 1, welcome, error, ping, pong, goodbye, drain
    case send = 16, receipt, settle, settled, waiting, viewRequest, view, tick, outputsRequest, outputs, viewsRequest, views
    case credit = 32, task, result, acknowledge, cancel, streamed, progress
    case request = 48, reply
}

/// The numbers of section 4.
enum Code: Int64 {
    case schema = 1, misuse, unknownPeer, sessionExpired, retryLater, resync, superseded, forbidden, keyRefused
}

typealias Value = MessagePackValue

/// A frame as bytes say it: a header of 32 bytes, and the values of the body.
struct RawFrame: Equatable, CustomStringConvertible {
    static let noTimeline = [UInt8](repeating: 0, count: 16)

    var kind: UInt8
    var flags: UInt8 = 0
    var number: Int64
    var timeline: [UInt8]
    var body: [Value]

    init(_ kind: Kind, _ number: Int64 = 0, _ body: Value..., timeline: [UInt8] = noTimeline) {
        self.kind = kind.rawValue
        self.number = number
        self.body = body
        self.timeline = timeline
    }

    /// The parts of a message.
    var parts: [[UInt8]] {
        let header =
            Array("SMV1".utf8) + [1, kind, 0, flags] + timeline
            + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        let body = packed(self.body)
        return body.isEmpty ? [header] : [header, body]
    }

    init(parts: [[UInt8]]) throws {
        guard parts.count == 1 || parts.count == 2, parts[0].count == 32, parts[0].starts(with: Array("SMV1".utf8) + [1]) else {
            throw Unexpected("no frame: \(parts)")
        }
        kind = parts[0][5]
        timeline = Array(parts[0][8..<24])
        number = parts[0][24...].reduce(0) { $0 << 8 | Int64($1) }
        body = []
        guard parts.count == 2 else { return }
        var reader = MessagePackReader(parts[1])
        while !reader.isAtEnd { body.append(try reader.readValue()) }
    }

    var description: String { "\(Kind(rawValue: kind).map { "\($0)" } ?? "kind \(kind)") \(number) \(body.map(\.text))" }
}

/// What a test did not expect.
struct Unexpected: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// The encodings of these values, one after the other.
func packed(_ values: [Value]) -> [UInt8] {
    var writer = MessagePackWriter()
    for value in values { value.write(to: &writer) }
    return writer.bytes
}

/// A value in MessagePack inside BINARY, as inputs, effects and messages travel.
func binary(_ value: Value) -> Value { .binary(packed([value])) }

extension Value {
    subscript(index: Int) -> Value? {
        guard case .array(let values) = self, values.indices.contains(index) else { return nil }
        return values[index]
    }

    var elements: [Value] {
        if case .array(let values) = self { values } else { [] }
    }

    var integer: Int64? {
        if case .int(let number) = self { number } else { nil }
    }

    var string: String? {
        if case .string(let text) = self { text } else { nil }
    }

    /// What BINARY has inside.
    var unpacked: Value? {
        get throws {
            guard case .binary(let bytes) = self else { return nil }
            var reader = MessagePackReader(bytes)
            return try reader.readValue()
        }
    }

    var text: String {
        switch self {
        case .nil: "nil"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .string(let value): "“\(value.prefix(200))”"
        case .array(let values): "[\(values.prefix(20).map(\.text).joined(separator: " "))]"
        case .binary(let bytes): "\(bytes.count) bytes"
        default: "\(self)"
        }
    }
}
