import SamovarCore
import Testing

@testable import SamovarProtocol

/// The order of one queue, and what is stale in it.
@Suite struct PriorityQueueTests {
    private func entry(_ number: Int) -> PriorityQueue.Entry { .init(effect: EffectID(turn: number, ordinal: 0), place: number) }

    private func line(_ priorities: [Int]) -> PriorityQueue {
        let line = PriorityQueue(.default)
        for (number, priority) in priorities.enumerated() { line.append(entry(number), priority: priority) }
        return line
    }

    private func order(_ line: PriorityQueue) -> [Int] {
        var order: [Int] = []
        while let next = line.popFirst() { order.append(next.place) }
        return order
    }

    @Test func `The greater priority is first, and within one who came first`() {
        #expect(order(line([0, 5, -5, 5, 0, 6])) == [5, 1, 3, 0, 4, 2])
    }

    @Test func `Beyond the bounds priorities are equal`() {
        #expect(order(line([100, .max, 101, 99, -100, .min, -101, -99])) == [0, 1, 2, 3, 7, 4, 5, 6])
    }

    @Test func `What is taken is counted`() {
        let line = line([0, 1])
        #expect(line.count == 2 && !line.isEmpty)
        #expect(order(line) == [1, 0])
        #expect(line.count == 0 && line.isEmpty && line.popFirst() == nil)
    }

    @Test func `What is stale before the first that waits goes, and no more`() {
        let line = line([0, 0, 0, 1, 1])
        #expect(line.first { $0.place == 1 }?.place == 1)
        #expect(line.count == 2 && order(line) == [1, 2])
        let stale = self.line([0, 0])
        #expect(stale.first { _ in false } == nil)
        #expect(stale.count == 0 && stale.isEmpty)
    }

    @Test func `Stale entries are taken out when they may be half of them, and no others`() {
        let line = line(Array(repeating: 0, count: 1_024) + [1])
        line.forgetStale { $0.place.isMultiple(of: 2) }
        #expect(line.count == 513)
        for number in 2_000..<3_537 { line.append(entry(number), priority: 0) }
        line.forgetStale { _ in false }
        #expect(line.count == 2_050, "twice what was left, and 1,024")
        line.append(entry(4_000), priority: 0)
        line.forgetStale { $0.place == 4_000 }
        #expect(line.count == 1 && order(line) == [4_000])
    }

    @Test func `A line knows whether it is that of the default queue`() {
        #expect(PriorityQueue(.default).isDefault && !PriorityQueue("mail").isDefault)
    }
}
