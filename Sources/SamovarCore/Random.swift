/// The random numbers of one turn: the same in every replay, unpredictable for outsiders.
///
/// SplitMix64 (Steele, Lea and Flood, 2014), started from a keyed hash over the store's secret, the turn and a label.
/// Not meant for making keys.
public struct Random: RandomNumberGenerator, Sendable, BitwiseCopyable {
    @usableFromInline var state: UInt64

    /// Numbers that follow from a seed. Programs have theirs from ``Turn/random(_:)``.
    @inlinable
    public init(seed: UInt64) {
        state = seed
    }

    /// The next 64 bits.
    @inlinable
    public mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
        return z ^ z >> 31
    }
}
