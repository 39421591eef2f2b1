import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What is due at some time.
@Suite struct TimedQueueTests {
    private func due(_ queue: inout TimedQueue<Int>, at now: Timestamp) -> [Int] {
        var entries: [Int] = []
        while let entry = queue.popDue(now: now) { entries.append(entry) }
        return entries
    }

    @Test func `The earliest is due first, and of equal times the smaller entry`() {
        var queue = TimedQueue<Int>()
        #expect(queue.nextTime == nil && due(&queue, at: at(9)).isEmpty)
        for (entry, second) in [(3, 2.0), (1, 2), (2, 1), (4, 3)] { queue.insert(entry, at: at(second)) }
        #expect(queue.nextTime == at(1) && queue.count == 4 && due(&queue, at: at(0.9)) == [])
        #expect(due(&queue, at: at(2)) == [2, 1, 3])
        #expect(queue.nextTime == at(3) && due(&queue, at: at(2.9)).isEmpty)
    }

    @Test func `What does not count any more is forgotten when it may be much`() {
        var queue = TimedQueue<Int>()
        for entry in 1...4 { queue.insert(entry, at: at(Double(entry))) }
        // Of a former time.
        queue.insert(2, at: at(0.5))
        queue.keep(ifBeyond: 5) { _, _ in false }
        #expect(queue.count == 5)
        queue.keep(ifBeyond: 4) { entry, time in entry < 3 && time == at(Double(entry)) }
        #expect(due(&queue, at: at(9)) == [1, 2])
    }

    @Test func `Who is here twice is so no longer when there may be much to forget`() {
        var queue = TimedQueue<Int>()
        for _ in 0..<9 { for entry in 1...3 { queue.insert(entry, at: at(1)) } }
        queue.keep(ifBeyond: 9) { entry, _ in entry != 2 }
        #expect(queue.count == 2 && due(&queue, at: at(1)) == [1, 3])
    }
}
