import Foundation
package import MessagePack

/// A value in MessagePack, as a part of the bytes of another one, which it shares. Equal are those with equal bytes: what a store encodes has one form
/// for each value, but for floats, of which −0.0 and 0.0 are two.
package struct EncodedPart: Hashable, Sendable {
    package let bytes: ArraySlice<UInt8>

    package init(bytes: ArraySlice<UInt8>) {
        self.bytes = bytes
    }

    /// At its beginning.
    package var reader: MessagePackReader { MessagePackReader(bytes, limits: MessagePackLimits(maximumBytes: .max)) }

    package static func == (one: EncodedPart, other: EncodedPart) -> Bool { one.order(to: other) == 0 }

    /// The order of canonical maps.
    package static func < (one: EncodedPart, other: EncodedPart) -> Bool { one.order(to: other) < 0 }

    private func order(to other: EncodedPart) -> Int {
        let shorter = min(bytes.count, other.bytes.count)
        let order = bytes.withUnsafeBytes { one in
            other.bytes.withUnsafeBytes { other in
                guard shorter > 0, let one = one.baseAddress, let other = other.baseAddress else { return 0 }
                return Int(memcmp(one, other, shorter))
            }
        }
        return order != 0 ? order : bytes.count - other.bytes.count
    }

    package func hash(into hasher: inout Hasher) {
        bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
    }
}

/// A pair of a map.
struct EncodedPair: Sendable {
    let key: EncodedPart
    let value: EncodedPart
}

extension MessagePackReader {
    /// One whole value, which is not decoded.
    mutating func readPart() throws(MessagePackError) -> EncodedPart { EncodedPart(bytes: try readRaw()) }

    mutating func readParts(_ count: Int) throws(MessagePackError) -> [EncodedPart] {
        var parts: [EncodedPart] = []
        for _ in 0..<count { parts.append(try readPart()) }
        return parts
    }

    mutating func readPairs(_ count: Int) throws(MessagePackError) -> [EncodedPair] {
        var pairs: [EncodedPair] = []
        for _ in 0..<count { pairs.append(EncodedPair(key: try readPart(), value: try readPart())) }
        return pairs
    }

    /// Nil if there is none.
    mutating func nextPair(_ isThere: Bool) throws(MessagePackError) -> EncodedPair? {
        isThere ? EncodedPair(key: try readPart(), value: try readPart()) : nil
    }

    /// Whether the keys of so many pairs that follow are in the order of their bytes, none twice. It stays where it is.
    func isSorted(_ count: Int) throws(MessagePackError) -> Bool {
        var (reader, former) = (self, EncodedPart?.none)
        for _ in 0..<count {
            let key = try reader.readPart()
            if let former, !(former < key) { return false }
            former = key
            try reader.skip()
        }
        return true
    }
}

// MARK: For people

extension EncodedPart {
    /// - Throws: `MessagePackError` for bytes that are no value.
    package func decoded() throws(MessagePackError) -> MessagePackValue { try MessagePackValue(encoded: bytes) }

    /// The value and its JSON. If that has more bytes than a maximum, no value, and the beginning of the text, which says so; the rest is not read.
    package func shown(_ maximum: Int) -> (value: MessagePackValue?, text: String) {
        var (reader, left) = (reader, maximum)
        let value = reader.readBeginning(&left)
        let text = JSONTranscoder.text(of: value)
        guard left < 0 || text.utf8.count > maximum else { return (value, text) }
        return (nil, String(decoding: text.utf8.prefix(maximum), as: UTF8.self) + "… (cut: it has \(bytes.count) bytes)")
    }
}

extension MessagePackReader {
    /// Reads a value, or only a beginning of it if that has more bytes than are left, which are less than none then. What cannot be read is nil.
    fileprivate mutating func readBeginning(_ left: inout Int) -> MessagePackValue {
        do throws(MessagePackError) {
            switch try peekType() {
            case .map:
                let count = try readMapHeader()
                return .map(readList(count, &left) { MessagePackPair($0.readBeginning(&$1), $0.readBeginning(&$1)) })
            case .array:
                let count = try readArrayHeader()
                return .array(readList(count, &left) { $0.readBeginning(&$1) })
            case .string: return .string(String(decoding: Self.taken(try readStringSlice(), &left), as: UTF8.self))
            case .binary: return .binary(Array(Self.taken(try readBinarySlice(), &left)))
            default:
                left -= 1
                return try readValue()
            }
        } catch {
            left = -1
            return .nil
        }
    }

    private mutating func readList<Element>(
        _ count: Int, _ left: inout Int, _ read: (inout MessagePackReader, inout Int) -> Element
    ) -> [Element] {
        var elements: [Element] = []
        left -= 1
        for _ in 0..<count {
            guard left >= 0 else { break }
            elements.append(read(&self, &left))
        }
        return elements
    }

    private static func taken(_ bytes: ArraySlice<UInt8>, _ left: inout Int) -> ArraySlice<UInt8> {
        defer { left -= bytes.count + 1 }
        return bytes.prefix(max(left, 0))
    }
}
