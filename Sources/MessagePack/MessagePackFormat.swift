/// The format bytes of the MessagePack specification.
@usableFromInline
enum Format {
    @usableFromInline static let fixMap: UInt8 = 0x80
    @usableFromInline static let fixArray: UInt8 = 0x90
    @usableFromInline static let fixString: UInt8 = 0xa0
    @usableFromInline static let `nil`: UInt8 = 0xc0
    @usableFromInline static let neverUsed: UInt8 = 0xc1
    @usableFromInline static let `false`: UInt8 = 0xc2
    @usableFromInline static let `true`: UInt8 = 0xc3
    @usableFromInline static let binary8: UInt8 = 0xc4
    @usableFromInline static let binary16: UInt8 = 0xc5
    @usableFromInline static let binary32: UInt8 = 0xc6
    @usableFromInline static let extension8: UInt8 = 0xc7
    @usableFromInline static let extension16: UInt8 = 0xc8
    @usableFromInline static let extension32: UInt8 = 0xc9
    @usableFromInline static let float32: UInt8 = 0xca
    @usableFromInline static let float64: UInt8 = 0xcb
    @usableFromInline static let uint8: UInt8 = 0xcc
    @usableFromInline static let uint16: UInt8 = 0xcd
    @usableFromInline static let uint32: UInt8 = 0xce
    @usableFromInline static let uint64: UInt8 = 0xcf
    @usableFromInline static let int8: UInt8 = 0xd0
    @usableFromInline static let int16: UInt8 = 0xd1
    @usableFromInline static let int32: UInt8 = 0xd2
    @usableFromInline static let int64: UInt8 = 0xd3
    @usableFromInline static let fixExtension1: UInt8 = 0xd4
    @usableFromInline static let fixExtension2: UInt8 = 0xd5
    @usableFromInline static let fixExtension4: UInt8 = 0xd6
    @usableFromInline static let fixExtension8: UInt8 = 0xd7
    @usableFromInline static let fixExtension16: UInt8 = 0xd8
    @usableFromInline static let string8: UInt8 = 0xd9
    @usableFromInline static let string16: UInt8 = 0xda
    @usableFromInline static let string32: UInt8 = 0xdb
    @usableFromInline static let array16: UInt8 = 0xdc
    @usableFromInline static let array32: UInt8 = 0xdd
    @usableFromInline static let map16: UInt8 = 0xde
    @usableFromInline static let map32: UInt8 = 0xdf
    @usableFromInline static let negativeFixInt: UInt8 = 0xe0

    /// The extension type the specification reserves for points in time.
    @usableFromInline static let timestamp: Int8 = -1
}

/// The type of a value, as its first byte tells it.
public enum MessagePackType: Hashable, Sendable {
    case `nil`, bool, integer, float, string, binary, array, map, `extension`

    /// The type a value with this first byte has, or `nil` for `0xc1`, which the specification never uses.
    @inlinable
    public init?(firstByte: UInt8) {
        switch firstByte {
        case 0x00...0x7f, Format.uint8...Format.int64, Format.negativeFixInt...: self = .integer
        case Format.fixMap..<Format.fixArray, Format.map16, Format.map32: self = .map
        case Format.fixArray..<Format.fixString, Format.array16, Format.array32: self = .array
        case Format.fixString..<Format.nil, Format.string8...Format.string32: self = .string
        case Format.nil: self = .nil
        case Format.false, Format.true: self = .bool
        case Format.binary8...Format.binary32: self = .binary
        case Format.float32, Format.float64: self = .float
        case Format.extension8...Format.extension32, Format.fixExtension1...Format.fixExtension16: self = .extension
        default: return nil
        }
    }
}

extension MessagePackType: CustomStringConvertible {
    /// The type with its article: `an integer`, `a map`.
    public var description: String {
        switch self {
        case .nil: "nil"
        case .bool: "a boolean"
        case .integer: "an integer"
        case .float: "a float"
        case .string: "a string"
        case .binary: "binary data"
        case .array: "an array"
        case .map: "a map"
        case .extension: "an extension"
        }
    }
}
