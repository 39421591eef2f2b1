import SamovarCore
import Testing

@testable import SamovarSimulator

/// The parts on which a run's repeatability rests.
@Suite struct EngineTests {
    @Test func `Generators of one seed draw the same, and each part has its own`() {
        func throwing(_ seed: UInt64, _ part: StaticString, _ number: Int = 0) -> [Int] {
            var random = SeededRandom(seed: seed, part, number)
            return (0..<20).map { _ in random.number(0...1_000_000) }
        }
        #expect(throwing(1, "a") == throwing(1, "a"))
        #expect(throwing(1, "a") != throwing(1, "b"))
        #expect(throwing(1, "a") != throwing(2, "a"))
        #expect(throwing(1, "a") != throwing(1, "a", 1))
    }

    @Test func `The queue is in order of time, and drawn within one instant`() throws {
        var queue = EventQueue(random: SeededRandom(seed: 1, "agenda"))
        var order: [Int] = []
        for number in 0..<50 { queue.add(.happen { order.append(number) }, at: Instant(number / 25)) }
        var times: [Instant] = []
        while let (time, event) = queue.next() {
            times.append(time)
            if case .happen(let body) = event { try body() }
        }
        #expect(times == times.sorted())
        #expect(order != order.sorted() && order.sorted() == Array(0..<50))
    }

    @Test func `A process's clock drifts, and its deadlines are met in whole milliseconds`() {
        let clock = ProcessClock(wall: 1_000, started: 5 * seconds, drift: 200)
        #expect(clock.now(5 * seconds) == Timestamp(microseconds: 1_000))
        #expect(clock.now(15 * seconds) == Timestamp(microseconds: 1_000 + 10 * seconds + 2_000))
        let due = clock.now(5 * seconds) + .microseconds(1_500)
        #expect(clock.instant(of: due, after: 5 * seconds) == 5 * seconds + 2_001)
        #expect(clock.instant(of: due, after: 6 * seconds) == 6 * seconds)
    }

    @Test func `A trace keeps the last lines, and its hash does not depend on that`() {
        var short = Trace(.last(3))
        var whole = Trace(.everything)
        for number in 0..<100 {
            short.note(Instant(number), number) { "line \(number)" }
            whole.note(Instant(number), number) { "line \(number)" }
        }
        #expect(short.tail.map { $0 } == ["0.000097  line 97", "0.000098  line 98", "0.000099  line 99"])
        #expect(whole.tail.count == 100)
        #expect(short.digest == whole.digest)
    }
}
