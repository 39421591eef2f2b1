import SamovarCore
import Testing

@testable import SamovarProtocol

/// Attempts whose answer would lack a message.
@Suite struct RejectedStreamsTests {
    private func lease(_ number: Int) -> Lease { Lease(start: 1, counter: number) }

    @Test func `The newest attempt counts, and those before it`() {
        let (one, other) = (EffectID(turn: 1, ordinal: 0), EffectID(turn: 2, ordinal: 0))
        var streams = RejectedStreams()
        #expect(streams.isEmpty && !streams.lacksMessages(one, lease(1)))
        streams.reject(one, lease(3))
        streams.reject(one, lease(2))
        #expect((1...4).map { streams.lacksMessages(one, lease($0)) } == [true, true, true, false])
        #expect(!streams.lacksMessages(other, lease(1)) && !streams.isEmpty)
    }

    @Test func `An effect that is over is forgotten, and no other`() {
        let effects = (1...2).map { EffectID(turn: $0, ordinal: 0) }
        var streams = RejectedStreams()
        for effect in effects { streams.reject(effect, lease(1)) }
        streams.forget { $0 == effects[0] }
        #expect(effects.map { streams.lacksMessages($0, lease(1)) } == [false, true])
        streams.forget { _ in true }
        #expect(streams.isEmpty)
    }
}
