/// The decoder of one value that is made up: it notes what the value asks for.
final class ShapeDecoder: Decoder {
    let session: ShapeSession
    /// The case that an enum shall be.
    let chosen: String?
    /// The raw value that an enum shall have.
    let raw: String?
    var fields: [String: Shape.Place] = [:]
    /// What was asked for by a key.
    var requests: [ShapeSession.Request] = []
    /// What the value is if it is nothing more.
    var single: Shape.Place?
    /// A part of it could not be made.
    private(set) var hasFailed = false
    private(set) var asksForText = false
    /// The keys of the first container, if they can be told: for an enum its cases.
    var caseNames: [String]?

    init(_ session: ShapeSession, chosen: String? = nil, raw: String? = nil) {
        self.session = session
        self.chosen = chosen
        self.raw = raw
    }

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
        if caseNames == nil { caseNames = allowedNames(of: type) }
        let keys = chosen.flatMap { Key(stringValue: $0) }.map { [$0] } ?? []
        return KeyedDecodingContainer(ShapeFields<Key>(decoder: self, allKeys: keys))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        single = "[Value]"
        return ShapeElements(decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { ShapeSingle(decoder: self) }

    fileprivate func made<T: Decodable>(_ type: T.Type, note: (String) -> Void) throws -> T {
        do {
            let made = try session.make(type)
            note(made.place)
            if type == String.self { asksForText = true }
            return made.value
        } catch {
            hasFailed = true
            note(session.place(of: type))
            throw error
        }
    }
}

/// The fields of a value, or the cases of an enum.
private struct ShapeFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: ShapeDecoder
    let allKeys: [Key]

    var codingPath: [any CodingKey] { [] }

    func contains(_ key: Key) -> Bool { true }

    /// Whoever asks takes nil, too. What else it takes, it says next.
    func decodeNil(forKey key: Key) -> Bool {
        decoder.fields[key.stringValue] = "Value?"
        return false
    }

    func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
        let suffix = decoder.fields[key.stringValue] == "Value?" ? "?" : ""
        decoder.requests.append((key.stringValue, type))
        return try decoder.made(type) { decoder.fields[key.stringValue] = $0 + suffix }
    }

    func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) -> T? {
        decoder.fields[key.stringValue] = decoder.session.place(of: type) + "?"
        decoder.requests.append((key.stringValue, type))
        return nil
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested> {
        // Of an enum these are the values of the case; any other nesting is told as one map.
        KeyedDecodingContainer(ShapeFields<Nested>(decoder: decoder, allKeys: []))
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
        decoder.fields[key.stringValue] = "[Value]"
        return ShapeElements(decoder: decoder)
    }

    func superDecoder() -> any Decoder { ShapeDecoder(decoder.session) }
    func superDecoder(forKey key: Key) -> any Decoder { ShapeDecoder(decoder.session) }
}

/// A list by hand: it is empty.
private struct ShapeElements: UnkeyedDecodingContainer {
    let decoder: ShapeDecoder
    var codingPath: [any CodingKey] { [] }
    var count: Int? { 0 }
    var isAtEnd: Bool { true }
    var currentIndex: Int { 0 }

    func decodeNil() -> Bool { true }
    func decode<T: Decodable>(_ type: T.Type) throws -> T { try decoder.session.make(type).value }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        KeyedDecodingContainer(ShapeFields<Nested>(decoder: ShapeDecoder(decoder.session), allKeys: []))
    }

    func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { self }
    func superDecoder() -> any Decoder { ShapeDecoder(decoder.session) }
}

/// A value that is one other value.
private struct ShapeSingle: SingleValueDecodingContainer {
    let decoder: ShapeDecoder
    var codingPath: [any CodingKey] { [] }

    func decodeNil() -> Bool {
        decoder.single = decoder.single ?? "Value?"
        return false
    }

    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        if let raw = decoder.raw {
            if let value = raw as? T { return value }
            if let type = type as? any LosslessStringConvertible.Type, let value = type.init(raw) as? T { return value }
        }
        return try decoder.made(type) { decoder.single = $0 }
    }
}
