import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The lines in which effects wait: one for each queue that somebody serves or in which something waits.
@Suite struct WaitingLinesTests {
    private func entry(_ turn: Int) -> PriorityQueue.Entry { .init(effect: EffectID(turn: turn, ordinal: 0), place: turn) }

    private func effects(in line: WaitingLine?) -> [Int] {
        var turns: [Int] = []
        while let next = line?.effects.value.popFirst() { turns.append(next.effect.turn) }
        return turns
    }

    @Test func `Effects wait in the line of their queue, whichever was asked for before`() {
        var lines = WaitingLines()
        lines.append(usual: entry(1))
        _ = lines.append(entry(2), RunOptions(queue: "mail", priority: 0))
        lines.append(usual: entry(3))
        _ = lines.append(entry(4), RunOptions(queue: "mail", priority: 1))
        _ = lines.append(entry(5), RunOptions(queue: .default, priority: 0))
        #expect(lines.all.count == 2 && lines.entries == 5)
        let served = lines.serve([.default, "mail"], insteadOf: [])
        #expect(served.map(\.queue) == [.default, "mail"] && lines.all.count == 2)
        #expect(effects(in: served[0]) == [1, 3, 5] && effects(in: served[1]) == [4, 2])
    }

    @Test func `A line with needs is shown to workers once, when it is new, whatever else was asked for since`() {
        var lines = WaitingLines()
        var shown: [Set<String>?] = []
        for (number, need) in ["gpu", "tape", "gpu", "tape"].enumerated() {
            shown.append(lines.append(entry(number + 1), RunOptions(queue: "mail", needs: [need]))?.needs)
        }
        #expect(shown == [["gpu"], ["tape"], nil, nil])
    }

    @Test func `A new line without needs is shown to nobody, for whoever serves its queue has it`() {
        var lines = WaitingLines()
        let shown = lines.append(entry(1), RunOptions(queue: "mail"))
        #expect(shown == nil && lines.all.map(\.queue) == ["mail"])
    }

    @Test func `A line goes with its last worker, unless something waits in it`() {
        var lines = WaitingLines()
        let first = lines.serve(["mail", "print"], insteadOf: [])
        let second = lines.serve(["mail"], insteadOf: [])
        _ = lines.append(entry(1), RunOptions(queue: "print", priority: 0))
        #expect(lines.serve([], insteadOf: first).isEmpty)
        #expect(lines.all.map(\.queue).sorted() == ["mail", "print"])
        _ = lines.serve([], insteadOf: second)
        #expect(lines.all.map(\.queue) == ["print"])
    }

    @Test func `A worker that names its queues anew keeps the lines`() {
        var lines = WaitingLines()
        let former = lines.serve(["mail"], insteadOf: [])
        let served = lines.serve(["mail"], insteadOf: former)
        #expect(served.first === former.first && served.first?.servers == 1 && lines.all.count == 1)
    }

    @Test func `What was appended after a line had gone waits in a new one`() {
        var lines = WaitingLines()
        _ = lines.append(entry(1), RunOptions(queue: "mail", priority: 0))
        _ = lines.forgetStale { _ in false }
        #expect(lines.all.count == 0)
        _ = lines.append(entry(2), RunOptions(queue: "mail", priority: 0))
        #expect(lines.all.count == 1 && effects(in: lines.serve(["mail"], insteadOf: []).first) == [2])
    }

    @Test func `Of a queue that nobody serves and in which nothing waits, nothing is remembered`() {
        var lines = WaitingLines()
        let served = lines.serve(["mail"], insteadOf: [])
        _ = lines.serve([], insteadOf: served)
        #expect(lines.lines.isEmpty)
        _ = lines.append(entry(1), RunOptions(queue: "print"))
        _ = lines.forgetStale { _ in false }
        #expect(lines.lines.isEmpty)
    }

    @Test func `Stale entries go, whether anybody serves their line or not, and a line that still has some that wait stays`() {
        var lines = WaitingLines()
        let served = lines.serve(["mail"], insteadOf: [])
        for turn in 1...2_000 {
            _ = lines.append(entry(turn), RunOptions(queue: "print", priority: 0))
            _ = lines.append(entry(turn), RunOptions(queue: "mail", priority: 0))
        }
        _ = lines.forgetStale { $0.place == 1 || $0.place > 1_997 }
        #expect(lines.entries == 8)
        #expect(effects(in: lines.serve(["print"], insteadOf: []).first) == [1, 1_998, 1_999, 2_000])
        #expect(effects(in: served.first) == [1, 1_998, 1_999, 2_000])
    }

    @Test func `Stale entries go also from a line in which labels have shares`() {
        var lines = WaitingLines()
        lines.rule("mail", QueueRules(shares: .init()), isNew: true, now: at(0)) { _ in nil }
        for turn in 1...2_000 { _ = lines.append(entry(turn), RunOptions(id: "label", queue: "mail")) }
        _ = lines.forgetStale { $0.place == 1 || $0.place > 1_997 }
        #expect(lines.entries == 4)
    }

    @Test func `Of the lines that go, those are told that a worker has still`() {
        var lines = WaitingLines()
        for (number, need) in ["gpu", "tape"].enumerated() {
            _ = lines.append(entry(number + 1), RunOptions(queue: "mail", needs: [need]))
        }
        let served = lines.serve(["mail"], can: ["gpu"], insteadOf: [])
        #expect(served.map(\.needs) == [["gpu"], []] && lines.all.count == 3)
        let gone = lines.forgetStale { _ in false }
        #expect(gone.map(\.needs) == [["gpu"]], "nobody has the one with a tape")
        #expect(lines.all.map(\.needs) == [[]])
    }

    @Test func `A line knows whether it is that of the default queue`() {
        #expect(WaitingLine(LineName(queue: .default), nil).isDefault && !WaitingLine(LineName(queue: "mail"), nil).isDefault)
    }
}
