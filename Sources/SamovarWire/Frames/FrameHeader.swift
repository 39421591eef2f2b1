public import SamovarCore

/// What a frame is for. The raw values are the wire's; see `docs/protocol.md`.
public enum FrameKind: UInt8, Sendable, CaseIterable {
    case hello = 1
    case welcome = 2
    case error = 3
    case ping = 4
    case pong = 5
    case goodbye = 6
    case drain = 7

    case send = 16
    case receipt = 17
    case settle = 18
    case settled = 19
    case waiting = 20
    case viewRequest = 21
    case view = 22
    case tick = 23
    case outputsRequest = 24
    case outputs = 25
    case viewsRequest = 26
    case views = 27

    case credit = 32
    case task = 33
    case result = 34
    case acknowledge = 35
    case cancel = 36
    case streamed = 37
    case progress = 38

    case request = 48
    case reply = 49
}

/// The fixed part of every message: 32 bytes, big-endian.
///
/// | offset | size | field |
/// |---|---|---|
/// | 0 | 4 | magic, `SMV1` |
/// | 4 | 1 | wire version |
/// | 5 | 1 | kind |
/// | 6 | 2 | flags; a reader ignores bits that it does not know |
/// | 8 | 16 | timeline, zero before WELCOME |
/// | 24 | 8 | number, its meaning is the kind's |
public struct FrameHeader: Equatable, Sendable {
    public static let size = 32
    public static let magic: [UInt8] = [0x53, 0x4d, 0x56, 0x31]
    /// The version this build speaks.
    public static let wireVersion: UInt8 = 1

    public var kind: FrameKind
    /// The lowest flag, in HELLO: its sender takes a ``TurnProof`` at the end of the frames that may have one.
    public var takesProofs = false
    /// The second flag, in SEND: the session ends with the last input, if that is applied. In HELLO: such an input was sent before.
    public var endsSession = false
    public var timeline: Timeline
    public var number: Int

    public init(_ kind: FrameKind, timeline: Timeline, number: Int) {
        self.kind = kind
        self.timeline = timeline
        self.number = number
    }

    public var bytes: [UInt8] {
        var bytes = [UInt8]()
        bytes.reserveCapacity(Self.size)
        bytes += Self.magic
        bytes += [Self.wireVersion, kind.rawValue]
        bytes.append(bigEndian: UInt16(takesProofs ? 1 : 0) | (endsSession ? 2 : 0))
        bytes.append(bigEndian: timeline.high)
        bytes.append(bigEndian: timeline.low)
        bytes.append(bigEndian: UInt64(bitPattern: Int64(number)))
        return bytes
    }

    public init(_ bytes: [UInt8]) throws(WireError) {
        guard bytes.count == Self.size else { throw .malformed("a header has \(Self.size) bytes, not \(bytes.count)") }
        guard bytes.starts(with: Self.magic) else { throw .foreign }
        guard bytes[4] == Self.wireVersion else { throw .version(bytes[4]) }
        guard let kind = FrameKind(rawValue: bytes[5]) else { throw .malformed("unknown kind \(bytes[5])") }
        self.kind = kind
        takesProofs = bytes[7] & 1 != 0
        endsSession = bytes[7] & 2 != 0
        timeline = Timeline(high: bytes[8..<16].bigEndian, low: bytes[16..<24].bigEndian)
        number = Int(Int64(bitPattern: bytes[24...].bigEndian))
    }
}

/// Why a message from a peer could not be read. Such a message is counted and dropped.
public enum WireError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It does not begin with our magic: another protocol, or noise.
    case foreign
    /// It is of a wire version that this build does not speak.
    case version(UInt8)
    case malformed(String)

    public var description: String {
        switch self {
        case .foreign: "not a Samovar frame"
        case .version(let version): "wire version \(version); this build speaks \(FrameHeader.wireVersion)"
        case .malformed(let what): "malformed frame: \(what)".bounded()
        }
    }
}

extension [UInt8] {
    package mutating func append(bigEndian number: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
    }
}
