import SamovarCore
import Testing

/// Lanes as one label has them: who runs beside whom, and what a dead one does.
@Suite struct OpenLabelsTests {
    private let label: Label = "lane"

    private func id(_ number: Int) -> EffectID { EffectID(turn: number, ordinal: 0) }

    private func lane(_ width: Int, _ behindDead: Policy.BehindDead = .goesOn, limit: Int = 9) -> Policy {
        .lane(width: width, limit: limit, behindDead: behindDead)
    }

    private func labels(_ count: Int, _ policy: Policy) -> OpenLabels {
        var labels = OpenLabels()
        for number in 1...count { labels.insert(id(number), label, policy) }
        return labels
    }

    private func remove(_ id: EffectID, _ labels: inout OpenLabels) -> [EffectID] { labels.remove(id, label) }

    private func die(_ id: EffectID, _ policy: Policy, _ labels: inout OpenLabels) -> [EffectID] { labels.die(id, label, policy) }

    private func revive(_ id: EffectID, _ labels: inout OpenLabels) -> Bool { labels.revive(id, label) }

    private func running(_ count: Int, _ labels: OpenLabels, _ policy: Policy) -> [Int] {
        (1...count).filter { !labels.isBehindAnother(id($0), RunOptions(id: label, policy: policy)) }
    }

    @Test func `So many of a lane run at once as it is wide, in order`() {
        var labels = labels(5, lane(2))
        #expect(running(5, labels, lane(2)) == [1, 2])
        #expect(remove(id(2), &labels) == [id(3)])
        #expect(remove(id(1), &labels) == [id(4)])
        #expect(remove(id(5), &labels) == [], "nobody was behind it")
        #expect(labels[label] == [id(3), id(4)])
    }

    @Test func `Serial is a lane of width 1`() {
        #expect(Policy.serial(limit: 3).lane.map { [$0.width, $0.limit] } == [1, 3])
        var labels = labels(3, .serial(limit: 9))
        #expect(running(3, labels, .serial(limit: 9)) == [1])
        #expect(remove(id(1), &labels) == [id(2)])
    }

    @Test func `Width and limit are held within their ranges`() {
        #expect(Policy.lane(width: 0, limit: 0).lane.map { [$0.width, $0.limit] } == [1, 1])
        #expect(Policy.lane(width: 5_000, limit: 9).lane?.width == 1_000)
    }

    @Test func `A dead one is passed by where the lane goes on`() {
        var labels = labels(3, lane(1))
        #expect(die(id(1), lane(1), &labels) == [id(2)])
        #expect(!revive(id(1), &labels), "it has no place any more")
        #expect(labels[label] == [id(2), id(3)])
    }

    @Test func `A dead one keeps its place where the lane stops, until it is open again or gone`() {
        let stops = lane(1, .stops)
        var labels = labels(3, stops)
        #expect(die(id(1), stops, &labels) == [])
        #expect(running(3, labels, stops) == [1], "nobody overtakes it")
        #expect(labels[label] == [id(2), id(3)], "it is not open")
        #expect(revive(id(1), &labels))
        #expect(labels[label] == [id(1), id(2), id(3)])
        #expect(die(id(1), stops, &labels) == [])
        #expect(remove(id(1), &labels) == [id(2)])
    }

    @Test func `A dead one takes up one place of a wide lane, and counts to its limit`() {
        let stops = lane(2, .stops, limit: 3)
        var labels = labels(3, stops)
        #expect(die(id(2), stops, &labels) == [])
        #expect(remove(id(1), &labels) == [id(3)])
        #expect(labels.admission(of: label, stops) == .opened)
        labels.insert(id(4), label, stops)
        #expect(labels.admission(of: label, stops) == .crowded)
        #expect(running(4, labels, stops).filter { $0 > 1 } == [2, 3])
    }

    @Test func `All that is open goes at once, and what is dead keeps its place`() {
        let stops = lane(1, .stops)
        var labels = labels(3, stops)
        _ = labels.die(id(1), label, stops)
        #expect(labels.removeOpen(label) == [id(2), id(3)] && labels[label].isEmpty)
        labels.insert(id(4), label, stops)
        #expect(labels.revive(id(1), label) && labels[label] == [id(1), id(4)])
        #expect(labels.removeOpen(label) == [id(1), id(4)] && labels == OpenLabels())
    }

    @Test func `Only what is open is replaced, and only that passes an order over`() {
        let stops = lane(1, .stops)
        var labels = labels(1, stops)
        _ = labels.die(id(1), label, stops)
        #expect(labels.admission(of: label, .latest) == .opened && labels.admission(of: label, .first) == .opened)
        labels.insert(id(2), label, .all)
        #expect(labels.admission(of: label, .latest) == .replacing && labels.admission(of: label, .first) == .passedOver)
    }

    @Test func `Whoever goes, and in whatever order, the others keep theirs`() {
        var labels = OpenLabels()
        var expected: [EffectID] = []
        for turn in 1...2_000 {
            let id = EffectID(turn: turn, ordinal: 0)
            labels.insert(id, "a", .serial(limit: .max))
            expected.append(id)
            guard turn > 40 else { continue }
            // Mostly one of the first.
            let place = turn.isMultiple(of: 7) ? turn * 7_919 % expected.count : turn % 3
            _ = labels.remove(expected.remove(at: place), "a")
            #expect(labels["a"] == expected)
        }
        var anew = OpenLabels()
        for id in expected { anew.insert(id, "a", .serial(limit: .max)) }
        #expect(labels == anew, "what has gone is no part of it")
    }
}
