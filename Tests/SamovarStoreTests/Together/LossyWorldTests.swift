import Testing

@Suite struct LossyWorldTests {
    /// Whatever breaks, each input has one outcome, each effect is answered once, and nothing is kept for ever.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func `Nothing is lost and nothing twice`(_ seed: UInt64) throws {
        var world = LossyWorld(seed: seed)
        try world.run(inputs: 40)
    }
}
