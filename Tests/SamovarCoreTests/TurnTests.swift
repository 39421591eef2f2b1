import SamovarCore
import Testing

@Suite struct TurnTests {
    static func numbers(_ turn: Turn, _ label: StaticString) -> [UInt64] {
        var random = turn.random(label)
        return (0..<4).map { _ in random.next() }
    }

    @Test func `Random numbers are those of turn label and secret`() {
        let turn = Turn.numbered(7)
        #expect(Self.numbers(turn, "dice") == Self.numbers(turn, "dice"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(turn, "cards"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(.numbered(8), "dice"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(.numbered(7, secret: Secret(high: 1, low: 2)), "dice"))
    }

    @Test func `Random numbers do not depend on time or origin`() {
        let other = Turn(number: 7, now: Timestamp(microseconds: 0), origin: .operator, secret: secret)
        #expect(Self.numbers(.numbered(7), "dice") == Self.numbers(other, "dice"))
        #expect(Turn.numbered(7).uuid() == other.uuid())
    }

    @Test func `Identities are those of turn and label`() {
        let turn = Turn.numbered(7)
        #expect(turn.uuid("order") == turn.uuid("order"))
        #expect(Set([turn.uuid(), turn.uuid("order"), Turn.numbered(8).uuid(), Turn.numbered(8).uuid("order")]).count == 4)
    }

    @Test func `Identities have the version and variant of random UUI ds`() {
        for number in 1...1_000 {
            let digits = Array("\(Turn.numbered(number).uuid())")
            #expect(digits[14] == "4")
            #expect("89ab".contains(digits[19]))
        }
    }

    /// The first numbers of SplitMix64 from seed 1234567, as its authors' program prints them.
    @Test func `Random is split mix64`() {
        var random = Random(seed: 1_234_567)
        let numbers = (0..<5).map { _ in random.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ])
    }

    @Test func `Effects and leases are ordered by their first number`() {
        #expect(EffectID(turn: 2, ordinal: 0) > EffectID(turn: 1, ordinal: 9))
        #expect(EffectID(turn: 2, ordinal: 0) < EffectID(turn: 2, ordinal: 1))
        #expect(Lease(start: 2, counter: 1) > Lease(start: 1, counter: 100))
        #expect("\(EffectID(turn: 42, ordinal: 1)) \(Lease(start: 3, counter: 9))" == "42/1 3.9")
    }
}
