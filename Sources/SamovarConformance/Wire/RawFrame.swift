public import MessagePack

/// The numbers of section 2 of `docs/protocol.md`. The kit knows that page alone, and nothing of our frames: what both had wrong alike,
/// it could not find.
enum Kind: UInt8, Sendable {
    case hello = 1, welcome, error, ping, pong, goodbye, drain
    case send = 16, receipt, settle, settled, waiting, viewRequest, view, tick, outputsRequest, outputs, viewsRequest, views
    case credit = 32, task, result, acknowledge, cancel, streamed, progress
    case request = 48, reply

    /// As the page writes it.
    var name: String {
        switch self {
        case .viewRequest: "VIEW_REQUEST"
        case .outputsRequest: "OUTPUTS_REQUEST"
        case .viewsRequest: "VIEWS_REQUEST"
        default: "\(self)".uppercased()
        }
    }
}

/// The numbers of section 4.
enum Code: Int64, Sendable {
    case schema = 1, misuse, unknownPeer, sessionExpired, retryLater, resync, superseded, forbidden, keyRefused
}

/// As it is read and written without a type.
public typealias Value = MessagePackValue

/// A frame as its bytes say it: a header, and the values of the body.
struct RawFrame: Equatable, Sendable {
    static let noTimeline = [UInt8](repeating: 0, count: 16)
    private static let start = Array("SMV1".utf8) + [1]

    var kind: UInt8
    var flags: UInt16 = 0
    var timeline: [UInt8]
    var number: Int64
    var body: [Value]

    init(_ kind: Kind, _ number: Int64 = 0, flags: UInt16 = 0, timeline: [UInt8], _ body: [Value] = []) {
        self.kind = kind.rawValue
        self.flags = flags
        self.timeline = timeline
        self.number = number
        self.body = body
    }

    /// The parts of a message.
    var parts: [[UInt8]] {
        let header =
            Self.start + [kind, UInt8(flags >> 8), UInt8(flags & 0xff)] + timeline
            + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        let bytes = packed(body)
        return bytes.isEmpty ? [header] : [header, bytes]
    }

    /// - Throws: `Malformed`, with the reason.
    init(parts: [[UInt8]]) throws(Malformed) {
        guard parts.count == 1 || parts.count == 2 else { throw Malformed("a message of \(parts.count) parts") }
        let header = parts[0]
        guard header.count == 32 else { throw Malformed("a header of \(header.count) bytes") }
        guard header.starts(with: Self.start) else { throw Malformed("a header of another magic or version") }
        kind = header[5]
        flags = UInt16(header[6]) << 8 | UInt16(header[7])
        timeline = Array(header[8..<24])
        number = header[24...].reduce(0) { $0 << 8 | Int64($1) }
        body = []
        guard parts.count == 2 else { return }
        guard !parts[1].isEmpty else { throw Malformed("a body of no bytes, which is none") }
        var reader = MessagePackReader(parts[1], limits: MessagePackLimits(maximumBytes: 64 << 20))
        do {
            while !reader.isAtEnd { body.append(try reader.readValue()) }
        } catch {
            throw Malformed("a body that is no MessagePack: \(error)")
        }
    }

    var known: Kind? { Kind(rawValue: kind) }
    func `is`(_ kind: Kind) -> Bool { self.kind == kind.rawValue }

    /// For a report.
    var text: String {
        let name = known?.name ?? "a frame of kind \(kind)"
        return ([name, "\(number)"] + (flags == 0 ? [] : ["flags \(flags)"]) + body.map(\.text)).joined(separator: " ")
    }
}

/// Why a message is no frame.
struct Malformed: Error, Equatable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
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

    /// What BINARY has inside, if that is one value.
    var unpacked: Value? {
        guard case .binary(let bytes) = self else { return nil }
        var reader = MessagePackReader(bytes)
        guard let value = try? reader.readValue(), reader.isAtEnd else { return nil }  // What cannot be read is none.
        return value
    }

    /// Short, for a report.
    var text: String {
        switch self {
        case .nil: "nil"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .uint(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): "“\(value.prefix(80))”"
        case .binary(let bytes): "<\(bytes.count <= 16 ? hexadecimal(bytes) : "\(bytes.count) bytes")>"
        case .array(let values): "[\(values.prefix(12).map(\.text).joined(separator: " "))\(values.count > 12 ? " …" : "")]"
        case .map(let pairs): "{\(pairs.prefix(12).map { "\($0.key.text): \($0.value.text)" }.joined(separator: ", "))}"
        case .extension(let type, _): "<extension \(type)>"
        }
    }
}

func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
