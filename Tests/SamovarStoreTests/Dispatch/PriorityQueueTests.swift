import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The order of one queue, and what is stale in it.
@Suite struct PriorityQueueTests {
    private func entry(_ number: Int) -> PriorityQueue.Entry { .init(effect: EffectID(turn: number, ordinal: 0), place: number) }

    private func line(_ priorities: [Int]) -> PriorityQueue {
        var line = PriorityQueue()
        for (number, priority) in priorities.enumerated() { line.append(entry(number), priority: priority) }
        return line
    }

    private func order(_ line: PriorityQueue) -> [Int] {
        var line = line
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
        var line = line([0, 1])
        #expect(line.count == 2)
        let taken = [line.popFirst(), line.popFirst(), line.popFirst()].map { $0?.place }
        #expect(taken == [1, 0, nil] && line.count == 0)
    }

    @Test func `What is stale before the first that waits goes, and no more`() {
        var line = line([0, 0, 0, 1, 1])
        let waiting = line.first { $0.place == 1 }
        #expect(waiting?.place == 1 && line.count == 2 && order(line) == [1, 2])
        var stale = self.line([0, 0])
        let none = stale.first { _ in false }
        #expect(none?.place == nil && stale.count == 0)
    }

    @Test func `Who is here twice is so no longer when stale entries are taken out`() {
        var line = PriorityQueue()
        for _ in 0..<400 { for number in 0..<3 { line.append(entry(number), priority: 0) } }
        line.forgetStale { $0.place != 1 }
        #expect(line.count == 2 && order(line) == [0, 2])
    }

    @Test func `Stale entries are taken out when they may be half of them, and no others`() {
        var line = line(Array(repeating: 0, count: 1_024) + [1])
        line.forgetStale { $0.place.isMultiple(of: 2) }
        #expect(line.count == 513)
        for number in 2_000..<3_537 { line.append(entry(number), priority: 0) }
        line.forgetStale { _ in false }
        #expect(line.count == 2_050, "twice what was left, and 1,024")
        line.append(entry(4_000), priority: 0)
        line.forgetStale { $0.place == 4_000 }
        #expect(line.count == 1 && order(line) == [4_000])
    }
}
