import MessagePack
import Testing

/// Bytes that were damaged, and bytes that never were MessagePack: every read ends with a value or an error.
@Suite struct FuzzTests {
    /// SplitMix64.
    struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var z = state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }

        /// Damages some bytes, cuts some off, or doubles some.
        mutating func mutate(_ bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            for _ in 0...Int.random(in: 0...3, using: &self) {
                guard let index = bytes.indices.randomElement(using: &self) else { break }
                switch UInt8.random(in: 0..<8, using: &self) {
                case 0: bytes.removeSubrange(index...)
                case 1: bytes.remove(at: index)
                case 2: bytes.insert(contentsOf: bytes[index...].prefix(8), at: index)
                case 3: bytes[index] = UInt8.random(in: 0x80...0xdf, using: &self)
                default: bytes[index] = UInt8.random(in: .min ... .max, using: &self)
                }
            }
            return bytes
        }
    }

    @Test(arguments: [1, 2]) func `The reader never traps`(seed: UInt64) throws {
        var random = Random(state: seed)
        let seeds = [
            try MessagePackEncoder().encode(fullBox), try MessagePackEncoder().encode([Message.tick, .asked(5)]),
            hex("82a16192c3c2cd1234d6ff00000001c403010203"),
        ]
        for round in 0..<50_000 {
            let bytes =
                round.isMultiple(of: 10)
                ? (0..<12).map { _ in UInt8.random(in: .min ... .max, using: &random) } : random.mutate(seeds[1 + round % 2])
            var reader = MessagePackReader(bytes, lenient: round.isMultiple(of: 2))
            let raw = result { () throws(MessagePackError) in try reader.readRaw() }
            reader = MessagePackReader(bytes)
            if let value = result({ () throws(MessagePackError) in try reader.readValue() }) {
                var writer = MessagePackWriter()
                writer.write(value)
                if raw?.count != reader.position || writer.count > reader.position {
                    Issue.record("read \(hex(bytes)) as \(value)")
                }
            }
            var scalars = MessagePackReader(bytes, lenient: true)
            for _ in 0..<4 {
                _ = result { () throws(MessagePackError) in try scalars.readInteger(as: UInt16.self) }
                _ = result { () throws(MessagePackError) in try scalars.readFloat() }
                _ = result { () throws(MessagePackError) in try scalars.readBinary() }
                _ = result { () throws(MessagePackError) in try scalars.readTimestamp() }
                if result({ () throws(MessagePackError) in try scalars.skip() }) == nil { break }
            }
        }
    }

    @Test(arguments: [3, 4]) func `The decoder never traps`(seed: UInt64) throws {
        var random = Random(state: seed)
        let decoder = MessagePackDecoder(lenient: seed == 4)
        let box = try MessagePackEncoder().encode(Box(seed: Seed(root: "/"), items: [fullBox.items[0]], byName: ["a": 1]))
        let messages = try MessagePackEncoder().encode([Message.tick, .both(.asked(1), .probed(isUp: true, milliseconds: 2))])
        for round in 0..<15_000 {
            if round.isMultiple(of: 4) {
                decode(Box.self, decoder, random.mutate(box))
            } else {
                let bytes = random.mutate(messages)
                decode([Message].self, decoder, bytes)
                if round % 4 == 1 { decode([Position: [UInt8]].self, decoder, bytes) }
                if round % 4 == 2 { decode(Tree.self, decoder, bytes) }
            }
        }
    }

    private func decode<T: Codable & Equatable>(_ type: T.Type, _ decoder: MessagePackDecoder, _ bytes: [UInt8]) {
        do {
            _ = try decoder.decode(type, from: bytes)
        } catch {
            if !(error is DecodingError || error is MessagePackError) || describe(decodingFailure: error, of: type).isEmpty {
                Issue.record(error, "decoding \(hex(bytes))")
            }
        }
    }

    private func result<T>(_ body: () throws(MessagePackError) -> T) -> T? {
        do throws(MessagePackError) {
            return try body()
        } catch {
            return nil
        }
    }
}
