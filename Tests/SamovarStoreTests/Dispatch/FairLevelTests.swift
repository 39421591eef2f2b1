import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// The labels of a queue that take turns.
@Suite struct FairLevelTests {
    private func entry(_ turn: Int) -> PriorityQueue.Entry {
        PriorityQueue.Entry(effect: EffectID(turn: turn, ordinal: 0), place: turn)
    }

    @Test func `A label of which all that waited was stale begins anew when it comes again`() {
        var level = FairLevel()
        for turn in 1...1_025 { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { _ in false }
        #expect(level.count == 0 && level.labels == 0)
        for turn in [2_001, 2_002] { level.append(entry(turn), of: "a", weight: 1) }
        level.append(entry(2_003), of: "b", weight: 1)
        #expect((0..<3).compactMap { _ in level.popFirst()?.effect.turn } == [2_001, 2_003, 2_002])
        #expect(level.count == 0)
    }

    @Test func `So does one whose stale entries were passed over on the way to the next that waits`() {
        var level = FairLevel()
        level.append(entry(1), of: "a", weight: 1)
        for turn in 2...7 { level.append(entry(turn), of: "b", weight: 1) }
        let next = level.first { $0.effect.turn > 1 }
        #expect(next?.effect.turn == 2 && level.count == 6 && level.labels == 1)
        for _ in 1...3 { _ = level.popFirst() }
        for turn in 11...13 { level.append(entry(turn), of: "a", weight: 1) }
        let order = (0..<6).compactMap { _ in level.popFirst()?.effect.turn }
        #expect(order == [5, 11, 6, 12, 7, 13], "it gets no credit for the time before")
    }

    @Test func `A label that has nothing waiting is forgotten at the moment at which its pass is over`() {
        var level = FairLevel()
        level.append(entry(1), of: "a", weight: 1)
        for turn in [2, 3] { level.append(entry(turn), of: "b", weight: 1) }
        let first = level.popFirst()
        #expect(first?.effect.turn == 1 && level.labels == 2, "its next turn would be at 1, and it is 1/2")
        let second = level.popFirst()
        #expect(second?.effect.turn == 2 && level.labels == 1)
    }

    @Test func `Stale entries are left as long as they cannot be half of what there is`() {
        var level = FairLevel()
        for turn in 1...1_000 { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { _ in false }
        #expect(level.count == 1_000, "a few may always be stale")
        for turn in 1_001...2_000 { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { $0.effect.turn > 1_000 }
        #expect(level.count == 1_000)
        for turn in 2_001...3_900 { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { _ in false }
        #expect(level.count == 2_900, "more have come, but not twice what was left and the few")
        for turn in 3_901...4_100 { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { _ in false }
        #expect(level.count == 0, "now there is more than that")
    }

    @Test func `Of what stands here twice one is left, and it keeps its place`() {
        var level = FairLevel()
        for turn in Array(1...600) + Array(1...600) { level.append(entry(turn), of: "a", weight: 1) }
        level.forgetStale { $0.effect.turn > 590 }
        #expect(level.entries.map(\.effect.turn) == Array(591...600) && level.count == 10)
    }
}
