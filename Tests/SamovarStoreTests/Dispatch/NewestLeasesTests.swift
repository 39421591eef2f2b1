import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The newest of some attempts of each effect.
@Suite struct NewestLeasesTests {
    private let effects = (1...2).map { EffectID(turn: $0, ordinal: 0) }

    private func lease(_ counter: Int, start: Int = 1) -> Lease { Lease(start: start, counter: counter) }

    @Test func `The newest attempt of an effect counts, in whatever order they come, and none of another`() {
        var leases = NewestLeases()
        #expect(leases.isEmpty && leases[effects[0]] == nil)
        leases.insert(lease(3), of: effects[0])
        leases.insert(lease(2), of: effects[0])
        #expect(leases[effects[0]] == lease(3) && leases[effects[1]] == nil && !leases.isEmpty)
        leases.insert(lease(1, start: 2), of: effects[0])
        #expect(leases[effects[0]] == lease(1, start: 2), "of a later start")
    }

    @Test func `Effects that are kept no longer are forgotten, the others are not`() {
        var leases = NewestLeases()
        for effect in effects { leases.insert(lease(2), of: effect) }
        leases.keep { $0 == effects[1] }
        #expect(leases[effects[0]] == nil && leases[effects[1]] == lease(2))
        leases.keep { _ in false }
        #expect(leases.isEmpty)
    }
}
