import MessagePack

/// Values of a type that a coding other than the compiler's would probably refuse or change.
struct CodecSample {
    private let session: ShapeSession

    init(_ session: ShapeSession) { self.session = session }

    /// Whether a type is encoded as its raw value, for which there is code.
    func isRawValue(_ name: String) -> Bool {
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

    /// Why a type does not seem to take its fields as they are.
    func objection(to name: String) -> String? {
        guard let type = session.swiftTypes[name] as? any Codable.Type else { return "it is not encoded as it is decoded" }
        for round in 0..<Self.rounds {
            for value in values(of: name, round) {
                guard isKept(value, type) else {
                    return "it does not take \(JSONTranscoder.text(of: value)) as it is, so it has a coding of its own"
                }
            }
        }
        return nil
    }

    private func isKept<T: Codable>(_ value: MessagePackValue, _ type: T.Type) -> Bool {
        var writer = MessagePackWriter()
        writer.write(value)
        do {
            let decoded = try MessagePackDecoder().decode(type, from: writer.bytes)
            if let name = Self.nameOfCase(decoded), case .map(let pairs) = value, pairs.first?.key != .string(name) { return false }
            let kept = try MessagePackEncoder().encode(decoded)
            var reader = MessagePackReader(kept)
            return Self.comparable(try reader.read()) == Self.comparable(value)
        } catch {
            return false
        }
    }

    /// The case of an enum as it is declared, if it can be told.
    private static func nameOfCase(_ value: some Any) -> String? {
        let mirror = Mirror(reflecting: value)
        guard mirror.displayStyle == .enum else { return nil }
        if let label = mirror.children.first?.label { return label }
        return value is any CustomStringConvertible ? nil : "\(value)"
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
        case .names, .alias: sample(of: name)
        case .unknown, nil: []
        }
    }

    /// The value that was made up of a type that is encoded as its raw value.
    private func sample(of name: String) -> [MessagePackValue] {
        guard let sample = session.sample(of: name) as? any Encodable else { return [] }
        do {
            var reader = MessagePackReader(try MessagePackEncoder().encode(sample))
            return [try reader.read()]
        } catch {
            return []
        }
    }

    private func map(_ fields: [String: Shape.Place], _ round: Int) -> MessagePackValue {
        var pairs: [MessagePackPair] = []
        for (key, place) in fields {
            if case .optional = PlaceKind(place), round == 0 { continue }
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
        case .type(let name): values(of: name, round).first ?? .nil
        case .unknown: .nil
        }
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
