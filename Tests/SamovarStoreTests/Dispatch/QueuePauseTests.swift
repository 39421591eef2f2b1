import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Queues that are paused.
@Suite struct QueuePauseTests {
    @Test func `Nothing of a paused queue is handed out, others go on, and jobs that run do`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, ["mail", .default])
        let running = hall.order(RunOptions(queue: "mail"))
        #expect(hall.assign() == 1)
        hall.dispatcher.pause("mail")
        let (held, other) = (hall.order(RunOptions(queue: "mail")), hall.order())
        #expect(hall.assign() == 1)
        #expect(hall.isRunning(running) && !hall.isRunning(held) && hall.isRunning(other))
        hall.dispatcher.pause("mail")
        hall.dispatcher.resume("mail")
        #expect(hall.assign() == 1 && hall.isRunning(held))
        hall.dispatcher.resume("mail")
        #expect(hall.dispatcher.lines.governor(of: "mail") == nil)
    }

    @Test func `A queue that is paused before anything waits in it is paused then`() {
        var hall = DispatchHall()
        hall.dispatcher.pause(.default)
        let usual = hall.order()
        hall.dispatcher.forget(usual)
        hall.dispatcher.enqueue(usual: usual, now: hall.now)
        hall.join(1)
        #expect(hall.assign() == 0)
        hall.dispatcher.resume(.default)
        #expect(hall.assign() == 1)
    }

    @Test func `A suspect of a paused queue is not handed out, and no worker is kept free for it`() {
        var hall = DispatchHall()
        hall.join(1, slots: 9, ["mail", .default])
        let suspect = hall.order(RunOptions(queue: "mail"), deaths: 9)
        hall.dispatcher.pause("mail")
        let first = hall.order()
        #expect(hall.assign() == 1 && hall.isRunning(first), "an empty worker is not for the suspect")
        hall.dispatcher.resume("mail")
        _ = hall.order()
        #expect(hall.assign() == 0, "now it is kept free")
        hall.dispatcher.pause("mail")
        #expect(hall.assign() == 1, "it is free again, and has a job more")
        hall.dispatcher.resume("mail")
        for job in hall.jobs(of: 1) { hall.end(job) }
        #expect(hall.assign() == 1 && hall.jobs(of: 1) == [suspect])
    }

    @Test func `A paused queue is not unserved`() {
        var hall = DispatchHall()
        _ = hall.order(RunOptions(queue: "mail"))
        _ = hall.order(RunOptions(queue: "news"), deaths: 9)
        func unserved() -> [String] { hall.dispatcher.unservedLines(in: hall.ledger).map { "\($0)" }.sorted() }
        #expect(unserved() == ["mail", "news"])
        for queue in ["mail", "news"] as [Queue] { hall.dispatcher.pause(queue) }
        #expect(unserved().isEmpty)
        hall.dispatcher.resume("mail")
        #expect(unserved() == ["mail"])
    }

    @Test func `Effects that are ordered and closed in a paused queue leave little behind`() {
        var hall = DispatchHall()
        hall.join(1)
        hall.dispatcher.pause(.default)
        let first = hall.order()
        for round in 1...3 {
            for _ in 1...2_000 { hall.end(hall.order()) }
            hall.dispatcher.forgetClosed(exceptOf: hall.ledger)
            #expect(hall.dispatcher.lines.entries == 1, "round \(round)")
        }
        hall.dispatcher.resume(.default)
        #expect(hall.assign() == 1 && hall.isRunning(first))
    }
}
