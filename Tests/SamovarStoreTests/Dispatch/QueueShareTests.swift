import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Queues with shares.
@Suite struct QueueShareTests {
    private static let shares = QueueRules(shares: .init(["b": 3, "c": 6]))
    private static let labels: [Label] = ["a", "b", "c"]

    /// Within 5 % of the weights 1, 3 and 6.
    private static func expectShares(_ counts: [Label?: Int], _ comment: String = "") {
        let all = counts.values.reduce(0, +)
        for (label, weight) in zip(labels, [1, 3, 6]) {
            let fair = Double(all * weight) / 10
            #expect(abs(Double(counts[label] ?? 0) - fair) <= 0.05 * fair + 1, "\(label) of \(all) \(comment): \(counts)")
        }
    }

    private static func hall(slots: Int = 1, _ rules: QueueRules = shares) -> DispatchHall {
        var hall = DispatchHall()
        hall.join(1, slots: slots)
        hall.rule(.default, rules)
        return hall
    }

    @Test func `Labels are taken as often as their weights say`() {
        var hall = Self.hall()
        for label in Self.labels { for _ in 0..<1_000 { hall.order(RunOptions(id: label)) } }
        for _ in 1...10 { Self.expectShares(hall.work(jobs: 100)) }
    }

    @Test func `When shares are taken away, what came at one time waits in the same order in every process`() {
        var labels = FairLevel()
        let turns = Array(1...40)
        for turn in turns {
            let entry = PriorityQueue.Entry(effect: EffectID(turn: turn, ordinal: 0), place: turn)
            labels.append(entry, of: Label("\(turn)"), weight: 1)
        }
        #expect(labels.entries.map(\.effect.turn) == turns)
    }

    @Test func `When shares are taken away, what was handed out under them and came back waits once, behind the others`() {
        var hall = DispatchHall()
        let effects = [hall.order(), hall.order()]
        hall.rule(.default, Self.shares)
        hall.join(1)
        #expect(hall.assign() == 1 && hall.isRunning(effects[0]))
        hall.now = at(1)
        hall.leave(1)
        hall.rule(.default, .none)
        #expect(hall.dispatcher.lines.entries == 2)
        hall.join(2, credit: 1)
        #expect(hall.assign() == 1 && hall.isRunning(effects[1]))
    }

    @Test func `Lanes that have one effect at a time keep their shares`() {
        for order in [Self.labels, Self.labels.reversed()] {
            var hall = Self.hall()
            for label in order { hall.order(RunOptions(id: label)) }
            let counts = hall.work(jobs: 1_000) { hall, label in hall.order(RunOptions(id: label)) }
            Self.expectShares(counts)
        }
    }

    @Test func `So do serial lanes whose next effect comes when the first is answered`() {
        var hall = Self.hall()
        for label in Self.labels {
            for _ in 0..<1_000 { hall.order(RunOptions(id: label, policy: .serial(limit: 1_000))) }
        }
        Self.expectShares(hall.work(jobs: 1_000))
    }

    @Test func `Lanes keep their shares over more slots than one, as far as one effect at a time can`() {
        var hall = Self.hall(slots: 2, QueueRules(shares: .init(["a": 2, "b": 3, "c": 3, "d": 4])))
        var counts: [Label?: Int] = [:]
        for label in ["a", "b", "c", "d"] as [Label] { hall.order(RunOptions(id: label)) }
        for _ in 0..<1_200 {
            hall.assign()
            guard let job = hall.jobs(of: 1).first, let label = hall.ledger.open[job]?.label else { break }
            counts[label, default: 0] += 1
            hall.end(job)
            hall.order(RunOptions(id: label))
        }
        for (label, weight) in ["a": 2, "b": 3, "c": 3, "d": 4] as [Label: Int] {
            #expect(abs(Double(counts[label] ?? 0) - Double(weight) * 100) <= 5 * Double(weight), "\(label): \(counts)")
        }
    }

    @Test func `A label that comes late, or again, gets no credit for the time before`() {
        var hall = Self.hall(QueueRules(shares: .init()))
        for _ in 0..<3_000 { hall.order(RunOptions(id: "a")) }
        hall.order(RunOptions(id: "b"))
        _ = hall.work(jobs: 1_000)
        for _ in 0..<200 { hall.order(RunOptions(id: "b")) }
        for _ in 0..<200 { hall.order() }
        let counts = hall.work(jobs: 30)
        #expect(counts.values.allSatisfy { (9...11).contains($0) } && counts.count == 3, "\(counts)")
    }

    @Test func `One that comes and goes again and again leaves the others where they are`() {
        var hall = Self.hall(QueueRules(shares: .init(["a": 7])))
        for _ in 0..<50 { hall.order(RunOptions(id: "a")) }
        func work(_ count: Int) -> [Label?: Int] {
            hall.work(jobs: count) { hall, label in if label == "a" { hall.order(RunOptions(id: "a")) } }
        }
        for round in 0..<1_000 {
            hall.order(RunOptions(id: Label("guest-\(round % 5)")))
            _ = work(1 + round % 11)
        }
        for _ in 0..<50 { hall.order(RunOptions(id: "new")) }
        let counts = work(80)
        #expect((8...12).contains(counts["new"] ?? 0), "\(counts)")
    }

    @Test func `What was closed while it waited costs its label nothing`() {
        var hall = Self.hall(QueueRules(shares: .init()))
        var closed: [EffectID] = []
        for number in 0..<1_000 {
            let effect = hall.order(RunOptions(id: "a"))
            if number % 10 < 9 { closed.append(effect) }
            hall.order(RunOptions(id: "b"))
        }
        for id in closed { hall.end(id) }
        let counts = hall.work(jobs: 200)
        #expect(counts == ["a": 100, "b": 100])
    }

    @Test func `Priorities come first, and labels have shares within each`() {
        var hall = Self.hall()
        for label in Self.labels {
            for _ in 0..<500 { hall.order(RunOptions(id: label, priority: 1)) }
            for _ in 0..<500 { hall.order(RunOptions(id: label)) }
        }
        hall.ledger.forgetChanges()
        Self.expectShares(hall.work(jobs: 500))
        for priority in [1, 0] {
            var jobs: [Int] = []
            for _ in 0..<(priority == 1 ? 1_000 : 1_500) {
                hall.assign()
                guard let job = hall.jobs(of: 1).first else { break }
                jobs.append(hall.ledger.open[job]?.options.priority ?? -1)
                hall.end(job)
            }
            #expect(jobs.allSatisfy { $0 == priority } && jobs.count == (priority == 1 ? 1_000 : 1_500))
        }
    }

    @Test func `Labels of a lesser priority have their shares, too, when all of a greater one has gone`() {
        var hall = Self.hall()
        let first = hall.order(RunOptions(priority: 1))
        for label in Self.labels { for _ in 0..<100 { hall.order(RunOptions(id: label)) } }
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [first])
        hall.end(first)
        Self.expectShares(hall.work(jobs: 100))
    }

    @Test func `A greater priority comes first, whatever was ordered before it`() {
        var hall = Self.hall()
        let orders = [0, 2, 1].map { hall.order(RunOptions(priority: $0)) }
        var taken: [EffectID] = []
        for _ in orders {
            hall.assign()
            taken += hall.jobs(of: 1)
            for job in hall.jobs(of: 1) { hall.end(job) }
        }
        #expect(taken == [orders[1], orders[2], orders[0]])
    }

    @Test func `With other shares, or none, all that waits waits on, by age`() {
        var hall = Self.hall(QueueRules())
        var orders: [EffectID] = []
        for number in 0..<30 {
            hall.now = at(Double(number))
            orders.append(hall.order(RunOptions(id: Self.labels[number % 3])))
        }
        hall.end(orders.removeLast())
        for rules in [Self.shares, QueueRules(shares: .init(["a": 5])), Self.shares] {
            hall.rule(.default, rules)
            #expect(hall.dispatcher.lines.entries == 29)
        }
        var taken: [EffectID] = []
        func take(_ count: Int) {
            for _ in 0..<count {
                hall.assign()
                taken += hall.jobs(of: 1)
                for job in hall.jobs(of: 1) { hall.end(job) }
            }
        }
        take(10)
        for label in 0..<3 {
            let ofLabel = taken.filter { $0.turn % 3 == (label + 1) % 3 }
            #expect(ofLabel == Array(orders.filter { $0.turn % 3 == (label + 1) % 3 }.prefix(ofLabel.count)), "in order")
        }
        orders.removeAll(where: taken.contains)
        taken = []
        hall.rule(.default, .none)
        take(30)
        #expect(taken == orders, "without shares, first in, first out")
    }

    @Test func `What was taken back before the shares came gives its label no earlier turn`() {
        var hall = DispatchHall()
        let orders = (["b", "a", "b"] as [Label]).map { hall.order(RunOptions(id: $0)) }
        hall.dispatcher.takeBack(orders[0])
        hall.rule(.default, QueueRules(shares: .init()))
        hall.join(1)
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [orders[1]])
    }

    @Test func `A worker gets jobs for its free slots only, so that who is next is decided late`() {
        var hall = Self.hall(slots: 3)
        for _ in 0..<9 { hall.order() }
        #expect(hall.assign() == 3)
    }

    @Test func `Of labels that come once, no more is remembered than of those that wait and a few`() {
        var level = FairLevel()
        func entry(_ turn: Int) -> PriorityQueue.Entry { .init(effect: EffectID(turn: turn, ordinal: 0), place: turn) }
        for turn in 1...5_000 { level.append(entry(turn), of: Label("\(turn)"), weight: 1) }
        var most = 0
        for turn in 5_001...20_000 {
            level.append(entry(turn), of: Label("\(turn)"), weight: 1 + turn % 1_000)
            _ = level.popFirst()
            if turn > 10_000 { _ = level.popFirst() }
            most = max(most, level.labels - 2 * level.count)
        }
        #expect(most <= FairLevel.idleLimit)
        while level.popFirst() != nil {}
        #expect(level.labels <= FairLevel.idleLimit && level.count == 0)
        for turn in 1...5_000 { level.append(entry(turn), of: Label("\(turn % 7)"), weight: 1) }
        level.forgetStale { $0.place > 4_990 }
        #expect(level.count == 10 && level.first { _ in true }?.place ?? 0 > 4_990)
        level.forgetStale { _ in false }
        #expect(level.first { _ in false } == nil && level.count == 0)
    }
}
