import SamovarCore
import Testing

@testable import SamovarProtocol

@Suite struct HeldJobsTests {
    static func held(_ numbers: [Int], slots: Int) -> HeldJobs {
        var held = HeldJobs(slots: slots)
        for number in numbers {
            held.add(WorkerMachineTests.task(number))
            _ = held.startNext { at(0) }
        }
        return held
    }

    static func lease(_ number: Int) -> Lease { WorkerMachineTests.lease(number) }

    @Test func `A running job is found by its lease, in whatever order they began and ended`() {
        var held = Self.held([5, 1, 9, 3, 7], slots: 5)
        #expect((0...10).filter { held.hasSlot(Self.lease($0)) } == [1, 3, 5, 7, 9])
        #expect(held.finish(Self.lease(5))?.lease == Self.lease(5))
        #expect(held.finish(Self.lease(5)) == nil && held.finish(Self.lease(4)) == nil)
        #expect(held.claims.map(\.lease) == [1, 3, 7, 9].map(Self.lease))
        #expect(held.cancel([9, 2, 1].map(Self.lease)) == [9, 1].map(Self.lease))
        #expect(held.running(Self.lease(1)) == nil && held.hasSlot(Self.lease(1)), "it is to stop, and keeps its slot")
        #expect(held.stopRunning().map(\.lease) == [3, 7].map(Self.lease))
        #expect([1, 3, 7, 9].map { held.finish(Self.lease($0)) } == [nil, nil, nil, nil] && held.isEmpty)
    }

    @Test func `The clock is read only for a job that has not all the time`() {
        var held = HeldJobs(slots: 2)
        var readings = 0
        for task in [WorkerMachineTests.task(1), WorkerMachineTests.task(2, timeout: .seconds(1))] {
            held.add(task)
            _ = held.startNext {
                readings += 1
                return at(3)
            }
        }
        #expect(readings == 1 && held.earliestTimeout == at(4))
    }
}
