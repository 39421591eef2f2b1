import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Queues with a rate.
@Suite struct QueueRateTests {
    private static func rate(_ count: Int, per interval: Duration = .seconds(1), burst: Int? = nil) -> QueueRules {
        QueueRules(rate: .init(count, per: interval, burst: burst))
    }

    /// Lets a full queue out until a time, looking again only when the dispatcher wants to. Jobs end at once.
    private static func run(_ hall: inout DispatchHall, until end: Timestamp) -> [Timestamp] {
        var times: [Timestamp] = []
        while true {
            let handed = hall.assign()
            times += Array(repeating: hall.now, count: handed)
            for id in hall.dispatcher.workers.keys.sorted() {
                for job in hall.dispatcher.jobs(of: id) {
                    hall.end(job)
                    hall.order()
                }
            }
            // Who has a slot free now may get more at once.
            if handed > 0 { continue }
            guard let due = hall.dispatcher.nextDue else { return times }
            #expect(due > hall.now, "a wake-up in the past is a busy loop")
            guard due > hall.now, due <= end else { return times }
            hall.now = due
        }
    }

    /// No more than the rate and one burst in any window: within 1 %, and the microsecond of the clock.
    private static func expectLimit(_ times: [Timestamp], _ rule: QueueRules.Rate, _ comment: String = "") {
        let perMicrosecond = 1.01 * Double(rule.count) / Double(rule.interval.microseconds)
        var (least, worst) = (Double.infinity, -Double.infinity)
        for (number, time) in times.enumerated() {
            let line = Double(number) - perMicrosecond * Double(time.microseconds)
            least = min(least, line)
            worst = max(worst, line - least + 1)
        }
        #expect(worst <= Double(rule.burst) + perMicrosecond, "\(comment): \(worst) at once, for a burst of \(rule.burst)")
    }

    @Test func `A suspect does not stop a queue of which one is handed out at a time`() {
        var hall = DispatchHall()
        for number in [1, 2] as [UInt8] { hall.join(number, slots: 4) }
        let long = [hall.order(), hall.order()]
        #expect(hall.assign() == 2)
        hall.rule(.default, Self.rate(1))
        let suspect = hall.order(deaths: 9)
        let usual = hall.order()
        #expect(hall.assign(at: at(10)) == 1 && hall.isRunning(usual))
        for id in long { hall.end(id) }
        #expect(hall.assign(at: at(11)) == 1 && hall.isRunning(suspect))
    }

    @Test(arguments: [(10, 1_000, 10), (3, 1_000, 1), (1, 7, 1), (1_000, 1_000, 5), (95_000, 1_000, 1), (95_000, 1_000, 95)])
    func `Idle workers get what the rate allows, and no more`(_ count: Int, _ milliseconds: Int, _ burst: Int) {
        var hall = DispatchHall()
        hall.join(1, slots: 200)
        let rules = Self.rate(count, per: .milliseconds(milliseconds), burst: burst)
        hall.rule(.default, rules)
        for _ in 0..<200 { hall.order() }
        let seconds = count > 10_000 ? 0.1 : 20
        let times = Self.run(&hall, until: at(seconds))
        guard let rule = rules.rate else { return }
        Self.expectLimit(times, rule)
        let allowed = Double(count) * seconds * 1_000 / Double(milliseconds)
        #expect(Double(times.count) >= 0.99 * allowed, "\(times.count) of \(allowed)")
    }

    @Test func `A rate is of all workers together, and taken for at most 100,000 in a second`() {
        var hall = DispatchHall()
        for number in 1...9 as ClosedRange<UInt8> { hall.join(number, slots: 50) }
        hall.rule(.default, Self.rate(.max, burst: 20))
        for _ in 0..<200 { hall.order() }
        let times = Self.run(&hall, until: at(0.01))
        Self.expectLimit(times, .init(100_000, per: .seconds(1), burst: 20))
        #expect((990...1_020).contains(times.count))
    }

    @Test func `A worker gets jobs for its free slots only, and wakes nobody while it has none`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2)
        hall.rule(.default, Self.rate(10))
        for _ in 0..<20 { hall.order() }
        #expect(hall.assign() == 2 && hall.dispatcher.nextDue == nil)
        hall.end(hall.jobs(of: 1)[0])
        #expect(hall.assign() == 1)
        for _ in 0..<7 {
            hall.end(hall.jobs(of: 1)[0])
            hall.assign()
        }
        #expect(hall.dispatcher.nextDue == nil)
        hall.end(hall.jobs(of: 1)[0])
        #expect(hall.assign() == 0 && hall.dispatcher.nextDue == at(0.1))
        #expect(hall.assign(at: at(0.05)) == 0 && hall.dispatcher.nextDue == at(0.1))
        #expect(hall.assign(at: at(0.1)) == 1 && hall.dispatcher.nextDue == nil)
    }

    @Test func `A time that has come wakes nobody again, though nothing is assigned any more`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2)
        hall.rule(.default, Self.rate(1))
        for _ in 0..<2 { hall.order() }
        #expect(hall.assign() == 1 && hall.dispatcher.nextDue == at(1))
        #expect(hall.dispatcher.popDue(now: at(0.5)) == nil && hall.dispatcher.nextDue == at(1), "it has not come")
        #expect(hall.dispatcher.popDue(now: at(1)) == nil && hall.dispatcher.nextDue == nil)
    }

    @Test func `What does not wait any more is not waited for`() {
        var hall = DispatchHall()
        hall.join(1, slots: 2)
        hall.rule(.default, Self.rate(1))
        hall.order()
        let second = hall.order()
        #expect(hall.assign() == 1 && hall.dispatcher.nextDue == at(1))
        hall.end(second)
        #expect(hall.assign() == 0 && hall.dispatcher.nextDue == nil)
    }

    @Test func `To change a rate gives no tokens, however often, nor does to take it back meanwhile`() {
        var hall = DispatchHall()
        hall.join(1, slots: 500)
        hall.rule(.default, Self.rate(10, burst: 10))
        for _ in 0..<500 { hall.order() }
        #expect(hall.assign() == 10)
        var handed = 0
        for round in 1...100 {
            hall.now = at(Double(round) / 100)
            hall.rule(.default, .none)
            hall.rule(.default, Self.rate(10 + round % 2, burst: 10 + round % 7))
            handed += hall.assign()
        }
        #expect((9...11).contains(handed), "\(handed)")
        hall.rule(.default, Self.rate(5, burst: 100))
        #expect(hall.assign() == 0, "the greater burst is empty, too")
        hall.rule(.default, .none)
        #expect(hall.assign() > 100, "without a rule all goes")
    }

    @Test func `Nor does to pause the queue and resume it while the rate is taken back`() {
        var hall = DispatchHall()
        hall.join(1, slots: 50)
        hall.rule(.default, Self.rate(10))
        for _ in 0..<50 { hall.order() }
        #expect(hall.assign() == 10)
        hall.rule(.default, .none)
        hall.dispatcher.pause(.default)
        hall.dispatcher.resume(.default)
        hall.rule(.default, Self.rate(10))
        #expect(hall.assign() == 0 && hall.assign(at: at(0.1)) == 1)
    }

    @Test func `A rate begins full, and after a restart empty`() {
        func first(isNew: Bool) -> [Int] {
            var hall = DispatchHall()
            hall.join(1, slots: 50)
            hall.rule(.default, Self.rate(10), isNew: isNew)
            for _ in 0..<50 { hall.order() }
            return [0, 0.05, 0.1, 0.2].map { hall.assign(at: at($0)) }
        }
        #expect(first(isNew: true) == [10, 0, 1, 1])
        #expect(first(isNew: false) == [0, 0, 1, 1])
    }

    @Test func `A rule that was taken back is forgotten when its tokens are there again`() {
        var hall = DispatchHall()
        hall.join(1, slots: 50)
        hall.rule(.default, Self.rate(10))
        for _ in 0..<50 { hall.order() }
        hall.assign()
        hall.rule(.default, .none)
        // The microsecond in which the last of the ten is back.
        hall.now = at(1)
        hall.rule("mail", .none)
        hall.rule(.default, Self.rate(20))
        hall.assign()
        #expect(hall.jobs(of: 1).count == 30)
    }

    @Test func `Suspects need a token, and no worker is kept free for one that is far away`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, ["mail", .default])
        hall.rule("mail", Self.rate(1, per: .seconds(60)))
        hall.end(hall.order(RunOptions(queue: "mail")))
        let first = hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 1)
        hall.end(first)
        let suspect = hall.order(RunOptions(queue: "mail"), deaths: 9)
        let other = hall.order()
        #expect(hall.assign(at: at(1)) == 1 && hall.isRunning(other) && hall.dispatcher.nextDue == at(60))
        let another = hall.order()
        #expect(hall.assign(at: at(58.999)) == 1 && hall.isRunning(another), "it is further away than a second")
        _ = hall.order()
        #expect(hall.assign(at: at(59)) == 0, "now it is soon")
        for id in [other, another] { hall.end(id) }
        let usual = hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign(at: at(60)) == 1 && hall.isRunning(suspect))
        hall.end(suspect)
        #expect(hall.assign() == 1 && !hall.isRunning(usual), "that of the other queue")
    }

    @Test func `A worker without jobs is kept free for a suspect whose token comes soon`() {
        var hall = DispatchHall()
        hall.join(1, ["mail", .default])
        hall.rule("mail", Self.rate(1, per: .seconds(60)))
        let first = hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 1)
        hall.end(first)
        let suspect = hall.order(RunOptions(queue: "mail"), deaths: 9)
        hall.order()
        #expect(hall.assign(at: at(59.5)) == 0)
        #expect(hall.assign(at: at(60)) == 1 && hall.isRunning(suspect))
    }

    @Test func `While a worker is kept free for a suspect, a token is, too`() {
        var hall = DispatchHall()
        for number in [1, 2] as [UInt8] { hall.join(number, slots: 4) }
        let long = [hall.order(), hall.order()]
        #expect(hall.assign() == 2)
        hall.rule(.default, Self.rate(1, per: .seconds(60), burst: 2))
        let suspect = hall.order(deaths: 9)
        let usual = [hall.order(), hall.order()]
        #expect(hall.assign() == 1 && usual.count(where: hall.isRunning) == 1)
        for id in long { hall.end(id) }
        #expect(hall.assign(at: at(1)) == 1 && hall.isRunning(suspect))
    }

    @Test func `A token is kept for a suspect, too, while no worker that could take it can be emptied`() {
        var hall = DispatchHall()
        let needs = RunOptions(queue: "mail", needs: ["gpu"])
        hall.join(1, slots: 4, ["mail"])
        hall.join(2, ["mail"], can: ["gpu"])
        hall.order(needs, isOfSource: true)
        #expect(hall.assign() == 1)
        hall.rule("mail", Self.rate(1, per: .seconds(60), burst: 2))
        hall.order(needs, deaths: 9)
        hall.order(RunOptions(queue: "mail"))
        hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 1)
    }

    @Test func `A token is kept for the suspect for which a worker is kept free, though one that none can take is before it`() {
        var hall = DispatchHall()
        hall.join(1, ["mail"])
        hall.order(RunOptions(queue: "mail"), isOfSource: true)
        #expect(hall.assign() == 1)
        for number in [2, 3] as [UInt8] { hall.join(number, slots: 4, ["news"]) }
        for _ in 1...2 { hall.order(RunOptions(queue: "news")) }
        #expect(hall.assign() == 2)
        hall.rule("news", Self.rate(1, per: .seconds(60), burst: 2))
        hall.order(RunOptions(queue: "mail"), deaths: 9)
        let suspect = hall.order(RunOptions(queue: "news"), deaths: 9)
        for _ in 1...2 { hall.order(RunOptions(queue: "news")) }
        #expect(hall.assign() == 1 && !hall.isRunning(suspect))
        for job in hall.jobs(of: 2) { hall.end(job) }
        #expect(hall.assign(at: at(1)) == 1 && hall.jobs(of: 2) == [suspect])
    }

    @Test func `No token is kept for a suspect that no worker can take at all`() {
        var hall = DispatchHall()
        hall.join(1, slots: 4, ["mail"])
        hall.rule("mail", Self.rate(1, per: .seconds(60), burst: 2))
        let suspect = hall.order(RunOptions(queue: "mail", needs: ["gpu"]), deaths: 9)
        hall.order(RunOptions(queue: "mail"))
        hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 2 && !hall.isRunning(suspect))
    }

    @Test(arguments: [1, 2, 3, .max] as [UInt64])
    func `In no window more is handed out than a rate allows, whoever comes and goes`(_ seed: UInt64) {
        let seed = seed == .max ? UInt64.random(in: 1_000..<1 << 40) : seed
        print("queue rates: seed \(seed)")
        var random = Random(seed: seed)
        var hall = DispatchHall()
        let rules = Self.rate(
            Int.random(in: 1...200, using: &random), per: .milliseconds(Int.random(in: 200...2_000, using: &random)),
            burst: Int.random(in: 1...50, using: &random))
        guard let rule = rules.rate else { return }
        hall.rule(.default, rules)
        var times: [Timestamp] = []
        var here: Set<UInt8> = []
        while hall.now < at(100) {
            let number = UInt8.random(in: 1...6, using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0:
                hall.join(number, slots: Int.random(in: 1...8, using: &random))
                here.insert(number)
            case 1 where here.remove(number) != nil: hall.leave(number)
            case 2...5: for _ in 0..<Int.random(in: 0...20, using: &random) { hall.order() }
            default: for job in hall.jobs(of: number).shuffled(using: &random).dropFirst(1) { hall.end(job) }
            }
            hall.rule(.default, rules)
            times += Array(repeating: hall.now, count: hall.assign())
            let step = hall.now + .milliseconds(Int.random(in: 0...60, using: &random))
            let due = hall.dispatcher.nextDue ?? step
            #expect(due > hall.now || step == hall.now, "seed \(seed)")
            hall.now = min(step, due)
        }
        #expect(!times.isEmpty)
        Self.expectLimit(times, rule, "seed \(seed)")
    }
}
