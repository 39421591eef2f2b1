import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What goes wrong with jobs: failures, timeouts, deaths of workers.
@Suite struct StoreFailureTests {
    static func rig(slots: Int = 1, credit: Int = 1) throws -> Rig { try StoreWorkerTests.rig(slots: slots, credit: credit) }

    // MARK: Failures

    @Test func `What a worker says once more of a failed attempt is no answer of the next one that it holds`() throws {
        for isProven in [true, false] {
            let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
            rig.order(job("a", attempts: 3))
            let first = try #require(rig.takeTasks(worker(1)).first)
            rig.exchange(.result([first.failed()], credit: 9), from: worker(1))
            rig.tick(.seconds(2))
            let second = try #require(rig.takeTasks(worker(1)).first)
            #expect(second.lease > first.lease)
            // The acknowledgement was lost, and the worker dies before the store has read this.
            rig.deliver(.result([first.failed()], credit: 9), from: worker(1))
            if isProven {
                rig.machine.workerDied(workerID(1), "killed", now: rig.now)
            } else {
                try rig.machine.workerLost(workerID(1), now: rig.now)
            }
            rig.round()
            let third = rig.connectWorker(2, credit: 9).tasks.first
            #expect(third?.effect == first.effect, "proven: \(isProven)")
        }
    }

    @Test(arguments: [true, false])
    func `The last attempt of an effect fails once, whatever its worker says again after a requeue`(_ isGreeted: Bool) throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 9)
        rig.order(job("a", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 9), from: worker(1))
        #expect(rig.durable.ledger.dead.count == 1)
        #expect(rig.ask("pause", ["queue": "default"])?.refusal == nil)
        #expect(rig.ask("requeue", effect: "\(task.effect)")?.refusal == nil)
        // Its acknowledgement was lost.
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        for store in [rig, try rig.restarted()] {
            if isGreeted || store !== rig { store.connectWorker(1, claims: [claim], credit: 9, epoch: 2) }
            store.exchange(.result([task.failed()], credit: 9), from: worker(1))
            #expect(store.durable.ledger.dead.isEmpty && store.durable.ledger.open.count == 1)
        }
    }

    @Test func `A failed attempt is tried again after its pause`() throws {
        let rig = try Self.rig(credit: 9)
        rig.order(job("a", attempts: 2))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.exchange(.result([task.failed()], credit: 9), from: worker(1)) == [.acknowledge([task.lease])])
        rig.tick(.milliseconds(799))
        #expect(rig.takeTasks(worker(1)) == [])
        rig.tick(.milliseconds(401))
        let again = try #require(rig.takeTasks(worker(1)).first)
        #expect(again.attempt == 2 && again.effect == task.effect)
    }

    @Test func `The time of a task begins when it leaves, however long the disk takes`() throws {
        let rig = try Self.rig()
        rig.commits = false
        rig.order(job("a", timeout: 3))
        for _ in 1...10 {
            rig.deliver(.ping(1), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.takeTasks(worker(1)) == [])
        rig.commits = true
        rig.round()
        #expect(rig.takeTasks(worker(1)).map(\.attempt) == [1])
        rig.tick(.milliseconds(4_999))
        #expect(try rig.state().done == [], "a timeout of 3 s and 2 s of grace")
        rig.tick(.milliseconds(1))
        #expect(try rig.state().done == ["a timed out after 1 attempt: no answer within its timeout"])
    }

    @Test func `The last failure becomes the message of the program`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 1), from: worker(1))
        #expect(try rig.state().done == ["a failed after 1 attempt: no luck"])
        #expect(rig.durable.ledger.open.count + rig.durable.ledger.dead.count == 0)
    }

    @Test func `A permanent failure is not tried again`() throws {
        let rig = try Self.rig()
        rig.order(job("a", attempts: 9))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed(permanent: true)], credit: 1), from: worker(1))
        #expect(try rig.state().done == ["a failed after 1 attempt: no luck"])
    }

    @Test func `A failure of which the program makes nothing leaves a dead effect`() throws {
        let rig = try Self.rig()
        rig.order(job("a", diesSilently: true))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 1), from: worker(1))
        #expect(rig.durable.ledger.dead[task.effect]?.failure == Failure(reason: .threw, text: "no luck", attempts: 1))
        #expect(
            rig.exchange(.settle(turn: 3), from: client(1)).last
                == .settled(turn: 3, dead: ["effect 3/0 in queue default failed after 1 attempt: no luck"]))
    }

    /// Two events of one round: the effect was given back by the HELLO before its failure was taken.
    @Test func `A failure that meets a hello keeps its pause`() throws {
        let rig = try Self.rig()
        rig.order(job("a", attempts: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.deliver(.result([task.failed()], credit: 1), from: worker(1))
        #expect(rig.connectWorker(credit: 5, epoch: 2, at: worker(2)).tasks == [])
        #expect(rig.durable.ledger.open[task.effect]?.failures == 1)
    }

    // MARK: Timeouts

    @Test func `A job beyond its timeout and grace is taken back and cancelled`() throws {
        let rig = try Self.rig(credit: 9)
        rig.order(job("a", attempts: 2, timeout: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.deliver(.ping(9), from: worker(1))
        rig.tick(.milliseconds(4_999))
        #expect(rig.durable.ledger.open[task.effect]?.failures == 0)
        _ = rig.take(worker(1))
        rig.tick(.milliseconds(1))
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
        #expect(rig.durable.ledger.open[task.effect]?.failures == 1)

        // The worker's own verdict on the same attempt comes late and does not count again.
        rig.exchange(.result([task.result(.failed(.timedOut, "", permanent: false))], credit: 9), from: worker(1))
        #expect(rig.durable.ledger.open[task.effect]?.failures == 1)
    }

    @Test func `The last timeout is a failure for good with one cancel`() throws {
        let rig = try Self.rig()
        rig.order(job("a", timeout: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.tick(.seconds(5))
        #expect(rig.take(worker(1)) == [.cancel([task.lease], number: 1)])
        #expect(try rig.state().done == ["a timed out after 1 attempt: no answer within its timeout"])
    }

    @Test func `The timeout of a claimed job is enforced after a restart`() throws {
        let rig = try Self.rig()
        rig.order(job("a", timeout: 3))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let later = try rig.restarted()
        later.connectWorker(claims: [JobClaim(effect: task.effect, lease: task.lease, token: task.token)])
        later.tick(.seconds(5))
        #expect(later.take(worker(1)).contains(.cancel([task.lease], number: 1)))
    }

    // MARK: Deaths

    @Test func `Only started jobs of a dead worker count a death`() throws {
        let rig = try Self.rig(slots: 2, credit: 4)
        rig.order(job("a"), job("b"), job("c"), job("d"))
        _ = rig.takeTasks(worker(1))
        rig.machine.workerDied(workerID(1), "killed by signal 9", now: rig.now)
        rig.round()
        #expect(rig.durable.ledger.open.values.sorted { $0.id < $1.id }.map(\.deaths) == [1, 1, 0, 0])
        #expect(rig.durable.ledger.open.values.allSatisfy { $0.failures == 0 }, "a lost lease spends no retry")
        #expect(rig.durable.joined == [])
        #expect(rig.connectWorker(2, slots: 4, credit: 4).tasks.map(\.attempt).sorted() == [1, 1, 2, 2])
    }

    @Test func `An answered job is not one that its worker had started`() throws {
        let rig = try Self.rig(slots: 1, credit: 2)
        rig.order(job("a"), job("b"))
        let tasks = rig.takeTasks(worker(1))
        rig.deliver(.result([tasks[0].answered("a")], credit: 2), from: worker(1))
        rig.machine.workerDied(workerID(1), "killed by signal 9", now: rig.now)
        rig.round()
        #expect(try rig.state().done == ["a"])
        #expect(rig.durable.ledger.open[tasks[1].effect]?.deaths == 1, "the next job was running by then")
    }

    @Test func `A silent worker is dead after six seconds`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(rig.durable.joined == [workerID(1)])
        rig.tick(.seconds(1))
        #expect(rig.durable.joined == [])
        #expect(rig.takeNotes().contains("worker \(workerID(1)) is taken for dead: silent for 6 s; 1 job taken back"))
        #expect(rig.exchange(.ping(1), from: worker(1)).contains(.error(PeerError(.unknownPeer, "say HELLO first"))))
    }

    @Test func `A hello is a sign of life`() throws {
        let rig = try Self.rig()
        for _ in 1...5 { rig.tick(.seconds(1)) }
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        rig.exchange(.hello(Hello(role: .worker(offer), schema: shop, epoch: 2)), from: worker(2))
        for _ in 1...6 { rig.tick(.seconds(1)) }
        #expect(rig.durable.joined == [workerID(1)])
        rig.tick(.seconds(1))
        #expect(rig.durable.joined == [])
    }

    @Test func `An answer of a worker that dies before it is taken still counts`() throws {
        let rig = try Self.rig(slots: 3, credit: 3)
        rig.order(job("a"), job("b", attempts: 5), job("c"))
        let tasks = rig.takeTasks(worker(1))
        rig.deliver(
            .result([tasks[0].answered("a"), tasks[1].failed(), tasks[2].result(.returned)], credit: 3), from: worker(1))
        rig.machine.workerDied(workerID(1), "killed by signal 9", now: rig.now)
        rig.round()
        #expect(try rig.state().done == ["a"])
        #expect(rig.durable.ledger.open[tasks[1].effect]?.failures == 1)
        #expect(rig.durable.ledger.open.values.allSatisfy { $0.deaths == 0 })
        #expect(rig.connectWorker(2, slots: 3, credit: 3).tasks.map(\.name) == ["c"], "what was returned is free")
    }

    @Test func `A goodbye costs nothing`() throws {
        let rig = try Self.rig()
        rig.order(job("a"))
        rig.exchange(.goodbye, from: worker(1))
        #expect(rig.durable.joined == [])
        #expect(rig.durable.ledger.open.values.allSatisfy { $0.deaths + $0.failures == 0 })
        #expect(rig.connectWorker(2).tasks.map(\.attempt) == [1])
    }

    /// A job that kills its worker, with innocent ones beside it.
    static func suspect() throws -> Rig {
        let rig = try Self.rig()
        rig.order(job("killer", diesSilently: true))
        for number: UInt8 in 1...2 {
            if number > 1 { rig.connectWorker(number) }
            rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
            rig.round()
        }
        #expect(rig.durable.ledger.open.values.map(\.deaths) == [2])
        return rig
    }

    @Test func `After two deaths an effect is offered alone to an empty worker`() throws {
        let rig = try Self.suspect()
        rig.order(job("a"), job("b"), job("c"), sequence: 2)
        #expect(rig.connectWorker(3, slots: 4, credit: 4).tasks.map(\.name) == ["killer"])
        rig.machine.workerDied(workerID(3), "killed by signal 9", now: rig.now)
        rig.round()
        #expect(rig.durable.ledger.open.values.allSatisfy { $0.deaths == 0 })
        #expect(
            rig.durable.ledger.dead.values.map(\.failure)
                == [Failure(reason: .workerDied, text: "killed by signal 9", attempts: 3)])
        #expect(rig.connectWorker(4, slots: 4, credit: 4).tasks.map(\.name) == ["a", "b", "c"])
    }

    @Test func `A dead worker's effect whose failure breaks a limit ends the store, which says so`() throws {
        let rig = try Rig(engine: TrapEngine { $0 == .failure })
        rig.connectClient()
        rig.order(job("killer"))
        for number: UInt8 in 1...3 {
            #expect(rig.stop == nil)
            #expect(rig.connectWorker(number).tasks.map(\.name) == ["killer"])
            rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
            rig.round()
        }
        #expect(rig.stop == .groupLimit(.turns(0, root: 0)))
    }

    /// Lets a worker fall silent.
    static func lose(_ number: UInt8, _ rig: Rig) {
        for _ in 0..<7 {
            rig.deliver(.ping(0), from: client(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.durable.joined.contains(workerID(number)) == false)
    }

    @Test func `A worker with a source is not alone for ever after a suspect has ended`() throws {
        let rig = try StoreTimerTests.rig(Shop.Watch(id: "feed", source: job("listen")))
        rig.order(job("a"), sequence: 2)
        Self.lose(1, rig)
        let tasks = rig.connectWorker(2, slots: 9, credit: 9).tasks
        Self.lose(2, rig)
        let claims = tasks.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
        rig.connectWorker(2, slots: 9, claims: claims, credit: 9, epoch: 2)
        #expect(rig.machine.scheduler.dispatcher.workers[workerID(2)]?.isIsolated == true)
        let a = try #require(tasks.first { $0.name == "a" })
        rig.exchange(.result([a.answered("a")], credit: 9), from: worker(2))
        rig.order(job("b"), sequence: 3)
        #expect(rig.takeTasks(worker(2)).map(\.name) == ["b"])
    }

    @Test func `A suspect is offered to a worker that runs nothing but sources, which have no end`() throws {
        let rig = try StoreTimerTests.rig(Shop.Watch(id: "feed", source: job("listen")))
        rig.order(job("killer", attempts: 9), sequence: 2)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.connectWorker(2, slots: 9, credit: 9)
        rig.machine.workerDied(workerID(2), "killed", now: rig.now)
        let killer = try #require(rig.connectWorker(3, slots: 9, credit: 9).tasks.first)
        rig.exchange(.result([killer.failed()], credit: 9), from: worker(3))
        rig.tick(.milliseconds(500))
        #expect(rig.takeTasks(worker(3)).map(\.name) == ["listen"])
        rig.tick(.seconds(1))
        #expect(rig.takeTasks(worker(3)).map(\.name) == ["killer"])
    }

    @Test func `A lost lease spends no retry and is no death, but after two the effect is offered alone`() throws {
        let rig = try Self.rig()
        rig.order(job("lost"))
        Self.lose(1, rig)
        #expect(rig.connectWorker(2).tasks.map(\.name) == ["lost"])
        Self.lose(2, rig)
        #expect(rig.durable.ledger.open.values.map(\.deaths) == [0])
        #expect(rig.durable.ledger.open.values.map(\.failures) == [0])
        rig.order(job("a"), job("b"), sequence: 2)
        #expect(rig.connectWorker(3, slots: 4, credit: 4).tasks.map(\.name) == ["lost"])
        Self.lose(3, rig)
        let task = try #require(rig.connectWorker(4, slots: 4, credit: 4).tasks.first)
        #expect(task.name == "lost" && task.attempt == 1)
        rig.deliver(.result([task.answered("back")], credit: 9), from: worker(4))
        rig.round()
        #expect(try rig.state().done == ["back"])
        #expect(rig.takeTasks(worker(4)).map(\.name) == ["a", "b"])
    }

    @Test func `The losses of an effect are forgotten when it has ended`() throws {
        let rig = try Self.rig()
        rig.order(job("lost"))
        Self.lose(1, rig)
        let task = try #require(rig.connectWorker(2).tasks.first)
        var isSuspicious = !rig.machine.scheduler.dispatcher.trustsNewcomers
        #expect(isSuspicious)
        rig.exchange(.result([task.answered("back")], credit: 1), from: worker(2))
        rig.tick(.seconds(1))
        isSuspicious = !rig.machine.scheduler.dispatcher.trustsNewcomers
        #expect(!isSuspicious)
    }

    @Test func `An effect whose workers always fall silent is parked in the end, so that nothing loops`() throws {
        let rig = try Self.rig()
        rig.order(job("lost", diesSilently: true))
        Self.lose(1, rig)
        for number: UInt8 in 2...12 {
            #expect(rig.durable.ledger.dead.isEmpty)
            rig.connectWorker(number)
            Self.lose(number, rig)
        }
        let text = "its worker fell silent 10 times while it ran nothing else"
        #expect(rig.durable.ledger.dead.values.map(\.failure) == [Failure(reason: .workerDied, text: text, attempts: 10)])
    }

    @Test func `A worker that was silent and comes back with its job each time has lost one attempt`() throws {
        let rig = try Self.rig()
        rig.order(job("slow"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        for epoch in 2...15 {
            Self.lose(1, rig)
            #expect(rig.connectWorker(1, claims: [claim], epoch: epoch).tasks.isEmpty)
        }
        rig.exchange(.result([task.answered("done")], credit: 9), from: worker(1))
        #expect(try rig.state().done == ["done"])
    }

    @Test func `A source whose workers always fall silent is begun again each time, and nothing is counted`() throws {
        let rig = try StoreTimerTests.rig(Shop.Watch(id: "feed", source: job("listen")))
        for number: UInt8 in 1...14 {
            Self.lose(number, rig)
            let task = try #require(rig.connectWorker(number + 1).tasks.first)
            #expect(task.name == "listen" && task.attempt == 1)
        }
        #expect(rig.durable.ledger.open.values.map(\.failures) == [0])
        #expect(rig.durable.ledger.dead.isEmpty)
    }

    @Test func `Where no death is put up with, every effect is alone from its first attempt`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.suspectDeaths = 0 }
        rig.order(job("a"), job("b", attempts: 0), job("c", attempts: 9))
        for name in ["a", "b", "c"] {
            let tasks = rig.takeTasks(worker(1))
            #expect(tasks.map(\.name) == [name])
            for task in tasks { rig.deliver(.result([task.answered(name)], credit: 9), from: worker(1)) }
            rig.round()
        }
        #expect(try rig.state().done == ["a", "b", "c"])
        rig.order(job("d", attempts: 0), sequence: 2)
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["d"])
        rig.machine.workerDied(workerID(1), "killed by signal 9", now: rig.now)
        rig.round()
        #expect(try rig.state().done.last?.hasPrefix("d ") == true, "its first death is its last")
    }

    @Test func `What is requeued as soon as it is dead begins anew, whatever workers fell silent with it before`() throws {
        let rig = try StoreWorkerTests.rig { ($0.suspectDeaths, $0.suspectLosses) = (0, 2) }
        rig.order(job("lost", diesSilently: true))
        Self.lose(1, rig)
        rig.connectWorker(2)
        Self.lose(2, rig)
        let dead = try #require(rig.durable.ledger.dead.keys.first)
        #expect(rig.ask("requeue", effect: "\(dead)")?.refusal == nil)
        rig.connectWorker(3)
        Self.lose(3, rig)
        #expect(rig.durable.ledger.dead.isEmpty && rig.durable.ledger.open.count == 1)
        rig.connectWorker(4)
        Self.lose(4, rig)
        #expect(rig.durable.ledger.dead.count == 1)
    }

    @Test func `A suspect that ends well frees its worker`() throws {
        let rig = try Self.suspect()
        rig.order(job("a"), sequence: 2)
        let killer = try #require(rig.connectWorker(3, slots: 4, credit: 4).tasks.first)
        rig.deliver(.result([killer.answered("survived")], credit: 5), from: worker(3))
        rig.round()
        #expect(rig.takeTasks(worker(3)).map(\.name) == ["a"])
    }

    @Test func `A worker that runs a suspect stays alone with it over connections and restarts`() throws {
        let rig = try Self.suspect()
        let killer = try #require(rig.connectWorker(3, slots: 4, credit: 4).tasks.first)
        let claim = JobClaim(effect: killer.effect, lease: killer.lease, token: killer.token)
        rig.order(job("a"), sequence: 2)
        #expect(rig.connectWorker(3, slots: 4, claims: [claim], credit: 4, epoch: 2, at: worker(4)).tasks == [])
        let later = try rig.restarted()
        #expect(later.connectWorker(3, slots: 4, claims: [claim], credit: 4).tasks == [])
    }

    @Test func `A busy worker is emptied for a suspect whatever waits in queues that nobody serves`() throws {
        let rig = try Rig()
        rig.connectClient()
        // The first suspect is in a queue that has no worker any more, the second has to wait for worker 9.
        rig.order(job("stuck", queue: "http"), job("a"), job("killer"))
        for number: UInt8 in 1...2 {
            rig.connectWorker(number, queues: ["http"])
            rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
        }
        let a = try #require(rig.connectWorker(9).tasks.first)
        for number: UInt8 in 3...4 {
            #expect(rig.connectWorker(number).tasks.map(\.name) == ["killer"])
            rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
        }
        // One that is about to leave will not become empty for it.
        rig.connectWorker(5, credit: 0)
        rig.exchange(.drain, from: worker(5))
        rig.order(job("b"), sequence: 2)
        rig.deliver(.credit(9), from: worker(9))
        rig.round()
        #expect(rig.takeTasks(worker(9)) == [], "it is to become empty")
        rig.deliver(.result([a.answered("a")], credit: 9), from: worker(9))
        rig.round()
        #expect(rig.takeTasks(worker(9)).map(\.name) == ["killer"])
    }

    @Test func `No worker is emptied for a suspect of a queue that it does not serve`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.order(job("killer", queue: "http"))
        for number: UInt8 in 1...2 {
            rig.connectWorker(number, queues: ["http"])
            rig.machine.workerDied(workerID(number), "killed by signal 9", now: rig.now)
        }
        rig.order(job("busy", queue: "http"), sequence: 2)
        rig.connectWorker(3, slots: 9, credit: 9)
        rig.connectWorker(9, queues: ["http"], credit: 0)
        rig.order(job("a"), job("b"), sequence: 3)
        #expect(rig.takeTasks(worker(3)).map(\.name) == ["a", "b"])
    }

    @Test func `An unserved queue is warned of once after two seconds`() throws {
        let rig = try Self.rig()
        rig.order(job("a", queue: "http"), job("b", queue: "http"))
        let text = "2 effects wait in queue http, and no worker serves it"
        rig.tick(.seconds(1))
        rig.tick(.seconds(1))
        #expect(!rig.takeNotes().contains(text))
        for _ in 0..<3 {
            rig.deliver(.ping(1), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.takeNotes().filter { $0 == text }.count == 1)
    }

    @Test func `A queue that nobody serves and in which nothing waits is not warned of`() throws {
        let rig = try Self.rig()
        rig.connectWorker(2, queues: ["http"])
        rig.order(job("a", queue: "http"))
        let task = try #require(rig.takeTasks(worker(2)).first)
        rig.deliver(.result([task.answered("a")], credit: 1), from: worker(2))
        rig.deliver(.goodbye, from: worker(2))
        for _ in 0..<5 {
            rig.deliver(.ping(1), from: worker(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.takeNotes().filter { $0.contains("no worker serves it") } == [])
    }
}
