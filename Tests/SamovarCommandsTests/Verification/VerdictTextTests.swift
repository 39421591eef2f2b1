import MessagePack
import SamovarHost
import SamovarStore
import SamovarText
import Testing

@testable import SamovarCommands

@Suite struct VerdictTextTests {
    private func lines(_ states: [[UInt8]]) -> [String] {
        let text = VerdictText.failure(.state(4, lastEqual: 3, states: states, command: nil), ReplayCounts())
        return text.split(separator: "\n").dropFirst().map(String.init)
    }

    private func list(_ numbers: Range<Int64>) -> [UInt8] { MessagePackValue.array(numbers.map { .int($0) }).encoded }

    @Test func `What differs between two states is named by its path, with what either process has there`() {
        let (one, other): (MessagePackValue, MessagePackValue) = (["a": 1], ["a": .string(String(repeating: "x", count: 300))])
        let found = lines([one.encoded, other.encoded])
        #expect(found.prefix(2) == ["  differs    state.a", "  process 1  1"])
        #expect(found.count == 3 && found[2].count == 13 + 200 && found[2].hasSuffix("x… (302 bytes)"), "\(found)")
    }

    @Test func `No more than five parts are told, and of what is equal or cannot be read none`() {
        #expect(lines([list(0..<100), list(100..<200)]).count == 15)
        #expect(lines([list(0..<9), list(0..<9)]).map { $0.hasPrefix("  differs    nothing") } == [true])
        #expect(lines([list(0..<9)]).isEmpty && lines([[0xC1], [0x01]]).isEmpty)
    }
}
