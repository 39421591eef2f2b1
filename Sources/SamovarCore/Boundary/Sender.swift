/// Who has sent an input over the network: the key with which it came.
///
/// ```swift
/// static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
///     guard case .close = input else { … }
///     guard turn.sender?.name == "back-office" else { throw .notYours }
///     return .closed
/// }
/// ```
///
/// The store has proven it: whoever connects must hold the secret of the key. It is in the journal with each input, so a replay has the
/// same. There is none for what comes over an `ipc` socket, where only the user of the store gets in.
public struct Sender: Hashable, Sendable, BitwiseCopyable {
    /// The name of the key, which stays the same when the key is renewed.
    public let name: KeyName
    /// Which key of that name it was.
    public let fingerprint: Fingerprint

    /// The key of this name and fingerprint.
    @inlinable
    public init(name: KeyName, fingerprint: Fingerprint) {
        self.name = name
        self.fingerprint = fingerprint
    }
}

/// What a key is called: 1 to 32 of the letters `A` to `Z` and `a` to `z`, digits, `.`, `_` and `-`, of which the first is a letter or a digit.
///
/// It is compared with a text as any other value is: `name == "back-office"`.
public struct KeyName: Hashable, Sendable, BitwiseCopyable {
    /// The most bytes of a name.
    public static let maximumBytes = 32

    // Its bytes, big-endian, filled up with zeros. In a text of its own they would be counted with each copy of a turn.
    private let first, second: UniqueID

    /// Nil if `text` is no name of a key.
    public init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard let initial = bytes.first, Self.isLetterOrDigit(initial), bytes.count <= Self.maximumBytes,
            bytes.allSatisfy({ Self.isLetterOrDigit($0) || ".-_".utf8.contains($0) })
        else { return nil }
        func word(_ index: Int) -> UInt64 {
            (0..<8).reduce(0) { word, place in
                let index = index * 8 + place
                return word << 8 | (index < bytes.count ? UInt64(bytes[index]) : 0)
            }
        }
        (first, second) = (UniqueID(high: word(0), low: word(1)), UniqueID(high: word(2), low: word(3)))
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    /// Whether the name is this text.
    public static func == (name: KeyName, text: String) -> Bool { name.description == text }

    /// Whether the name is another text.
    public static func != (name: KeyName, text: String) -> Bool { !(name == text) }
}

/// Whether there is a name, and it is this text.
public func == (name: KeyName?, text: String) -> Bool { name?.description == text }

/// Whether there is no name, or it is another text.
public func != (name: KeyName?, text: String) -> Bool { !(name == text) }

extension KeyName: Comparable, CustomStringConvertible {
    /// By their bytes.
    public static func < (a: KeyName, b: KeyName) -> Bool { (a.first, a.second) < (b.first, b.second) }

    /// The name.
    public var description: String {
        let words = (first.high.bigEndian, first.low.bigEndian, second.high.bigEndian, second.low.bigEndian)
        return withUnsafeBytes(of: words) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

/// A short name for a public key that no other key has: the first half of its SHA-256.
public struct Fingerprint: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    @usableFromInline let bits: UniqueID

    /// How many bytes it has.
    public static let byteCount = 16

    /// The fingerprint of these bits, the first eight bytes first.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        bits = UniqueID(high: high, low: low)
    }

    /// Reads 32 hexadecimal digits; nil if `text` is anything else.
    public init?(_ text: String) {
        guard text.utf8.count == 2 * Self.byteCount, let bits = UniqueID(text) else { return nil }
        self.bits = bits
    }

    /// The fingerprint of these bytes; nil if they are not 16.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        bits = UniqueID(high: bytes[..<8].bigEndian, low: bytes[8...].bigEndian)
    }

    /// Its 16 bytes.
    public var bytes: [UInt8] {
        [bits.high, bits.low].flatMap { word in withUnsafeBytes(of: word.bigEndian) { Array($0) } }
    }

    /// By their bits, the first ones first.
    public static func < (a: Fingerprint, b: Fingerprint) -> Bool { a.bits < b.bits }

    /// 32 hexadecimal digits in small letters.
    public var description: String { hexadecimal(bits.high) + hexadecimal(bits.low) }
}
