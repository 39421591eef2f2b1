/// An order of all mutants that a seed decides.
public struct Draw: Sendable {
    /// SplitMix64.
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    private mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    public mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var result = elements
        for index in result.indices.reversed().dropLast() {
            result.swapAt(index, Int(next().multipliedFullWidth(by: UInt64(index) + 1).high))
        }
        return result
    }
}
