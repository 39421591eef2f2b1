import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Effects that need something of their worker, and how it stands with queues.
@Suite struct QueueNeedsTests {
    private func needs(_ needs: Set<String>, _ queue: Queue = .default) -> RunOptions { RunOptions(queue: queue, needs: needs) }

    @Test func `A worker gets what needs no more than it can do, and first what needs most`() {
        var hall = DispatchHall()
        let plain = hall.order()
        let (gpu, both, other) = (hall.order(needs(["gpu"])), hall.order(needs(["gpu", "av1"])), hall.order(needs(["tape"])))
        hall.join(1, slots: 9, can: ["gpu", "av1", "disk"])
        hall.join(2, slots: 9)
        #expect(hall.assign() == 3 && !hall.isRunning(other))
        #expect(hall.jobs(of: 2) == [plain] || hall.jobs(of: 1) == [both, gpu, plain])
        hall.join(3, slots: 9, can: ["tape"])
        #expect(hall.assign() == 1 && hall.jobs(of: 3) == [other])
    }

    @Test func `So it is when the worker is there first`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, ["mail", .default], can: ["gpu", "av1"])
        let orders = [
            hall.order(), hall.order(needs(["gpu"])), hall.order(needs(["av1", "gpu"])), hall.order(needs(["av1"])),
            hall.order(needs(["gpu"], "mail")), hall.order(needs(["gpu", "tape"])), hall.order(needs(["gpu"], "news")),
        ]
        #expect(hall.assign() == 5)
        #expect(hall.jobs(of: 1) == [4, 2, 3, 1, 0].map { orders[$0] })
        hall.join(1, slots: 9, ["mail", .default])
        _ = hall.order(needs(["gpu"]))
        #expect(hall.assign() == 0, "it cannot do it any more")
    }

    @Test func `Lines come by their queue, within one those that need most first, and else by what they need`() {
        let lines = [
            LineName(queue: .default, needs: ["av1", "gpu"]), LineName(queue: .default, needs: ["av1", "tape"]),
            LineName(queue: .default, needs: ["av1"]), LineName(queue: .default, needs: ["gpu"]), LineName(queue: .default),
            LineName(queue: "mail", needs: ["gpu", "tape"]), LineName(queue: "mail"),
        ]
        for (place, line) in lines.enumerated() {
            for (other, another) in lines.enumerated() { #expect((line < another) == (place < other), "\(line), \(another)") }
        }
    }

    @Test func `A suspect waits for a worker that can do what it needs`() {
        var hall = DispatchHall()
        hall.join(1)
        let suspect = hall.order(needs(["gpu"]), deaths: 9)
        _ = hall.order()
        #expect(hall.assign() == 1 && !hall.isRunning(suspect), "nobody is kept free who cannot do it")
        hall.join(2, can: ["gpu"])
        #expect(hall.assign() == 1 && hall.jobs(of: 2) == [suspect])
    }

    @Test func `Lines that nobody serves are told with what they need`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, ["video", .default], can: ["av1"])
        for _ in 0..<2 { hall.order(needs(["gpu", "av1"], "video")) }
        hall.order(needs(["av1"], "video"))
        hall.order(needs(["tape"]), deaths: 9)
        hall.assign()
        #expect(
            hall.dispatcher.unservedLines(in: hall.ledger).map { "\($0)" }.sorted() == [
                "default (needs tape)", "video (needs av1, gpu)",
            ])
        let line = LineName(queue: "video", needs: ["gpu", "av1"])
        let tape = LineName(queue: .default, needs: ["tape"])
        #expect(hall.dispatcher.waitingByLine(in: hall.ledger) == [line: 2, tape: 1], "what runs does not wait")
        #expect(hall.dispatcher.backlog(in: hall.ledger, now: at(0)).map(\.waiting) == [1, 2])
        hall.dispatcher.pause("video")
        #expect(hall.dispatcher.unservedLines(in: hall.ledger).map { "\($0)" } == ["default (needs tape)"])
        hall.dispatcher.setLeaving(workerID(1))
        hall.join(2, slots: 1, ["video"], can: ["gpu", "av1"])
        hall.dispatcher.resume("video")
        #expect(hall.dispatcher.unservedLines(in: hall.ledger).map { "\($0)" } == ["default (needs tape)"])
    }

    @Test func `A line with needs goes when nothing waits in it, and comes again`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, can: ["gpu"])
        let lines = hall.dispatcher.lines.all.count
        for round in 1...3 {
            let job = hall.order(needs(["gpu"]))
            for number in 0..<5 { hall.end(hall.order(needs(["gpu", "\(number)"]))) }
            #expect(hall.dispatcher.lines.all.count == lines + 6)
            hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
            #expect(hall.dispatcher.lines.all.count == lines + 1, "round \(round)")
            #expect(hall.assign() == 1 && hall.isRunning(job))
            hall.end(job)
            hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
            #expect(hall.dispatcher.lines.all.count == lines && hall.dispatcher.workers[workerID(1)]?.lines.count == 1)
        }
        hall.order(needs(["gpu"]))
        hall.leave(1)
        #expect(hall.assign() == 0 && hall.dispatcher.lines.all.count == lines)
    }

    @Test func `A line that came after its worker goes with it, if nothing waits there`() {
        var hall = DispatchHall()
        hall.join(1, can: ["gpu"])
        let job = hall.order(needs(["gpu"]))
        #expect(hall.assign() == 1)
        hall.end(job)
        hall.leave(1)
        #expect(hall.dispatcher.lines.all.isEmpty)
    }

    @Test func `Pauses and rules of a queue are those of all its lines, of new ones too`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, can: ["gpu"])
        hall.order(needs(["gpu"]))
        hall.dispatcher.pause(.default)
        hall.order()
        #expect(hall.assign() == 0)
        hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
        hall.dispatcher.resume(.default)
        #expect(hall.assign() == 2)
        hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
        hall.rule(.default, QueueRules(rate: .init(2, per: .seconds(1)), shares: .init()))
        for _ in 0..<2 {
            hall.order()
            hall.order(needs(["gpu"]))
        }
        #expect(hall.assign() == 2, "one bucket for both lines")
        hall.rule(.default, .none)
        #expect(hall.assign() == 2)
        hall.join(2, can: ["tape"])
        for label in ["a", "a", "b"] as [Label] { hall.order(RunOptions(id: label, needs: ["tape"])) }
        hall.rule(.default, QueueRules(shares: .init()))
        hall.assign()
        hall.end(hall.jobs(of: 2)[0])
        hall.assign()
        #expect(hall.jobs(of: 2).map { hall.ledger.open[$0]?.label } == ["b"], "what waits with needs has shares, too")
    }

    @Test func `How it stands is told of a queue that is paused or has rules, though nothing waits there and nobody serves it`() {
        var hall = DispatchHall()
        hall.dispatcher.pause("news")
        hall.rule("mail", QueueRules(rate: .init(1, per: .seconds(1))))
        let backlog = hall.dispatcher.backlog(in: hall.ledger, now: at(0))
        #expect(backlog.map(\.queue) == ["mail", "news"] && backlog.map(\.isPaused) == [false, true])
    }

    @Test func `It is told how it stands with each queue`() {
        var hall = DispatchHall()
        hall.join(1, slots: 3, ["mail", .default])
        hall.join(2, slots: 2, ["mail"])
        hall.join(3, slots: 9, ["mail"])
        hall.dispatcher.setLeaving(workerID(3))
        for _ in 0..<4 { hall.order(RunOptions(queue: "mail")) }
        hall.assign(at: at(1))
        hall.rule("mail", QueueRules(rate: .init(1, per: .seconds(9), burst: 1), shares: .init()), isNew: false)
        hall.dispatcher.pause("news")
        hall.now = at(2)
        hall.order(RunOptions(queue: "mail"), deaths: 9)
        hall.now = at(3)
        hall.order(RunOptions(queue: "mail"))
        hall.order(RunOptions(queue: "news", needs: ["gpu"]))
        let backlog = hall.dispatcher.backlog(in: hall.ledger, now: at(5))
        func line(_ queue: Queue, _ waiting: Int, _ running: Int, _ oldest: Duration?, slots: Int, isPaused: Bool = false)
            -> QueueBacklog
        {
            QueueBacklog(queue: queue, waiting: waiting, running: running, oldest: oldest, slots: slots, isPaused: isPaused)
        }
        #expect(
            backlog == [
                line(.default, 0, 0, nil, slots: 3), line("mail", 2, 4, .seconds(3), slots: 5),
                line("news", 1, 0, .seconds(2), slots: 0, isPaused: true),
            ])
    }
}
