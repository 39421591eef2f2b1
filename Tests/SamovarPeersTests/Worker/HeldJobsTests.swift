import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire
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
        #expect(held.cancel([9, 2, 1].map(Self.lease), now: at(0)) == [9, 1].map(Self.lease))
        #expect(held.running(Self.lease(1)) == nil && held.hasSlot(Self.lease(1)), "it is to stop, and keeps its slot")
        #expect(held.stopRunning(now: at(0)).map(\.lease) == [3, 7].map(Self.lease))
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

    private static func start(_ held: inout HeldJobs) -> Lease? { held.startNext { at(0) }?.task.lease }

    /// Jobs 1, 2 … with these timeouts in seconds, all begun at second 0.
    private static func timed(_ timeouts: [Int?]) -> HeldJobs {
        var held = HeldJobs(slots: timeouts.count)
        for (index, timeout) in timeouts.enumerated() {
            held.add(WorkerMachineTests.task(index + 1, timeout: timeout.map { .seconds($0) }))
            let started = held.startNext { at(0) }
            #expect(started?.hasTimeout == (timeout != nil))
        }
        return held
    }

    struct Overdue: Equatable {
        var outOfTime: [Int] = []
        var overstaying: [Int] = []
    }

    private static func overdue(_ held: inout HeldJobs, at seconds: Double) -> Overdue {
        let overdue = held.takeOverdue(now: at(seconds))
        return Overdue(outOfTime: overdue.outOfTime.map(\.lease.counter), overstaying: overdue.overstaying.map(\.lease.counter))
    }

    @Test func `Each job is stopped at its own time, and the next time is always known`() {
        var held = Self.timed([3, nil, 1, 2])
        #expect(held.earliestTimeout == at(1))
        #expect(Self.overdue(&held, at: 0.9) == Overdue() && held.earliestTimeout == at(1))
        #expect(Self.overdue(&held, at: 1) == Overdue(outOfTime: [3]) && held.earliestTimeout == at(2))
        #expect(Self.overdue(&held, at: 3) == Overdue(outOfTime: [1, 4]))
        #expect(held.claims.map(\.lease) == [Self.lease(2)] && held.count == 4, "the others keep their slots")
    }

    @Test func `A job that was told to stop is not told again, neither by its time nor by a cancellation`() {
        var held = Self.timed([1, 2, 3])
        #expect(held.cancel([Self.lease(1)], now: at(0.5)) == [Self.lease(1)])
        #expect(held.cancel([1, 2].map(Self.lease), now: at(0.5)) == [Self.lease(2)])
        #expect(Self.overdue(&held, at: 2) == Overdue() && held.earliestTimeout == at(3))
        #expect(held.stopRunning(now: at(2)) { $0.lease != Self.lease(3) } == [] && held.earliestTimeout == at(3))
        #expect(held.stopRunning(now: at(2)).map(\.lease) == [Self.lease(3)])
        #expect(Self.overdue(&held, at: 3) == Overdue())
    }

    @Test func `One that goes on after it was told to stop overstays once, and all of them make it stuck until one has ended`() {
        var held = Self.timed([1, nil, nil])
        #expect(held.cancel([2, 3].map(Self.lease), now: at(0)).count == 2)
        #expect(held.finish(Self.lease(2)) == nil, "it ends in time")
        held.add(WorkerMachineTests.task(4))
        #expect(held.startNext { at(0) }?.task.lease == Self.lease(4))
        #expect(Self.overdue(&held, at: 1) == Overdue(outOfTime: [1]) && held.earliestTimeout == at(3))
        #expect(Self.overdue(&held, at: 3) == Overdue(overstaying: [3]) && held.earliestTimeout == at(4))
        #expect(held.cancel([Self.lease(4)], now: at(3)) == [Self.lease(4)])
        #expect(Self.overdue(&held, at: 4) == Overdue(overstaying: [1]) && !held.isStuck)
        #expect(Self.overdue(&held, at: 6) == Overdue(overstaying: [4]) && held.isStuck && held.earliestTimeout == nil)
        #expect(Self.overdue(&held, at: 60) == Overdue())
        #expect(held.finish(Self.lease(3)) == nil && !held.isStuck && held.count == 2)
        held.add(WorkerMachineTests.task(5))
        #expect(Self.start(&held) == Self.lease(5) && !held.isStuck)
        #expect(held.cancel([Self.lease(5)], now: at(60)) == [Self.lease(5)])
        #expect(Self.overdue(&held, at: 63) == Overdue(overstaying: [5]) && held.isStuck, "the other two still overstay")
    }

    @Test func `Only what is meant stops, and the time of the others stays`() {
        var held = Self.timed([1, 2])
        #expect(held.stopRunning(now: at(0)) { $0.lease == Self.lease(1) }.map(\.lease) == [Self.lease(1)])
        #expect(held.claims.map(\.lease) == [Self.lease(2)])
        #expect(Self.overdue(&held, at: 2) == Overdue(outOfTime: [2]))
    }

    @Test func `Tasks wait for slots in their order, and a cancelled one does not get any`() {
        var held = HeldJobs(slots: 1)
        for number in [4, 2, 9, 3] { held.add(WorkerMachineTests.task(number)) }
        #expect([Self.start(&held), Self.start(&held)] == [Self.lease(4), nil])
        #expect(held.count == 4 && held.isWaiting(Self.lease(9)) && !held.isWaiting(Self.lease(4)) && !held.hasSlot(Self.lease(9)))
        #expect(held.claims.map(\.lease) == [2, 9, 3, 4].map(Self.lease))
        #expect(held.cancel([9, 7].map(Self.lease), now: at(0)) == [] && held.count == 3)
        #expect(held.finish(Self.lease(2)) == nil, "it has no slot")
        #expect(held.finish(Self.lease(4))?.lease == Self.lease(4) && !held.isEmpty)
        #expect(Self.start(&held) == Self.lease(2))
        #expect(held.removeWaiting().map(\.lease) == [Self.lease(3)] && held.removeWaiting() == [])
        #expect(held.count == 1 && !held.isEmpty)
    }
}
