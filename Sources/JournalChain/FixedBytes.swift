package import SamovarCore

/// Fields of fixed width, big-endian, as the files beside the database have them.
extension FixedWidthInteger {
    package var bytes: [UInt8] { withUnsafeBytes(of: bigEndian) { Array($0) } }
}

extension UniqueID {
    package var bytes: [UInt8] { high.bytes + low.bytes }
    /// 32 hexadecimal digits.
    package var text: String { description.filter { $0 != "-" } }

    /// Nil unless there are 16 bytes.
    package init?(bytes: [UInt8]) {
        var reader = FixedReader(bytes)
        guard bytes.count == 16, let id = reader.id() else { return nil }
        self = id
    }
}

/// Reads such fields from the front; nil once there are too few bytes.
package struct FixedReader {
    private var rest: ArraySlice<UInt8>

    package init(_ bytes: [UInt8]) {
        rest = bytes[...]
    }

    package mutating func bytes(_ count: Int) -> [UInt8]? {
        guard rest.count >= count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    package mutating func word() -> UInt64? {
        bytes(8)?.reduce(0) { $0 << 8 | UInt64($1) }
    }

    package mutating func number() -> Int? {
        word().map { Int(Int64(bitPattern: $0)) }
    }

    package mutating func id() -> UniqueID? {
        guard let high = word(), let low = word() else { return nil }
        return UniqueID(high: high, low: low)
    }
}
