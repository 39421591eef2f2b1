/// A 128-bit identity, written like a UUID: `6f1c0d52-8f5e-4b0e-9a57-0c1d2e3f4a5b`.
///
/// The core never draws one by itself: hosts bring them from the system's randomness, and programs from `Turn.uuid(_:)`.
public struct UniqueID: Hashable, Comparable, Sendable, BitwiseCopyable {
    /// The first eight bytes.
    public let high: UInt64
    /// The last eight bytes.
    public let low: UInt64

    /// The identity of these bits.
    @inlinable
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// All bits zero: “none yet”, as in a frame that is sent before the timeline is known.
    public static let zero = UniqueID(high: 0, low: 0)

    /// Reads the 32 hexadecimal digits of the description, with or without hyphens; nil if `text` is anything else.
    public init?(_ text: String) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var count = 0
        for character in text where character != "-" {
            guard count < 32, let digit = character.hexDigitValue else { return nil }
            high = high << 4 | low >> 60
            low = low << 4 | UInt64(digit)
            count += 1
        }
        guard count == 32 else { return nil }
        self.init(high: high, low: low)
    }

    /// By its bits, the first ones first.
    public static func < (a: UniqueID, b: UniqueID) -> Bool { (a.high, a.low) < (b.high, b.low) }
}

extension UniqueID: CustomStringConvertible {
    /// In the form of a UUID, in small letters.
    public var description: String {
        let digits = hexadecimal(high) + hexadecimal(low)
        var text = ""
        for (index, digit) in digits.enumerated() {
            if [8, 12, 16, 20].contains(index) { text.append("-") }
            text.append(digit)
        }
        return text
    }
}

/// All 16 digits of a number.
package func hexadecimal(_ word: UInt64) -> String {
    let digits = String(word, radix: 16)
    return String(repeating: "0", count: 16 - digits.count) + digits
}

extension ArraySlice<UInt8> {
    /// The number that these bytes are, at most eight, with the highest first.
    @inlinable package var bigEndian: UInt64 { reduce(0) { $0 << 8 | UInt64($1) } }
}

extension UniqueID: Codable {
    /// Reads it as text.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = UniqueID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an identity of 32 hexadecimal digits")
        }
        self = id
    }

    /// Writes it as text.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// The random identity of one journal. A restored backup, `--fresh` and an import have another one, so that no peer mistakes
/// their turns for those it knew.
public typealias Timeline = UniqueID
/// The identity of a client's session, drawn by the client.
public typealias SessionID = UniqueID
/// The identity of a worker process, drawn by the worker (or by the supervisor that starts it).
public typealias WorkerID = UniqueID
