import MessagePack
import SamovarCore
import Testing

@testable import SamovarText

@Suite struct ValueFuzzTests {
    /// Whatever is changed in a text, it is read or refused, and what was read can be written and read again.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `No text traps`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        let sample = #"{"a":[1,-2.5e3,"\u00e9\ud83d\ude00\n",null,true],"b":{"c":{},"d":[[]],"é":18446744073709551615}} "#
        var read = 0
        for _ in 0..<5_000 {
            var bytes = Array(sample.utf8)
            for _ in 0...Int.random(in: 0...3, using: &random) { mutate(&bytes, &random) }
            let value: MessagePackValue
            do {
                value = try JSONTranscoder.parse(utf8: bytes)
            } catch {
                #expect(escapeForTerminal(error.description) == error.description)
                continue
            }
            read += 1
            for pretty in [false, true] {
                let again = try JSONTranscoder.parse(JSONTranscoder.text(of: value, pretty: pretty))
                if again != value { Issue.record("seed \(seed): \(value) is not read as it was written") }
            }
        }
        #expect(read > 100, "the mutations of seed \(seed) are too coarse to reach the parser")
    }

    /// Any value, NaN, extensions and odd keys included, becomes JSON and plain lines.
    @Test(arguments: [1, 2, 3, 4] as [UInt64])
    func `No value traps`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        for _ in 0..<1_000 {
            let value = anyValue(depth: 4, &random)
            let text = JSONTranscoder.text(of: value)
            #expect(escapeForTerminal(text) == text)
            // Only keys that are equal as texts are refused.
            do { _ = try JSONTranscoder.parse(text) } catch { #expect(error.message.hasSuffix("occurs twice in one object")) }
            let line = ViewText.line(of: value)
            #expect(line.unicodeScalars.count <= 200)
            for line in ViewText.lines(of: value) + [line] {
                #expect(escapeForTerminal(line) == line)
            }
        }
    }

    private func mutate(_ bytes: inout [UInt8], _ random: inout Random) {
        guard !bytes.isEmpty else { return }
        let index = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<5, using: &random) {
        case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes[index] = Array("[]{},:\"\\0e-. u".utf8).randomElement(using: &random) ?? 0
        case 2: bytes.remove(at: index)
        case 3: bytes.insert(bytes[index], at: index)
        default: bytes.removeSubrange(index...)
        }
    }

    private func anyValue(depth: Int, _ random: inout Random) -> MessagePackValue {
        let count = Int.random(in: 0...4, using: &random)
        switch Int.random(in: 0..<(depth > 0 ? 11 : 9), using: &random) {
        case 0: return .nil
        case 1: return .bool(Bool.random(using: &random))
        case 2: return .int(Int64.random(in: .min ... .max, using: &random))
        case 3: return .uint(UInt64.random(in: .min ... .max, using: &random))
        case 4: return .float(Float(bitPattern: UInt32.random(in: .min ... .max, using: &random)))
        case 5: return .double(Double(bitPattern: UInt64.random(in: .min ... .max, using: &random)))
        case 6: return .string(anyText(&random))
        case 7: return .binary((0..<count).map { UInt8($0) })
        case 8:
            // The lengths of timestamps, and others.
            let length = [4, 8, 12].randomElement(using: &random) ?? count
            let bytes = (0..<length + count % 2).map { _ in UInt8.random(in: 0...255, using: &random) }
            return .extension(type: Int8.random(in: -2...1, using: &random), bytes: bytes)
        case 9: return .array((0..<count * 8).map { _ in anyValue(depth: depth - 2, &random) })
        default:
            let pairs = (0..<count).map { _ in
                MessagePackPair(anyValue(depth: depth - 2, &random), anyValue(depth: depth - 1, &random))
            }
            return .map(pairs)
        }
    }

    private func anyText(_ random: inout Random) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...80, using: &random) {
            let limit: UInt32 = Bool.random(using: &random) ? 0x100 : 0x2100
            text.unicodeScalars.append(Unicode.Scalar(UInt32.random(in: 0..<limit, using: &random)) ?? "x")
        }
        return text
    }
}
