import SamovarCore
import Testing

@testable import SamovarProtocol

/// Which attempt had an effect last that was taken back from its worker.
@Suite struct FormerLeasesTests {
    private let effect = EffectID(turn: 1, ordinal: 0)
    private let other = EffectID(turn: 2, ordinal: 0)

    private func lease(_ counter: Int, start: Int = 1) -> Lease { Lease(start: start, counter: counter) }

    @Test func `An attempt is outdated by a newer one of its effect, and by no other`() {
        var leases = FormerLeases()
        #expect(!leases.isOutdated(lease(1), of: effect))
        leases.insert(lease(2), of: effect)
        #expect(leases.isOutdated(lease(1), of: effect))
        #expect(!leases.isOutdated(lease(2), of: effect) && !leases.isOutdated(lease(3), of: effect))
        #expect(!leases.isOutdated(lease(1), of: other))
        #expect(!leases.isOutdated(lease(1, start: 2), of: effect), "of a later start")
    }

    @Test func `An older attempt that is taken back late does not take the place of a newer one`() {
        var leases = FormerLeases()
        leases.insert(lease(3), of: effect)
        leases.insert(lease(2), of: effect)
        #expect(leases.isOutdated(lease(2), of: effect) && !leases.isOutdated(lease(3), of: effect))
    }

    @Test func `Effects that are kept no longer are forgotten, the others are not`() {
        var leases = FormerLeases()
        for effect in [effect, other] { leases.insert(lease(2), of: effect) }
        leases.keep { $0 == other }
        #expect(!leases.isOutdated(lease(1), of: effect) && leases.isOutdated(lease(1), of: other))
    }
}
