import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Workers that live: joining, credit, order, answers.
@Suite struct StoreWorkerTests {
    /// A store with client 1, and a worker 1 with this credit.
    static func rig(
        slots: Int = 1, credit: Int = 1, _ change: (inout StoreSettings) -> Void = { _ in }
    ) throws -> Rig {
        var settings = StoreSettings()
        change(&settings)
        let rig = try Rig(settings)
        rig.connectClient()
        rig.connectWorker(slots: slots, credit: credit)
        return rig
    }

    // MARK: Joining and credit

    @Test func `A worker joins by a record and only once`() throws {
        let rig = try Self.rig()
        #expect(rig.durable.joined == [workerID(1)])
        let head = rig.machine.head
        rig.connectWorker(epoch: 2, at: worker(2))
        #expect(rig.machine.head == head)
    }

    @Test func `A worker is sent no more than its credit`() throws {
        let rig = try Self.rig(slots: 2, credit: 2)
        rig.order(job("a"), job("b"), job("c"), job("d"))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a", "b"])
        rig.exchange(.credit(2), from: worker(1))
        rig.exchange(.credit(1), from: worker(1))
        #expect(rig.takeTasks(worker(1)) == [], "credit is a number, not a gift, and never falls")
        rig.deliver(.ping(3), from: worker(1))
        rig.round()
        let frames = rig.take(worker(1))
        #expect(frames.first == .pong(2), "the number of the last task that it was sent")
        guard case .task(let tasks, let number)? = frames.last else {
            Issue.record("\(frames)")
            return
        }
        #expect(tasks.map(\.name) == ["c"] && number == 3)
    }

    @Test func `PONG counts the tasks that have left, and none that waits for the disk`() throws {
        let rig = try Self.rig(slots: 3, credit: 3)
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a"])
        rig.commits = false
        rig.order(job("b"), job("c"), sequence: 2)
        #expect(rig.exchange(.ping(3), from: worker(1)) == [.pong(1)])
        while rig.commit() {}
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["b", "c"])
        #expect(rig.exchange(.ping(3), from: worker(1)) == [.pong(3)])
    }

    @Test func `CANCELs are numbered from each HELLO, and PONG is followed by their count`() throws {
        let rig = try Self.rig(slots: 3, credit: 3)
        rig.order(job("a"), job("b"), job("c"))
        let tasks = rig.takeTasks(worker(1))
        #expect(rig.exchange(.ping(3), from: worker(1)) == [.pong(3)], "nothing is said of none")
        for (index, task) in tasks.prefix(2).enumerated() {
            #expect(rig.ask("drop", ["effect": .string("\(task.effect)")])?.refusal == nil)
            #expect(rig.take(worker(1)) == [.cancel([task.lease], number: index + 1)])
        }
        #expect(rig.exchange(.ping(3), from: worker(1)) == [.pong(3), .cancel([], number: 2)])
        let claims = tasks.map { JobClaim($0) }
        let frames = rig.connectWorker(slots: 3, claims: claims, credit: 3, epoch: 2, at: worker(2))
        #expect(frames.contains(.cancel(tasks.prefix(2).map(\.lease), number: 1)))
        #expect(rig.exchange(.ping(3), from: worker(2)) == [.pong(0), .cancel([], number: 1)])
    }

    @Test func `The count of CANCELs does not overtake one that waits for the disk`() throws {
        let rig = try Self.rig(slots: 1, credit: 1)
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.commits = false
        #expect(rig.ask("drop", ["effect": .string("\(task.effect)")]) == nil)
        #expect(rig.exchange(.ping(1), from: worker(1)) == [.pong(1)])
        while rig.commit() {}
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1), .cancel([], number: 1)])
    }

    @Test func `CANCELs are not counted where the count would gather, or where nobody may begin anew`() throws {
        for isFull in [true, false] {
            let rig = try Self.rig(slots: 2, credit: 2)
            rig.order(job("a"), job("b"))
            let task = try #require(rig.takeTasks(worker(1)).first)
            #expect(rig.ask("drop", ["effect": .string("\(task.effect)")])?.refusal == nil)
            #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
            if isFull {
                rig.machine.journalIsFull(true, now: rig.now)
            } else {
                rig.machine.drain(within: .seconds(5), now: rig.now)
            }
            rig.round()
            _ = rig.take(worker(1))
            #expect(rig.exchange(.ping(2), from: worker(1)) == [.pong(2)])
            guard isFull else { continue }
            rig.machine.journalIsFull(false, now: rig.now)
            #expect(rig.exchange(.ping(2), from: worker(1)) == [.pong(2), .cancel([], number: 1)])
        }
    }

    @Test func `Credit is void after each hello`() throws {
        let rig = try Self.rig(credit: 5)
        rig.connectWorker(credit: 0, epoch: 2, at: worker(2))
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(2)) == [])
        rig.deliver(.credit(1), from: worker(2))
        rig.round()
        #expect(rig.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func `A HELLO that the network brings twice begins nothing anew`() throws {
        let rig = try Self.rig(credit: 5)
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a"])
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        let frames = rig.exchange(.hello(Hello(role: .worker(offer), schema: shop, epoch: 1)), from: worker(1))
        #expect(frames.map(\.kind) == [.welcome], "and job a is not handed out again")
        rig.deliver(.ping(5), from: worker(1))
        rig.round()
        #expect(rig.take(worker(1)) == [.pong(1)])
    }

    @Test func `A worker that begins at another connection is welcomed, whatever its number`() throws {
        let rig = try Self.rig()
        let frames = rig.connectWorker(1, epoch: 1, at: worker(7))
        #expect(frames.contains { if case .welcome = $0 { true } else { false } })
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(7)).map(\.name) == ["a"] && rig.takeTasks(worker(1)) == [])
    }

    @Test func `A worker that speaks before its silence is acted upon stays`() throws {
        let rig = try Self.rig { $0.batchTurns = 1 }
        rig.commits = false
        for sequence in 1...2 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.machine.turns.canTake == false)
        rig.tick(.seconds(7))
        rig.deliver(.ping(1), from: worker(1))
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(rig.durable.joined == [workerID(1)])
    }

    @Test func `A queue is first in first out`() throws {
        let rig = try Self.rig(credit: 0)
        rig.order(job("a"), job("b"))
        rig.order(job("c"), sequence: 2)
        rig.deliver(.credit(9), from: worker(1))
        rig.round()
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a", "b", "c"])
    }

    @Test func `Load spreads over workers`() throws {
        let rig = try Self.rig(slots: 4, credit: 4)
        rig.connectWorker(2, slots: 4, credit: 4)
        rig.connectWorker(3, slots: 4, queues: ["other"], credit: 4)
        rig.order(job("a"), job("b"), job("c"), job("d"))
        #expect(rig.takeTasks(worker(1)).count == 2)
        #expect(rig.takeTasks(worker(2)).count == 2)
        #expect(rig.takeTasks(worker(3)).count == 0)
    }

    @Test func `A worker that has left and is back has one share, as the others have`() throws {
        let rig = try Self.rig(slots: 9, credit: 9)
        rig.exchange(.goodbye, from: worker(1))
        rig.connectWorker(1, slots: 9, credit: 9)
        rig.connectWorker(2, slots: 9, credit: 9)
        rig.order(job("a"), job("b", attempts: 0), job("c"), job("d", attempts: 0))
        #expect(rig.takeTasks(worker(1)).count == 2 && rig.takeTasks(worker(2)).count == 2)
    }

    @Test func `An effect without options is handed out once, and nothing of it is left when it is answered`() throws {
        let rig = try Self.rig(slots: 9, credit: 9)
        for sequence in 1...3 {
            rig.order(job("a", attempts: 0), job("b"), sequence: sequence)
            let tasks = rig.takeTasks(worker(1))
            #expect(tasks.map(\.name) == ["a", "b"])
            for task in tasks { rig.exchange(.result([task.answered(task.name)], credit: 9), from: worker(1)) }
            #expect(rig.machine.scheduler.dispatcher.lines.entries == 0 && rig.machine.scheduler.dispatcher.running == 0)
            #expect(!rig.machine.scheduler.dispatcher.hasWaiting)
        }
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `A task tells what was ordered`() throws {
        let rig = try Self.rig()
        rig.order(job("a", timeout: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(task.effect == EffectID(turn: 3, ordinal: 0) && task.lease == Lease(start: 1, counter: 1))
        #expect(task.attempt == 1 && task.queue == .default && task.timeout == .seconds(3))
        #expect(Array(task.payload) == packed(job("a", timeout: 3)))
    }

    @Test func `Large effects come in frames that fit`() throws {
        let rig = try Self.rig(slots: 9, credit: 9) { $0.taskFrameBytes = 150 }
        rig.order(job("a"), job("b"), job("c"), job(String(repeating: "d", count: 500)))
        let numbers = rig.take(worker(1)).map { frame -> [Int] in
            if case .task(let tasks, let number) = frame { [tasks.count, number] } else { [] }
        }
        #expect(numbers.map { $0[0] }.reduce(0, +) == 4)
        #expect(numbers.count >= 3 && numbers.last == [1, 4])
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1[1] == $0[1] + $1[0] })
    }

    @Test func `An effect with a delay waits for it`() throws {
        let rig = try Self.rig()
        rig.order(job("a", delay: 2))
        rig.tick(.seconds(1))
        #expect(rig.takeTasks(worker(1)) == [])
        #expect(rig.machine.wakeUp(now: rig.now) <= at(2))
        rig.tick(.seconds(1))
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["a"])
    }

    // MARK: Answers

    @Test func `An answer is one group whose last message closes`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.exchange(.result([task.answered("x", "y")], credit: 2), from: worker(1)) == [.acknowledge([task.lease])])
        #expect(try rig.state().done == ["x", "y"])
        #expect(rig.durable.ledger.open.count == 0)
    }

    @Test func `An answer without messages closes by a record`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.exchange(.result([task.answered()], credit: 2), from: worker(1)) == [.acknowledge([task.lease])])
        #expect(rig.durable.ledger.open.count == 0)
        #expect(rig.machine.durable == 4)
    }

    @Test func `A result sent twice is applied once and acknowledged twice`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let result = task.answered("a")
        #expect(rig.exchange(.result([result, result], credit: 2), from: worker(1)) == [.acknowledge([task.lease, task.lease])])
        #expect(rig.exchange(.result([result], credit: 2), from: worker(1)) == [.acknowledge([task.lease])])
        #expect(try rig.state().done == ["a"])
    }

    @Test func `A failure sent twice is counted once`() throws {
        let rig = try Self.rig()
        rig.order(job("a", attempts: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 2), from: worker(1))
        rig.exchange(.result([task.failed()], credit: 2), from: worker(1))
        #expect(rig.durable.ledger.open[task.effect]?.failures == 1)

        // The acknowledgement was lost, so the worker claims what it has answered, and answers again.
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        #expect(rig.connectWorker(claims: [claim], epoch: 2, at: worker(2)).contains(.cancel([task.lease], number: 1)))
        rig.exchange(.result([task.failed()], credit: 2), from: worker(2))
        #expect(rig.durable.ledger.open[task.effect]?.failures == 1)

        // So it does after a restart of the store.
        let later = try rig.restarted(after: .milliseconds(1))
        #expect(later.connectWorker(claims: [claim]).contains(.cancel([task.lease], number: 1)))
        later.exchange(.result([task.failed()], credit: 2), from: worker(1))
        #expect(later.durable.ledger.open[task.effect]?.failures == 1)
    }

    @Test func `A late answer of a lost lease is acknowledged and changes nothing while another lease holds the effect`() throws {
        let rig = try Self.rig()
        rig.order(job("a", attempts: 3))
        let lost = try #require(rig.takeTasks(worker(1)).first)
        rig.machine.workerDied(workerID(1), "lost", now: rig.now)
        let second = try #require(rig.connectWorker(2).tasks.first)
        #expect(second.lease > lost.lease)

        rig.connectWorker(1, credit: 0, epoch: 2)
        for late in [lost.failed(), lost.answered("lost"), lost.answered(), lost.result(.returned)] {
            #expect(rig.exchange(.result([late], credit: 0), from: worker(1)) == [.acknowledge([lost.lease])])
        }
        #expect(rig.machine.workers.lateResults == 4)
        #expect(rig.durable.ledger.open[lost.effect]?.failures == 0)
        #expect(rig.take(worker(2)) == [], "it is not told to stop")
        rig.exchange(.result([second.answered("second")], credit: 2), from: worker(2))
        #expect(try rig.state().done == ["second"])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `The work of a worker that was taken for dead counts if it comes back before anybody else has the effect`() throws {
        let rig = try Self.rig()
        rig.order(job("a"), job("b"))
        let first = try #require(rig.takeTasks(worker(1)).first)
        // Its answer is under way when it is lost.
        rig.deliver(.result([first.answered("a")], credit: 2), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        rig.round()
        #expect(try rig.state().done == ["a"])

        let second = try #require(rig.connectWorker(1, credit: 1, epoch: 2).tasks.first)
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        // Or it says with HELLO that it has the job.
        let claim = JobClaim(effect: second.effect, lease: second.lease, token: second.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 3)
        rig.connectWorker(2)
        rig.exchange(.result([second.answered("b")], credit: 1), from: worker(1))
        #expect(try rig.state().done == ["a", "b"])
        #expect(rig.machine.workers.lateResults == 0)
    }

    @Test func `An answer of an attempt that has failed on record does not count, and the next is made all the same`()
        throws
    {
        let rig = try Self.rig(slots: 2, credit: 2)
        rig.order(job("a", attempts: 3, timeout: 1))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.connectWorker(2, credit: 0)
        rig.tick(.seconds(5))
        #expect(rig.take(worker(1)).contains(.cancel([task.lease], number: 1)))
        // It crossed the CANCEL.
        let frames = rig.exchange(.result([task.answered("late")], credit: 2), from: worker(1))
        #expect(frames.contains(.acknowledge([task.lease])))
        #expect(try rig.state().done == [])
        rig.tick(.seconds(5))
        let next = try #require((frames + rig.take(worker(1))).tasks.first)
        #expect(next.lease > task.lease && next.attempt == 2)
        rig.exchange(.result([next.answered("next")], credit: 3), from: worker(1))
        #expect(try rig.state().done == ["next"])
    }

    @Test func `An unreadable answer of a lost lease fails nothing`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let lost = try #require(rig.takeTasks(worker(1)).first)
        rig.machine.workerDied(workerID(1), "lost", now: rig.now)
        rig.connectWorker(2)
        rig.connectWorker(1, epoch: 2)
        rig.exchange(.result([lost.result(.done([[0xc1]]))], credit: 0), from: worker(1))
        #expect(rig.durable.ledger.open.count == 1)
    }

    @Test func `A worker that names other queues each time leaves none of them behind`() throws {
        let rig = try Self.rig()
        let before = rig.machine.scheduler.dispatcher.lines.all.count
        for round in 0..<20 { rig.connectWorker(2, queues: [Queue("queue \(round)")], epoch: round + 1) }
        #expect(rig.machine.scheduler.dispatcher.lines.all.count == before + 1)
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(1)).count == 1, "a queue that somebody serves is still served")
    }

    @Test func `A worker that leaves takes its queues with it, and one in which something waits goes later`() throws {
        let rig = try Self.rig()
        let before = rig.machine.scheduler.dispatcher.lines.all.count
        for isGoodbye in [true, false] {
            rig.connectWorker(2, queues: ["a", "b"], credit: 0)
            #expect(rig.machine.scheduler.dispatcher.lines.all.count == before + 2)
            if isGoodbye {
                rig.exchange(.goodbye, from: worker(2))
            } else {
                rig.machine.workerDied(workerID(2), "killed by signal 9", now: rig.now)
            }
            #expect(rig.machine.scheduler.dispatcher.lines.all.count == before)
        }
        rig.connectWorker(2, queues: ["a", "b"], credit: 0)
        rig.order(job("in a", queue: "a"))
        rig.exchange(.goodbye, from: worker(2))
        #expect(rig.machine.scheduler.dispatcher.lines.all.count == before + 1)
        let task = try #require(rig.connectWorker(2, queues: ["a"]).tasks.first)
        rig.exchange(.goodbye, from: worker(2))
        #expect(rig.machine.scheduler.dispatcher.lines.all.count == before + 1)
        #expect(rig.ask("drop", effect: "\(task.effect)")?.refusal == nil)
        rig.tick(.seconds(1))
        #expect(rig.machine.scheduler.dispatcher.lines.all.count == before)
    }

    @Test func `A forged token is dropped and counted`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let forgeries = [(task.lease, task.token ^ 1), (Lease(start: 1, counter: 2), task.token)].map { lease, token in
            JobTask(effect: task.effect, lease: lease, token: token, attempt: task.attempt, payload: task.payload)
        }
        for forged in forgeries {
            #expect(rig.exchange(.result([forged.answered("a")], credit: 1), from: worker(1)) == [])
        }
        #expect(rig.machine.out.droppedFrames == 2)
        #expect(rig.durable.ledger.open.count == 1)
    }

    @Test func `A token proves one job of one attempt in one timeline, and of no other secret`() {
        func token(
            _ timeline: Timeline = home, _ secret: Secret = workshopSecret, turn: Int = 1, ordinal: Int = 1, start: Int = 1,
            counter: Int = 1
        ) -> UInt64 {
            let lease = Lease(start: start, counter: counter)
            return JobProof(timeline, secret).token(of: EffectID(turn: turn, ordinal: ordinal), under: lease)
        }
        let tokens = [
            token(), token(Timeline(high: 2, low: 1)), token(Timeline(high: 1, low: 2)), token(home, Secret(high: 3, low: 5)),
            token(turn: 2), token(ordinal: 2), token(start: 2), token(counter: 2),
        ]
        #expect(Set(tokens).count == tokens.count && token() == token())
    }

    @Test func `A proven result beyond the journal stops the store`() throws {
        let rig = try Self.rig()
        let effect = EffectID(turn: 900, ordinal: 0)
        let lease = Lease(start: 1, counter: 1)
        let token = JobProof(home, workshopSecret).token(of: effect, under: lease)
        rig.exchange(
            .result([JobResult(effect: effect, lease: lease, token: token, answer: .done([]))], credit: 1), from: worker(1))
        guard case .lostTail? = rig.stop else {
            Issue.record("\(String(describing: rig.stop))")
            return
        }
    }

    @Test func `A store that has stopped has nothing more to do, whatever waits`() throws {
        let rig = try Self.rig(slots: 2, credit: 2)
        rig.order(job("a"), job("b"))
        let tasks = rig.takeTasks(worker(1))
        let beyond = EffectID(turn: 900, ordinal: 0)
        let token = JobProof(home, workshopSecret).token(of: beyond, under: tasks[1].lease)
        let lost = JobResult(effect: beyond, lease: tasks[1].lease, token: token, answer: .done([]))
        rig.deliver(.result([tasks[0].answered("a")], credit: 2), from: worker(1))
        rig.deliver(.result([lost], credit: 2), from: worker(1))
        let (isStopped, hasWork, waits) = (rig.machine.isStopped, rig.machine.hasWork, !rig.machine.workers.answers.isEmpty)
        #expect(isStopped && waits && !hasWork)
    }

    @Test func `An answer that waits when its worker leaves is not made by another`() throws {
        let rig = try Self.rig { $0.batchTurns = 1 }
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.connectWorker(2)
        rig.commits = false
        for sequence in 2...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.machine.turns.canTake == false)
        rig.deliver(.result([task.answered("a")], credit: 2), from: worker(1))
        rig.deliver(.goodbye, from: worker(1))
        rig.round()
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(try rig.state().done == ["a"])
        #expect(rig.takeTasks(worker(2)) == [])
    }

    @Test func `A late answer gives nobody an effect whose newer answer waits`() throws {
        let rig = try Self.rig { $0.turnsPerRound = 1 }
        rig.order(job("a", attempts: 3, timeout: 1))
        let first = try #require(rig.takeTasks(worker(1)).first)
        rig.connectWorker(2, credit: 0)
        for _ in 1...2 { rig.tick(.seconds(5)) }
        let second = try #require(rig.exchange(.credit(1), from: worker(2)).tasks.first)
        rig.deliver(.result([first.answered("late")], credit: 2), from: worker(1))
        rig.deliver(.result([second.answered("second")], credit: 1), from: worker(2))
        rig.deliver(.goodbye, from: worker(2))
        rig.round()
        #expect(rig.machine.workers.lateResults == 1)
        #expect(rig.takeTasks(worker(1)) == [], "it has credit, and tasks are handed out between the two answers")
        #expect(try rig.state().done == ["second"])
    }

    @Test func `An answer that waits when its worker leaves is not given up for an older attempt that goes on`() throws {
        let rig = try Self.rig { $0.batchTurns = 1 }
        rig.order(job("a"))
        let older = try #require(rig.takeTasks(worker(1)).first)
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let newer = try #require(rig.connectWorker(2).tasks.first)
        #expect(newer.effect == older.effect && newer.lease > older.lease)
        rig.commits = false
        for sequence in 2...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.machine.turns.canTake == false)
        rig.deliver(.result([newer.answered("newer")], credit: 2), from: worker(2))
        rig.deliver(.goodbye, from: worker(2))
        rig.commits = true
        let claim = JobClaim(effect: older.effect, lease: older.lease, token: older.token)
        #expect(rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2).contains(.cancel([older.lease], number: 1)))
        #expect(try rig.state().done == ["newer"])
        #expect(rig.exchange(.result([older.answered("older")], credit: 0), from: worker(1)) == [.acknowledge([older.lease])])
        #expect(try rig.state().done == ["newer"])
    }

    @Test func `An unreadable answer is a failure for good and its worker is not cancelled`() throws {
        let rig = try Self.rig()
        rig.order(job("a", attempts: 5))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(
            rig.exchange(.result([task.result(.done([[0xc1]]))], credit: 1), from: worker(1)) == [.acknowledge([task.lease])])
        #expect(try rig.state().done.first?.hasPrefix("a could not be handled after 1 attempt") == true)
    }

    @Test func `A returned job costs nothing`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.deliver(.result([task.result(.returned)], credit: 2), from: worker(1))
        rig.round()
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.effect == task.effect && again.attempt == 1 && again.lease > task.lease)
    }

    @Test func `A job that is returned with the goodbye is free at once`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.deliver(.result([task.result(.returned)], credit: 1), from: worker(1))
        rig.deliver(.goodbye, from: worker(1))
        rig.round()
        #expect(rig.connectWorker(2).tasks.map(\.effect) == [task.effect])
    }

    @Test func `A refused build is told both schemas`() throws {
        let rig = try Self.rig()
        let other = Schema(name: "Workshop", version: 2)
        let offer = WorkerOffer(id: workerID(9), slots: 1, queues: [.default])
        let text = "this store runs Workshop version 1; the worker is built for Workshop version 2"
        #expect(
            rig.exchange(.hello(Hello(role: .worker(offer), schema: other)), from: worker(9))
                == [.error(PeerError(.schema, text))])
        #expect(rig.takeNotes() == ["refused worker \(offer.id): \(text)"])
        let nameless = PeerError(.schema, "this store runs Workshop version 1; the worker names no program")
        #expect(rig.exchange(.hello(Hello(role: .worker(offer), schema: nil)), from: worker(9)) == [.error(nameless)])
        let hello = Hello(role: .client(session: session(9)), schema: other)
        #expect(
            rig.exchange(.hello(hello), from: client(9))
                == [.error(PeerError(.schema, text.replacing("worker", with: "client")))])
        let tool = Hello(role: .client(session: session(9)), schema: nil)
        guard case .welcome? = rig.exchange(.hello(tool), from: client(9)).first else {
            Issue.record("a tool needs no schema")
            return
        }
    }
}
