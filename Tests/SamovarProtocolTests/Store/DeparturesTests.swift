import SamovarCore
import Testing

@testable import SamovarProtocol

@Suite struct DeparturesTests {
    @Test func `A task has left when its turn is on disk, and what another start handed out has`() {
        func lease(_ counter: Int, start: Int = 2) -> Lease { Lease(start: start, counter: counter) }
        var departures = Departures()
        #expect(departures.hasLeft(lease(1)))
        departures.hold(lease(3), untilDurable: 7)
        departures.hold(lease(4), untilDurable: 7)
        departures.hold(lease(5), untilDurable: 9)
        departures.left(through: 6)
        #expect((1...5).map { departures.hasLeft(lease($0)) } == [true, true, false, false, false])
        #expect(departures.hasLeft(lease(9, start: 1)))
        departures.left(through: 8)
        #expect((3...5).map { departures.hasLeft(lease($0)) } == [true, true, false])
        departures.left(through: 9)
        #expect(departures.hasLeft(lease(5)))
    }
}
