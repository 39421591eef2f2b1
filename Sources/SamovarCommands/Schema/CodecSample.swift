import MessagePack

/// Values of a type that a coding other than the compiler's would probably refuse or change.
struct CodecSample {
    private let session: ShapeSession

    init(_ session: ShapeSession) { self.session = session }

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
            let kept = try MessagePackEncoder().encode(MessagePackDecoder().decode(type, from: writer.bytes))
            var reader = MessagePackReader(kept)
            return Self.comparable(try reader.read()) == Self.comparable(value)
        } catch {
            return false
        }
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
        case .names(let names): names.isEmpty ? [] : [.string(names[round % names.count])]
        case .alias(let place): [value(place, round)]
        case .unknown, nil: [.nil]
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
