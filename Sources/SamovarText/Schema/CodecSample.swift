import MessagePack

/// Values of a type that a coding other than the compiler's would probably refuse or change.
struct CodecSample {
    let session: ShapeSession

    /// Why a type does not seem to be encoded as its raw value, for which there is code, whatever that is.
    func objection(toRawValueOf name: String) -> String? {
        guard isRawValue(name) else { return "it encodes itself as another value" }
        guard let type = session.swiftTypes[name] as? any Codable.Type else { return "it is not encoded as it is decoded" }
        let values: [MessagePackValue] =
            switch session.types[name] {
            case .names(let names): names.map(Self.rawValue)
            case .alias(let place): (0..<Self.rounds).map { value(place, $0) }
            case .fields, .cases, .unknown, nil: []
            }
        return values.first { isChanged($0, type) }.map { Self.ownCoding($0) }
    }

    private static func ownCoding(_ value: MessagePackValue) -> String {
        "it does not take \(JSONTranscoder.text(of: value)) as it is, so it has a coding of its own"
    }

    private func isRawValue(_ name: String) -> Bool {
        guard let sample = session.sample(of: name) as? any RawRepresentable & Encodable else { return false }
        return isRawValue(sample)
    }

    private func isRawValue<T: RawRepresentable & Encodable>(_ sample: T) -> Bool {
        guard let raw = sample.rawValue as? any GeneratedCodable else { return false }
        var writer = MessagePackWriter()
        raw.encode(into: &writer)
        // What cannot be encoded is nothing that code could be written for.
        return (try? MessagePackEncoder(canonical: true).encode(sample)) == writer.bytes
    }

    /// Why a type does not seem to take its fields as they are, each for the property of its name.
    func objection(to name: String) -> String? {
        guard let type = session.swiftTypes[name] as? any Codable.Type else { return "it is not encoded as it is decoded" }
        for round in 0..<Self.rounds {
            for value in values(of: name, round) where !isKept(value, type) {
                return Self.ownCoding(value)
            }
        }
        switch session.types[name] {
        case .fields(let fields):
            return fields.keys.sorted().lazy.compactMap { objection(toKey: $0, fields, of: nil, type) }.first
        case .cases(let cases):
            for (name, values) in cases.sorted(by: { $0.key < $1.key }) {
                if let label = labelOfNone(in: name, values, type) {
                    return "the label \(label) of \(name) is the key of a value without one"
                }
                if hidesName(of: name, values, type) { return "its own description hides whether \(name) is the name of a case" }
                for key in values.keys.sorted() {
                    if let objection = objection(toKey: key, values, of: name, type) { return objection }
                }
            }
            return nil
        case .names, .alias, .unknown, nil: return nil
        }
    }

    /// Whether a sample comes back as it was, under the name of its case.
    private func isKept<T: Codable>(_ value: MessagePackValue, _ type: T.Type) -> Bool {
        do {
            let decoded = try MessagePackDecoder().decode(type, from: value.encoded)
            if let name = Self.nameOfCase(decoded), case .map(let pairs) = value, pairs.first?.key != .string(name) { return false }
            return try encoded(decoded) == Self.comparable(value)
        } catch {
            return false
        }
    }

    /// Whether a sample is taken and comes back as another one.
    private func isChanged<T: Codable>(_ value: MessagePackValue, _ type: T.Type) -> Bool {
        // What is not taken is no value of the type.
        guard let decoded = try? MessagePackDecoder().decode(type, from: value.encoded) else { return false }
        return (try? encoded(decoded)) != Self.comparable(value)
    }

    /// Why the value under a key, and no other, is not what the property or associated value of that name gets.
    private func objection<T: Codable>(
        toKey key: String, _ fields: [String: Shape.Place], of case: String?, _ type: T.Type
    ) -> String? {
        let name = `case`.map { "\(key) of \($0)" } ?? key
        let counterpart = `case` == nil ? "the property of that name" : "the value of that name"
        let isAnother = "\(name) is not \(counterpart)"
        let pairs = fields.map { MessagePackPair(.string($0.key), value($0.value, $0.key == key ? 1 : 0)) }
        do {
            let whole = `case`.map { .map([MessagePackPair(.string($0), .map(pairs))]) } ?? MessagePackValue.map(pairs)
            let decoded = try MessagePackDecoder().decode(type, from: whole.encoded)
            guard let place = fields[key], let property = Self.property(key, of: decoded, isCase: `case` != nil, fields.count),
                try encoded(property) == Self.comparable(value(place, 1))
            else { return isAnother }
            // A field may be missing for a property that has a default then, and is never nil.
            let isOptional = Mirror(reflecting: property).displayStyle == .optional
            return isOptional == PlaceKind(place).isOptional ? nil : "\(name) and \(counterpart) are not both optional"
        } catch {
            return isAnother
        }
    }

    /// The property of that name, or of a case with so many keys the associated value.
    private static func property(_ key: String, of value: Any, isCase: Bool, _ count: Int) -> (any Encodable)? {
        var mirror = Mirror(reflecting: value)
        if isCase, let values = mirror.children.first?.value {
            mirror = Mirror(reflecting: values)
            // An only value without a label is no tuple, and has one name.
            if count == 1, mirror.displayStyle != .tuple || mirror.children.count != 1 {
                return key == "_0" ? values as? any Encodable : nil
            }
        }
        // An associated value without a label is `.0` to a mirror and `_0` to a coder.
        let child = mirror.children.first { $0.label.map { $0.hasPrefix(".") ? "_\($0.dropFirst())" : $0 } == key }
        return child?.value as? any Encodable
    }

    /// A label of a case that is spelt as the keys that the compiler gives to values without one: by the key it cannot be told from none.
    private func labelOfNone<T: Codable>(in case: String, _ fields: [String: Shape.Place], _ type: T.Type) -> String? {
        let value = MessagePackValue.map([MessagePackPair(.string(`case`), map(fields, 1))])
        // What is not taken at all has another objection.
        guard let decoded = try? MessagePackDecoder().decode(type, from: value.encoded),
            let values = Mirror(reflecting: decoded).children.first?.value
        else { return nil }
        let mirror = Mirror(reflecting: values)
        guard mirror.displayStyle == .tuple else { return nil }
        return mirror.children.compactMap(\.label).first { $0.hasPrefix("_") && Int($0.dropFirst()) != nil }
    }

    private func encoded(_ value: some Encodable) throws -> MessagePackValue {
        Self.comparable(try MessagePackValue(encoded: try MessagePackEncoder().encode(value)))
    }

    /// Whether it cannot be told that a case has the name under which it is encoded. A text of the type's own that is the same will
    /// be that.
    private func hidesName<T: Codable>(of case: String, _ fields: [String: Shape.Place], _ type: T.Type) -> Bool {
        let value = MessagePackValue.map([MessagePackPair(.string(`case`), map(fields, 1))])
        // What is not taken at all has another objection.
        guard let decoded = try? MessagePackDecoder().decode(type, from: value.encoded) else { return false }
        return Self.nameOfCase(decoded) == nil && "\(decoded)" != `case`
    }

    /// The case of an enum as it is declared, if it can be told: one without values only by its text, unless the type has one of
    /// its own.
    private static func nameOfCase(_ value: some Any) -> String? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .enum else { return nil }
        if let label = mirror.children.first?.label { return label }
        let hasOwnText =
            value is any CustomStringConvertible || value is any CustomDebugStringConvertible || value is any TextOutputStreamable
        return hasOwnText ? nil : "\(value)"
    }

    /// Without the order of pairs and the width of floats.
    private static func comparable(_ value: MessagePackValue) -> MessagePackValue {
        switch value {
        case .map(let pairs):
            .map(pairs.map { MessagePackPair($0.key, comparable($0.value)) }.sorted { "\($0.key)" < "\($1.key)" })
        case .array(let elements): .array(elements.map(comparable))
        case .float(let value): .double(Double(value))
        default: value
        }
    }

    private static let rounds = 3
    /// Small ones, which fit integers of every width.
    private static let integers: [Int64] = [0, 1, 100]
    private static let doubles = [0, -1.5, 1024]
    private static let strings = ["", "a", " A b "]
    private static let bytes: [[UInt8]] = [[], [1], [1, 2, 3]]

    /// One value, or of an enum one for each case.
    private func values(of name: String, _ round: Int) -> [MessagePackValue] {
        switch session.types[name] {
        case .fields(let fields): [map(fields, round)]
        case .cases(let cases):
            cases.sorted { $0.key < $1.key }.map { .map([MessagePackPair(.string($0.key), map($0.value, round))]) }
        case .names(let names): [rawSample(of: name, names, round)]
        case .alias(let place): [rawSample(of: name, value(place, round))]
        case .unknown, nil: []
        }
    }

    /// One of the raw values of an enum, which the shape has as texts.
    private func rawSample(of name: String, _ names: [String], _ round: Int) -> MessagePackValue {
        guard !names.isEmpty else { return .nil }
        return rawSample(of: name, Self.rawValue(names[round % names.count]))
    }

    private static func rawValue(_ name: String) -> MessagePackValue { Int64(name).map { .int($0) } ?? .string(name) }

    /// This raw value if the type takes it, or else that of the value that was made up.
    private func rawSample(of name: String, _ value: MessagePackValue) -> MessagePackValue {
        if let type = session.swiftTypes[name] as? any Codable.Type, isKept(value, type) { return value }
        guard let sample = session.sample(of: name) as? any Encodable else { return .nil }
        // A type that cannot be encoded takes no sample, which is said of the one that has it inside.
        return (try? encoded(sample)) ?? .nil
    }

    private func map(_ fields: [String: Shape.Place], _ round: Int) -> MessagePackValue {
        var pairs: [MessagePackPair] = []
        for (key, place) in fields {
            if PlaceKind(place).isOptional, round == 0 { continue }
            pairs.append(MessagePackPair(.string(key), value(place, round)))
        }
        return .map(pairs)
    }

    private func value(_ place: Shape.Place, _ round: Int) -> MessagePackValue {
        switch PlaceKind(place) {
        case .simple: simple(place, round)
        case .optional(let wrapped): round == 0 ? .nil : value(wrapped, round)
        case .array(let element): .array(round == 0 ? [] : [value(element, round)])
        case .dictionary(let key, let element): .map(round == 0 ? [] : [MessagePackPair(simple(key, round), value(element, round))])
        case .type(let name): value(of: name, round)
        case .unknown: .nil
        }
    }

    /// Of an enum another case in another round, so that two of one type can be told apart.
    private func value(of name: String, _ round: Int) -> MessagePackValue {
        let samples = values(of: name, round)
        return samples.isEmpty ? .nil : samples[round % samples.count]
    }

    private func simple(_ place: Shape.Place, _ round: Int) -> MessagePackValue {
        switch place {
        case "Bool": .bool(round == 1)
        case "Int": .int(Self.integers[round])
        case "Double": .double(Self.doubles[round])
        case "Bytes": .binary(Self.bytes[round])
        default: .string(Self.strings[round])
        }
    }
}
