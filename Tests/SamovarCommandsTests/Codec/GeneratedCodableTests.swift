import SamovarCore
import Testing

@testable import MessagePack

/// Generated code writes the bytes that `Codable` writes, and a codec reads with it whatever `Codable` reads, and nothing else.
@Suite struct GeneratedCodableTests {
    private static let encoder = MessagePackEncoder(canonical: true)
    private static let codec = ValueCodec<Orders.Input>(encoder, MessagePackDecoder(lenient: true))
    private static let recording = MessagePackEncoder(recording: .default)
    private static let recordingCodec = ValueCodec<Orders.Input>(recording, MessagePackDecoder(lenient: true))

    /// Fixed seeds, and one that is another in each run.
    static let seeds: [UInt64] = [1, 2, 3, .random(in: 1000 ... .max)]

    @Test(arguments: seeds) func `Equal values are the same bytes by either way, and come back`(seed: UInt64) throws {
        var random = SplitMix(state: seed)
        for _ in 0..<300 {
            let value = Orders.Input.random(&random)
            let bytes = try Self.encoder.encode(value)
            var writer = MessagePackWriter()
            value.encode(into: &writer)
            #expect(writer.bytes == bytes, "\(value)")
            var reader = MessagePackReader(bytes, lenient: true)
            #expect(try Orders.Input(decoding: &reader) == value)
            #expect(reader.isAtEnd)
            #expect(try Self.codec.decode(bytes) == value)
            #expect(try Self.codec.encode(value) == bytes)
            #expect(try Self.recordingCodec.encode(value) == Self.recording.encode(value), "\(value)")
        }
    }

    @Test(arguments: seeds) func `Whatever bytes are changed, a codec decodes what Codable decodes, or fails with the same words`(
        seed: UInt64
    ) throws {
        var random = SplitMix(state: seed)
        let decoder = MessagePackDecoder(lenient: true)
        for _ in 0..<300 {
            var bytes = try Self.encoder.encode(Orders.Input.random(&random))
            for _ in 0..<10 {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = .random(in: 0 ... .max, using: &random)
                case 1: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 2: bytes.insert(.random(in: 0 ... .max, using: &random), at: place)
                default: bytes.remove(at: place)
                }
                guard !bytes.isEmpty else { break }
                #expect(
                    Self.outcome { try Self.codec.decode(bytes) }
                        == Self.outcome { try decoder.decode(Orders.Input.self, from: bytes) }, "\(bytes)")
            }
        }
    }

    /// The value, by which a NaN is equal to another one and a set does not depend on its order, or else why there is none.
    private static func outcome(_ decode: () throws -> Orders.Input) -> [String] {
        do { return try encoder.encode(decode()).map { "\($0)" } } catch { return ["\(error)"] }
    }

    @Test func `What is written in another order, with more or with other numbers is read as ever`() throws {
        let address = ValueCodec<Orders.Address>(Self.encoder, MessagePackDecoder())
        let key = "aNameOfThirtyOneBytesIsTheLimit"
        var writer = MessagePackWriter()
        writer.writeMapHeader(3)
        writer.write(key)
        writer.write(7)
        writer.write("further")
        writer.writeNil()
        writer.write("street")
        writer.write("High")
        #expect(try address.decode(writer.bytes) == Orders.Address(street: "High", aNameOfThirtyOneBytesIsTheLimit: 7))
    }

    @Test func `Code that was written for another form is left alone`() throws {
        let codec = ValueCodec<Outdated>(Self.encoder, MessagePackDecoder())
        let value = Outdated(number: 1, further: 2)
        #expect(try codec.encode(value) == Self.encoder.encode(value))
        #expect(try codec.decode(codec.encode(value)) == value)
        #expect(GeneratedForms(of: [Outdated].self).outdated == ["SamovarCommandsTests.Outdated"])
        #expect(GeneratedForms(of: Orders.Input.self).areCurrent)
    }

    @Test func `Code is used for all limits that it keeps`() throws {
        let shallow = MessagePackLimits(maximumDepth: 2)
        let codec = ValueCodec<Orders.Input>(
            MessagePackEncoder(canonical: true, limits: shallow), MessagePackDecoder(limits: shallow))
        #expect(throws: MessagePackError.self) { try codec.encode(.grid([[1]], byNumber: [:])) }
        let small = MessagePackLimits(maximumBytes: 20)
        let narrow = ValueCodec<Orders.Input>(MessagePackEncoder(canonical: true, limits: small), MessagePackDecoder(limits: small))
        #expect(try narrow.encode(.named("a")).count == 13)
        #expect(throws: MessagePackError.self) { try narrow.encode(.named("aaaaaaaaaa")) }
        #expect(throws: MessagePackError.self) { try narrow.decode(Self.codec.encode(.named("aaaaaaaaaa"))) }
    }
}

/// A property came after the code was written.
struct Outdated: Codable, Equatable {
    var number: Int
    var further: Int?
}

extension Outdated: GeneratedCodable {
    static var generatedForm: String? { "number: Int" }

    func encode(into writer: inout MessagePackWriter) {
        writer.beginFields(1)
        writer.writeField("number", number)
    }

    init(decoding reader: inout MessagePackReader) throws(MessagePackError) {
        var left = try reader.beginFields()
        number = try reader.readField("number", &left)
        try reader.endFields(left)
    }
}

private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ bits >> 30) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ bits >> 27) &* 0x94d0_49bb_1331_11eb
        return bits ^ bits >> 31
    }
}

extension Orders.Input {
    fileprivate static func random(_ random: inout SplitMix) -> Self {
        switch Int.random(in: 0..<7, using: &random) {
        case 0: .place(.random(&random), at: number(&random))
        case 1: .in(zebra: number(&random), a: Bool.random(using: &random) ? nil : number(&random), items: [.random(&random)])
        case 2: .named(text(&random))
        case 3:
            .grid(
                (0..<Int.random(in: 0..<20, using: &random)).map { $0 % 3 == 0 ? [] : [nil, number(&random)] },
                byNumber: Dictionary((0..<3).map { _ in (number(&random), .random(&random)) }) { first, _ in first })
        case 4: .in(zebra: 1, a: nil, items: [])
        case 5: .through(`inout`: number(&random))
        default: .reset
        }
    }
}

/// Of any size, and near each at which the format changes.
private func number(_ random: inout SplitMix) -> Int {
    let magnitude = Int.random(in: 0...63, using: &random)
    return Int(truncatingIfNeeded: (UInt64(1) << UInt64(magnitude)) &+ random.next() % 3 &- 1)
        &* (Bool.random(using: &random) ? 1 : -1)
}

private func text(_ random: inout SplitMix) -> String {
    let length = [0, 1, 15, 31, 32, 255, 256].randomElement(using: &random) ?? 0
    return String((0..<length).map { _ in ["a", "é", "\u{0}", "😀", "\\"].randomElement(using: &random) ?? "a" })
}

extension Orders.Item {
    fileprivate static func random(_ random: inout SplitMix) -> Self {
        let doubles = [0, -0.0, .nan, -.nan, .infinity, 1.5, .leastNonzeroMagnitude, 1e300]
        let count = [0, 1, 15, 16, 40].randomElement(using: &random) ?? 0
        // A NaN is not equal to itself, so equality needs another value.
        let x = doubles.filter { !$0.isNaN }.randomElement(using: &random) ?? 0
        return Self(
            x: x, id: .init(rawValue: text(&random)), size: Bool.random(using: &random) ? .small : .large,
            level: Bool.random(using: &random) ? .low : .high, name: text(&random),
            note: Bool.random(using: &random) ? nil : text(&random), default: Bool.random(using: &random),
            ratio: [0, -0.0, 1.5, .greatestFiniteMagnitude].randomElement(using: &random) ?? 0,
            tags: (0..<count).map { _ in text(&random) }, seen: Set((0..<count).map { _ in number(&random) }),
            counts: Dictionary((0..<count).map { (text(&random) + "\($0)", UInt16($0) &* 4099) }) { first, _ in first },
            payload: (0..<count * 8).map { UInt8(truncatingIfNeeded: $0 &* 37) },
            address: Bool.random(using: &random)
                ? nil : .init(street: text(&random), aNameOfThirtyOneBytesIsTheLimit: number(&random)),
            at: Timestamp(microseconds: Int64(number(&random))),
            left: Int8(truncatingIfNeeded: number(&random)), reader: random.next() >> UInt64.random(in: 0...63, using: &random))
    }
}
