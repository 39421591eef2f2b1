/// Any MessagePack value, for code which does not know the type of what it reads.
///
/// Integers are `int` whenever they fit, so that equal numbers are equal values. The pairs of a map keep their order, which
/// counts for equality, and a key may occur twice: this is what the bytes say, no more.
public indirect enum MessagePackValue: Hashable, Sendable {
    case `nil`
    case bool(Bool)
    case int(Int64)
    /// Only for numbers greater than `Int64.max`.
    case uint(UInt64)
    case float(Float)
    case double(Double)
    case string(String)
    case binary([UInt8])
    case array([MessagePackValue])
    case map([MessagePackPair])
    case `extension`(type: Int8, bytes: [UInt8])

    /// The value of the first pair with this key, if this is a map which has it.
    ///
    /// A value that is set takes the place of the one that is there, or comes last; nil removes the key. What is no map stays as it is.
    public subscript(key: String) -> MessagePackValue? {
        get {
            guard case .map(let pairs) = self else { return nil }
            return pairs.first { $0.key == .string(key) }?.value
        }
        set {
            guard case .map(var pairs) = self else { return }
            let index = pairs.firstIndex { $0.key == .string(key) }
            switch (index, newValue) {
            case (let index?, let value?): pairs[index].value = value
            case (let index?, nil): pairs.remove(at: index)
            case (nil, let value?): pairs.append(MessagePackPair(.string(key), value))
            case (nil, nil): return
            }
            self = .map(pairs)
        }
    }

    /// This map with a value under a key, whatever was there; what is no map as it is.
    ///
    /// ```swift
    /// Migration(from: 1, state: { state in state.setting("limit", to: 10) })
    /// ```
    public func setting(_ key: String, to value: MessagePackValue) -> MessagePackValue {
        var copy = self
        copy[key] = value
        return copy
    }
}

/// A key and its value in a ``MessagePackValue/map(_:)``.
public struct MessagePackPair: Hashable, Sendable {
    /// Any value; mostly a string.
    public var key: MessagePackValue
    /// What belongs to the key.
    public var value: MessagePackValue

    /// A pair of a key and a value.
    public init(_ key: MessagePackValue, _ value: MessagePackValue) {
        self.key = key
        self.value = value
    }
}

extension MessagePackValue: MessagePackable {
    /// Writes the value as it is: pairs in their order, integers in their shortest form.
    public func write(to writer: inout MessagePackWriter) {
        switch self {
        case .nil: writer.writeNil()
        case .bool(let value): writer.write(value)
        case .int(let value): writer.write(value)
        case .uint(let value): writer.write(value)
        case .float(let value): writer.write(value)
        case .double(let value): writer.write(value)
        case .string(let value): writer.write(value)
        case .binary(let value): writer.writeBinary(value)
        case .array(let elements):
            writer.writeArrayHeader(elements.count)
            for element in elements { element.write(to: &writer) }
        case .map(let pairs):
            writer.writeMapHeader(pairs.count)
            for pair in pairs {
                pair.key.write(to: &writer)
                pair.value.write(to: &writer)
            }
        case .extension(let type, let bytes): writer.writeExtension(type: type, bytes)
        }
    }

    /// Reads one value of any type.
    ///
    /// - Throws: ``MessagePackError``.
    public init(from reader: inout MessagePackReader) throws(MessagePackError) {
        self = try reader.readValue()
    }
}

extension MessagePackValue: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// Nil.
    public init(nilLiteral: ()) { self = .nil }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A float of 64 bits.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An array.
    public init(arrayLiteral elements: MessagePackValue...) { self = .array(elements) }
    /// A map, with its pairs in this order.
    public init(dictionaryLiteral pairs: (MessagePackValue, MessagePackValue)...) {
        self = .map(pairs.map { MessagePackPair($0.0, $0.1) })
    }
}

extension MessagePackValue {
    /// A number of any kind; beyond 53 bits the nearest that there is. Nil for what is none.
    package var asDouble: Double? {
        switch self {
        case .int(let number): Double(number)
        case .uint(let number): Double(number)
        case .float(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }
}
