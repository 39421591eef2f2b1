import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
@Suite struct StoreDrainTests {
    static func draining(_ jobs: Shop.Job...) throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        if !jobs.isEmpty {
            rig.deliver(inputs([.order(jobs)]), from: client(1))
            rig.round()
        }
        _ = rig.takeOrder()
        _ = rig.takePublished()
        rig.machine.drain(within: .seconds(5), now: rig.now)
        return rig
    }

    @Test func `An operator can drain a store whose disk is full, and do nothing else`() throws {
        for (verb, isRefused) in [("drain", false), ("export", true)] {
            let rig = try Rig()
            rig.machine.journalIsFull(true, now: rig.now)
            #expect((rig.ask(verb)?.refusal?.contains("only status, metrics, ") ?? false) == isRefused)
        }
    }

    @Test func `Whoever drains a store is told so also while a turn waits for the disk`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.deliver(inputs([.add(1)], from: 1), from: client(1))
        rig.round()
        rig.machine.journalIsFull(true, now: rig.now)
        #expect(rig.machine.head > rig.durable.head)
        #expect(rig.ask("drain")?.value["draining"] == true)
    }

    @Test func `A quiet store ends at once with record snapshot goodbye and stop`() throws {
        let rig = try Self.draining()
        rig.round()
        #expect(rig.takeOrder() == ["drain", "goodbye", "goodbye", "goodbye", "stop"])
        #expect(rig.takePublished() == [.goodbye])
        #expect(rig.stop == .drained)
        #expect(rig.snapshots.map(\.turn) == [rig.durable.head])
        #expect(rig.durable.joined == [])
    }

    @Test func `An operator's request drains the store`() throws {
        let rig = try Rig()
        #expect(rig.ask("drain")?.value["draining"] == true)
        rig.round()
        #expect(rig.stop == .drained)
    }

    @Test func `Goodbye and stop wait for the commit`() throws {
        let rig = try Self.draining()
        rig.commits = false
        rig.round()
        #expect(rig.takeOrder() == ["drain"])
        rig.commit()
        #expect(rig.takeOrder() == ["goodbye", "goodbye", "goodbye", "stop"])
    }

    @Test func `A last commit that finds the disk full is waited for until the deadline, and nobody hears of its turns`() throws {
        let rig = try Self.draining()
        rig.commits = false
        rig.round()
        _ = rig.takeOrder()
        rig.machine.journalIsFull(true, now: rig.now)
        rig.tick(.milliseconds(4_999))
        #expect(rig.stop == nil)
        rig.tick(.milliseconds(1))
        #expect(rig.stop == .drained && rig.takeOrder() == ["stop"])
    }

    @Test func `A last commit that takes long, or finds space again, is waited for`() throws {
        let rig = try Self.draining()
        rig.commits = false
        rig.round()
        _ = rig.takeOrder()
        rig.machine.journalIsFull(true, now: rig.now)
        rig.tick(.seconds(1))
        rig.machine.journalIsFull(false, now: rig.now)
        rig.tick(.seconds(100))
        #expect(rig.stop == nil)
        rig.commit()
        #expect(rig.takeOrder() == ["goodbye", "goodbye", "goodbye", "stop"])
    }

    @Test func `A lease that comes into doubt behind the last turn holds up neither goodbye nor stop`() throws {
        let rig = try Self.draining()
        rig.commits = false
        rig.round()
        _ = rig.takeOrder()
        rig.machine.leaseIsInDoubt(true, now: rig.now)
        rig.commit()
        #expect(rig.takeOrder() == ["goodbye", "goodbye", "goodbye", "stop"])
    }

    @Test func `Inputs and workers are refused while draining`() throws {
        let rig = try Self.draining(job("a"))
        _ = rig.take(client(1))
        let error = Frame.error(PeerError(.retryLater, "the store is about to stop", wait: .seconds(1)))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [error])
        #expect(rig.connectWorker(2).first == error)
        #expect(rig.exchange(inputs([.order([job("a")])]), from: client(1)) == [.receipt([applied(1, 3)], credit: 4_096)])
    }

    @Test func `Who is sent away by a store that drains comes again when that is over`() throws {
        let rig = try Self.draining(job("a"))
        _ = rig.take(client(1))
        _ = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.milliseconds(4_800))
        let error = Frame.error(PeerError(.retryLater, "the store is about to stop", wait: .milliseconds(200)))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [error])
    }

    @Test func `Who comes before the last turn is on disk is sent away at once`() throws {
        let rig = try Self.draining()
        rig.commits = false
        rig.round()
        _ = rig.takeOrder()
        #expect(
            rig.connectWorker(2) == [.error(PeerError(.retryLater, "the store is about to stop", wait: .zero))])
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [], "it hears GOODBYE, and sends again")
        _ = rig.takeOrder()
        rig.commit()
        #expect(rig.takeOrder() == ["goodbye", "goodbye", "goodbye", "stop"])
    }

    @Test func `Running jobs may finish and nothing new is handed out`() throws {
        let rig = try Self.draining(job("a"), job("b"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.seconds(1))
        #expect(rig.stop == nil)
        rig.deliver(.result([task.answered("a")], credit: 9), from: worker(1))
        rig.round()
        #expect(rig.take(worker(1)) == [.drain, .acknowledge([task.lease]), .goodbye])
        #expect(rig.stop == .drained)
        #expect(try rig.state().done == ["a"])
    }

    @Test func `Answers of a worker that has said goodbye are taken before a drain ends, in as many rounds as that takes`() throws {
        var settings = StoreSettings()
        settings.turnsPerRound = 1
        let rig = try Rig(settings)
        rig.connectClient()
        rig.connectWorker(slots: 2, credit: 2)
        rig.order(job("a"), job("b"))
        let tasks = rig.takeTasks(worker(1))
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.deliver(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 2), from: worker(1))
        rig.exchange(.goodbye, from: worker(1))
        #expect(try rig.state().done == ["a", "b"] && rig.stop == .drained)
    }

    @Test func `Whoever runs what is dropped while the store drains is told so before GOODBYE, and is not waited for`() throws {
        let rig = try Self.draining(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.ask("drop", effect: "\(task.effect)")?.refusal == nil)
        #expect(rig.take(worker(1)) == [.drain, .cancel([task.lease], number: 1), .goodbye])
        #expect(rig.stop == .drained && rig.durable.joined == [])
    }

    @Test func `What an answer cancels while the store drains is cancelled at its worker, before GOODBYE`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(slots: 2, credit: 2)
        rig.order(job("a"), Shop.Job(name: "b", id: "label"))
        let tasks = rig.takeTasks(worker(1))
        rig.machine.drain(within: .seconds(5), now: rig.now)
        let answer = tasks[0].result(.done(MessageList([packed(Shop.Message.cancel("label"))])))
        let frames = rig.exchange(.result([answer], credit: 2), from: worker(1))
        #expect(frames == [.drain, .cancel([tasks[1].lease], number: 1), .acknowledge([tasks[0].lease]), .goodbye])
        #expect(rig.stop == .drained && rig.durable.joined == [])
    }

    @Test func `Timers rest while running jobs may finish`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        rig.exchange(inputs([.watch([StoreTimerTests.every(1)]), .order([job("a")])]), from: client(1))
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.tick(.seconds(2))
        #expect(try rig.stop == nil && rig.state().ticks == [])
        #expect(rig.machine.wakeUp(now: rig.now) > rig.now)
        #expect(try rig.restarted(after: .zero).state().ticks == [])
    }

    @Test func `After drained open effects do not wait`() throws {
        let rig = try Self.draining(job("a"), job("b"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 9), from: worker(1))
        let later = try rig.restarted()
        #expect(later.connectWorker(2).tasks.map(\.name) == ["b"])
    }

    @Test func `The deadline ends it without the record`() throws {
        let rig = try Self.draining(job("a"))
        rig.tick(.milliseconds(4_999))
        #expect(rig.stop == nil)
        #expect(rig.machine.wakeUp(now: rig.now) <= at(5))
        rig.tick(.milliseconds(1))
        #expect(rig.stop == .drained)
        #expect(rig.durable.joined == [workerID(1)], "it still holds a job")
        #expect(rig.takeNotes().contains("1 job did not end in time; workers will answer after the restart"))
        #expect(try rig.restarted().connectWorker(2).tasks == [])
    }

    @Test func `Jobs that run are waited for, and workers of before that have not come back are left to the next start`() throws {
        let rig = try Self.draining(job("a"))
        rig.tick(.seconds(5))
        let later = try rig.restarted()
        later.connectClient()
        later.connectWorker(2)
        later.order(job("b"), sequence: 2)
        let task = try #require(later.takeTasks(worker(2)).first)
        later.machine.drain(within: .seconds(5), now: later.now)
        later.round()
        #expect(later.stop == nil)
        later.exchange(.result([task.answered("b")], credit: 9), from: worker(2))
        #expect(later.stop == .drained && later.durable.joined == [workerID(1)])
        let next = try later.restarted()
        #expect(next.connectWorker(3).tasks == [], "worker 1 may be running it")
        next.connectWorker(1, credit: 0)
        #expect(next.takeTasks(worker(3)).map(\.name) == ["a"], "worker 2 held nothing")
    }

    @Test func `An effect whose time to wait is limited does not fail in a drain, and waits anew after the restart`() throws {
        let rig = try Self.draining(job("a"), Shop.Job(name: "b", waiting: 3))
        rig.tick(.seconds(4))
        #expect(try rig.state().done == [] && rig.durable.ledger.open.count == 2)
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 9), from: worker(1))
        #expect(rig.stop == .drained)
        let later = try rig.restarted()
        later.tick(.milliseconds(2_999))
        #expect(try later.state().done == ["a"])
        later.tick(.milliseconds(1))
        #expect(try later.state().done == ["a", "b timed out after 0 attempts: no worker took it within 3.0 seconds"])
    }

    @Test func `The snapshot of a drain is the state of its journal`() throws {
        let rig = try Self.draining(job("a", diesSilently: true), job("b", attempts: 3, delay: 5))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 9), from: worker(1))
        let snapshot = try #require(rig.snapshots.last)
        #expect(snapshot.turn == rig.durable.head)
        #expect(try rig.durable.snapshot() == snapshot.bytes)
        let later = try Rig(journal: rig.journal, snapshot: snapshot.bytes, now: rig.now)
        #expect(try later.state() == rig.state())
    }

    @Test func `Nothing happens after the stop`() throws {
        let rig = try Self.draining()
        rig.round()
        let (head, counters) = (rig.machine.head, rig.machine.counters)
        _ = rig.takeNotes()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.connectClient(2)
        rig.connectWorker(2)
        rig.machine.received([[1, 2, 3]], from: client(3), now: rig.now)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.machine.drain(within: .seconds(1), now: rig.now)
        rig.tick(.seconds(100))
        let isViewDue = rig.machine.viewIsDue(now: rig.now)
        #expect(rig.takeOrder().last == "stop" && rig.takeNotes() == [] && !isViewDue)
        #expect(rig.machine.head == head && rig.machine.counters == counters)
    }
}
