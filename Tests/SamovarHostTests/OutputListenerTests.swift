import SamovarCore
import SamovarWire
import Testing

@testable import SamovarHost

/// What a source that listens to another program streams of its outputs.
@Suite struct OutputListenerTests {
    private enum Message: Equatable {
        case heard(Int)
        case passed(OutputPlace)
    }

    /// Of multiples of a million.
    private static func message(_ heard: Heard<Int>) -> Message? {
        heard.output % 1_000_000 == 0 ? .heard(heard.output) : nil
    }

    private static func listener() -> OutputListener<Int, Message> {
        OutputListener(passed: { Message.passed($0) }, message: message)
    }

    private static func place(_ number: Int) -> OutputPlace {
        OutputPlace(timeline: nil, id: EffectID(turn: number, ordinal: 0))
    }

    private static func take(_ number: Int, bytes: Int = 8, _ listener: inout OutputListener<Int, Message>) -> Message? {
        listener.take(Heard(place: place(number), output: number), bytes: bytes)
    }

    @Test func `One that passes over all outputs keeps its place long before a store forgets what follows it`() {
        var listener = Self.listener()
        let told = (1...65_536).compactMap { Self.take($0, &listener) }
        #expect(told == [16_384, 32_768, 49_152, 65_536].map { Message.passed(Self.place($0)) })
    }

    @Test func `Large outputs that are passed over count by their bytes`() {
        var listener = Self.listener()
        let told = (1...16).compactMap { Self.take($0, bytes: 1 << 20, &listener) }
        #expect(told == [4, 8, 12, 16].map { Message.passed(Self.place($0)) })
    }

    @Test func `A message keeps the place, so the next one is due as much later`() {
        var listener = Self.listener()
        let told = (999_000...1_016_384).compactMap { Self.take($0, &listener) }
        #expect(told == [.heard(1_000_000), .passed(Self.place(1_016_384))])
    }

    @Test func `An output of which a message is made is never passed over`() {
        var listener = Self.listener()
        let told = (983_617...1_000_000).compactMap { Self.take($0, &listener) }
        #expect(told == [.heard(1_000_000)])
    }

    @Test func `Who has no message for a place streams nothing of what is passed over`() {
        var listener = OutputListener(passed: nil, message: Self.message)
        let told = (1...70_000).compactMap { Self.take($0, bytes: 1 << 10, &listener) }
        #expect(told == [])
    }
}
