import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The store's own time, from the host's and the journal's.
@Suite struct StoreTimeTests {
    @Test func `A clock that was set back goes on from the newest record, and never behind one`() {
        let clock = StoreClock(startingAt: at(100), newest: at(150))
        #expect(clock.started == at(150) && clock.nextTick == at(150))
        #expect(clock.time(at(101), newest: at(150)) == at(151))
        #expect(clock.time(at(90), newest: at(152)) == at(152), "set back again, while the store runs")
    }

    @Test func `A clock that is ahead of the journal is right`() {
        let clock = StoreClock(startingAt: at(100), newest: at(50))
        #expect(clock.started == at(100) && clock.time(at(101), newest: at(100)) == at(101))
    }

    @Test func `A tick says how late it is, and the next one is an interval after it`() {
        var clock = StoreClock(startingAt: at(10), newest: at(0))
        #expect(clock.tick(now: at(9.9), interval: .seconds(1)) == nil && clock.nextTick == at(10))
        #expect(clock.tick(now: at(10.5), interval: .seconds(1)) == .milliseconds(500) && clock.nextTick == at(11.5))
    }
}
