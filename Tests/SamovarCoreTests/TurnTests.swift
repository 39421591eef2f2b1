import SamovarCore
import Testing

@Suite struct TurnTests {
    static func numbers(_ turn: Turn, _ label: StaticString) -> [UInt64] {
        var random = turn.random(label)
        return (0..<4).map { _ in random.next() }
    }

    @Test func randomNumbersAreThoseOfTurnLabelAndSecret() {
        let turn = Turn.numbered(7)
        #expect(Self.numbers(turn, "dice") == Self.numbers(turn, "dice"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(turn, "cards"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(.numbered(8), "dice"))
        #expect(Self.numbers(turn, "dice") != Self.numbers(.numbered(7, secret: Secret(high: 1, low: 2)), "dice"))
    }

    @Test func randomNumbersDoNotDependOnTimeOrOrigin() {
        let other = Turn(number: 7, now: Timestamp(microseconds: 0), origin: .operator, secret: secret)
        #expect(Self.numbers(.numbered(7), "dice") == Self.numbers(other, "dice"))
        #expect(Turn.numbered(7).uuid() == other.uuid())
    }

    @Test func identitiesAreThoseOfTurnAndLabel() {
        let turn = Turn.numbered(7)
        #expect(turn.uuid("order") == turn.uuid("order"))
        #expect(Set([turn.uuid(), turn.uuid("order"), Turn.numbered(8).uuid(), Turn.numbered(8).uuid("order")]).count == 4)
    }

    @Test func identitiesHaveTheVersionAndVariantOfRandomUUIDs() {
        for number in 1...1_000 {
            let digits = Array("\(Turn.numbered(number).uuid())")
            #expect(digits[14] == "4")
            #expect("89ab".contains(digits[19]))
        }
    }

    /// The first numbers of SplitMix64 from seed 1234567, as its authors' program prints them.
    @Test func randomIsSplitMix64() {
        var random = Random(seed: 1_234_567)
        let numbers = (0..<5).map { _ in random.next() }
        #expect(
            numbers == [
                6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423, 4_593_380_528_125_082_431,
                16_408_922_859_458_223_821,
            ])
    }

    @Test func effectsAndLeasesAreOrderedByTheirFirstNumber() {
        #expect(EffectID(turn: 2, ordinal: 0) > EffectID(turn: 1, ordinal: 9))
        #expect(EffectID(turn: 2, ordinal: 0) < EffectID(turn: 2, ordinal: 1))
        #expect(Lease(start: 2, counter: 1) > Lease(start: 1, counter: 100))
        #expect("\(EffectID(turn: 42, ordinal: 1)) \(Lease(start: 3, counter: 9))" == "42/1 3.9")
    }
}
