import SamovarCore

/// The randomness of the world: everything comes from one seed, and each part has a generator of its own, so that one more draw in
/// one part does not change what another part draws.
struct SeededRandom {
    private(set) var random: Random

    init(seed: UInt64, _ part: StaticString, _ number: Int = 0) {
        var hash = KeyedHash(Secret(high: seed, low: 0x5361_6d6f_7661_7221))
        part.withUTF8Buffer { hash.combine($0) }
        hash.combine(number)
        random = Random(seed: hash.finish())
    }

    mutating func word() -> UInt64 { random.next() }

    mutating func id() -> UniqueID { UniqueID(high: word(), low: word()) }

    mutating func generator() -> Random { Random(seed: word()) }

    /// True in about `share` of all draws; 0 for never, 1 for always.
    mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &random) < share }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }

    mutating func time(_ range: ClosedRange<Instant>) -> Instant { Instant.random(in: range, using: &random) }

    /// A duration around `mean`: mostly near it, sometimes several times as long.
    mutating func about(_ mean: Instant) -> Instant {
        guard mean > 0 else { return 0 }
        return chance(0.9) ? time(mean / 2...mean + mean / 4) : time(mean...mean * 4)
    }

    mutating func pick<Element>(_ choices: [Element]) -> Element { choices[number(0...choices.count - 1)] }
}
