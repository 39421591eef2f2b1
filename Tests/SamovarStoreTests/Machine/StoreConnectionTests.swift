import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Connections that come and go: what belongs to them ends with them, and what belongs to the session or the job does not.
@Suite struct StoreConnectionTests {
    // MARK: Clients

    @Test func `An input whose client is gone is applied, and its receipt is sent when the client asks again`() throws {
        let rig = try StoreClientTests.rig()
        rig.deliver(inputs([.add(1)]), from: client(1))
        // The same connection says hello for another session.
        rig.deliver(.hello(Hello(role: .client(session: session(2)), schema: shop)), from: client(1))
        rig.round()
        #expect(rig.take(client(1)).map(\.kind) == [.welcome])
        #expect(try rig.state().total == 1)
        #expect(rig.connectClient(1, epoch: 2, at: client(3)).map(\.kind) == [.welcome])
        #expect(rig.exchange(inputs([.add(1)]), from: client(3)).outcomes == [applied(1, 2)])
    }

    @Test func `What a former connection has asked for is not answered on the next`() throws {
        let rig = try StoreClientTests.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.deliver(inputs([.add(1)]), from: client(1))
        #expect(rig.connectClient(1, epoch: 2, at: client(3)).map(\.kind) == [.welcome])
        #expect(rig.take(client(1)).map(\.kind) == [.error])
        #expect(rig.exchange(inputs([.add(1)]), from: client(3)).outcomes == [applied(1, 2)])
    }

    @Test func `A HELLO on the same connection is no newer connection, and what waits goes on waiting`() throws {
        let rig = try StoreClientTests.rig()
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 2), from: client(1)) == [])
        #expect(rig.connectClient(epoch: 2).map(\.kind) == [.welcome])
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)).contains { $0.kind == .view })
    }

    @Test func `Who says goodbye leaves its place among those who read every view, and nothing of its connection`() throws {
        let rig = try StoreClientTests.rig { $0.feedReaders = 1 }
        rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(1))
        rig.exchange(.goodbye, from: client(1))
        #expect(rig.machine.clients.connections.isEmpty && rig.machine.clients.count == 0)
        rig.connectClient(2)
        #expect(rig.exchange(.viewsRequest(instance: .main, after: ViewPage.now), from: client(2)).last?.kind == .views)
    }

    @Test func `That an input was another one is told when the disk has what is known of it`() throws {
        let rig = try StoreClientTests.rig()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.exchange(inputs([.add(5)]), from: client(1)) == [])
        rig.commit()
        #expect(rig.take(client(1)).map(\.kind) == [.receipt, .error])
    }

    @Test func `On a full disk the view that was shown is the answer up to its turn, and no further`() throws {
        let rig = try StoreGateTests.full()
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 2), from: client(1)).map(\.kind) == [.view])
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 3), from: client(1)) == [])
    }

    @Test func `Who waits for a turn is told what it waits for, in each queue, and nothing of other turns`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 2)
        rig.order(job("a"), job("b"), job("c", queue: "http"), job("d", queue: "http"), job("e", queue: "zip"))
        rig.order(job("x", queue: "http"), sequence: 2)
        _ = rig.take(client(1))
        rig.connectClient(2)
        rig.exchange(.settle(turn: 3), from: client(1))
        rig.exchange(.settle(turn: 4), from: client(2))
        rig.tick(.seconds(1))
        let unserved = "no worker serves it"
        let first =
            "2 effects running in queue default; 2 effects wait in queue http, \(unserved); 1 effect waits in queue zip, \(unserved)"
        #expect(rig.take(client(1)) == [.waiting(turn: 3, on: first)])
        #expect(rig.take(client(2)) == [.waiting(turn: 4, on: "1 effect waits in queue http, \(unserved)")])
        rig.connectWorker(2, queues: ["http"], credit: 0)
        rig.tick(.seconds(1))
        #expect(rig.take(client(2)) == [.waiting(turn: 4, on: "1 effect waits in queue http")])
    }

    // MARK: Workers

    @Test func `Nothing is sent to a worker that is gone`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(1)).count == 1)
        rig.deliver(.request(AdminRequest(id: 1, verb: "drop", arguments: ["effect": "3/0"])), from: admin)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        #expect(rig.take(worker(1)) == [])
        #expect(!rig.machine.workers.connections.known.contains(workerID(1)))
    }

    @Test func `A job that waits has no token that could be guessed`() throws {
        let rig = try StoreWorkerTests.rig(credit: 0)
        rig.order(job("a"))
        let lease = Lease(start: 0, counter: 0)
        let forged = JobResult(effect: EffectID(turn: 3, ordinal: 0), lease: lease, token: 0, answer: .done([]))
        #expect(rig.exchange(.result([forged], credit: 0), from: worker(1)) == [])
        #expect(rig.machine.out.droppedFrames == 1 && rig.durable.ledger.open.count == 1)
    }

    @Test func `Of a round that is over nothing is kept`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(rig.machine.clients.answered.isEmpty && rig.machine.workers.answers.acknowledged.isEmpty)
    }

    @Test func `Who has said goodbye is unknown`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.exchange(.goodbye, from: worker(1))
        #expect(rig.exchange(.ping(1), from: worker(1)) == [.error(PeerError(.unknownPeer, "say HELLO first"))])
        #expect(!rig.machine.workers.connections.known.contains(workerID(1)))
        rig.exchange(.goodbye, from: client(1))
        #expect(rig.exchange(.ping(1), from: client(1)) == [.error(PeerError(.unknownPeer, "say HELLO first"))])
    }

    @Test func `Who has said goodbye is sent no task, whatever other worker it was before`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.connectWorker(2, credit: 0, at: worker(1))
        rig.exchange(.goodbye, from: worker(1))
        rig.order(job("a"))
        #expect(rig.take(worker(1)) == [])
    }

    @Test func `A connection that a newer one of its worker has replaced is nobody's`() throws {
        let (rig, claim, task) = try StoreRecoveryTests.running()
        rig.connectWorker(claims: [claim], epoch: 2, at: worker(2))
        _ = rig.take(worker(1))
        let unknown = Frame.error(PeerError(.unknownPeer, "say HELLO first"))
        #expect(rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1)) == [unknown])
        #expect(try rig.state().done == [])
    }

    @Test func `A worker that says HELLO anew on its connection is told nothing but its WELCOME`() throws {
        let rig = try StoreWorkerTests.rig()
        #expect(rig.connectWorker(epoch: 2).map(\.kind) == [.welcome])
    }

    @Test func `A job that is claimed on a new connection goes on, and its answer counts`() throws {
        let (rig, claim, task) = try StoreRecoveryTests.running()
        let frames = rig.connectWorker(claims: [claim], epoch: 2, at: worker(2))
        #expect(frames.map(\.kind) == [.welcome])
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(2))
        #expect(try rig.state().done == ["a"])
        #expect(rig.machine.workers.answers.worker == nil, "nothing of its frame is kept")
    }

    @Test func `A worker that comes back after a restart is not missing any more`() throws {
        let later = try StoreRecoveryTests.running().rig.restarted()
        later.round()
        #expect(later.durable.missing.count == 1)
        let head = later.machine.head
        later.connectWorker()
        #expect(later.durable.missing.isEmpty && later.machine.head == head + 1)
        later.connectWorker(epoch: 2, at: worker(2))
        #expect(later.machine.head == head + 1)
    }

    @Test func `The time of a job that leaves without a new turn begins at once`() throws {
        let rig = try StoreWorkerTests.rig(credit: 0)
        rig.order(job("a", timeout: 3))
        #expect(rig.exchange(.credit(1), from: worker(1)).tasks.count == 1)
        rig.tick(.seconds(5))
        #expect(try rig.state().done == ["a timed out after 1 attempt: no answer within its timeout"])
    }

    @Test func `Inputs that wait when a drain begins are not taken any more`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a"))
        rig.deliver(inputs([.add(1)], from: 2), from: client(1))
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.round()
        #expect(try rig.state().total == 0 && rig.stop == nil)
        #expect(rig.machine.hasWork == false)
    }

    @Test func `What is written of a failed attempt begins a group of its own`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a", attempts: 2))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.failed()], credit: 1), from: worker(1))
        var failed: [Record] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .attemptFailed = record.event { failed.append(record) }
            }
        }
        #expect(failed.map(\.origin) == [.effect(task.effect, lease: task.lease, index: 0)])
        #expect(failed.map(\.root) == [task.effect.turn] && failed.allSatisfy { !$0.continuesGroup })
    }

    @Test func `A job that a worker claims of a turn beyond the journal proves that its end is lost`() throws {
        let rig = try Rig()
        rig.round()
        let (effect, lease) = (EffectID(turn: 900, ordinal: 0), Lease(start: 1, counter: 1))
        let claim = JobClaim(effect: effect, lease: lease, token: JobProof(home, workshopSecret).token(of: effect, under: lease))
        rig.connectWorker(claims: [claim])
        #expect(rig.stop == .lostTail("worker \(workerID(1)) has seen turn 900, the journal ends at 1"))
    }

    @Test func `What a worker claims counts towards its limit for a queue`() throws {
        let rig = try Rig()
        rig.connectClient()
        func hello(_ epoch: Int, _ claims: [JobClaim] = []) -> [Frame] {
            let offer = WorkerOffer(id: workerID(1), slots: 4, queues: ["http"], limits: ["http": 1], running: claims)
            rig.deliver(.hello(Hello(role: .worker(offer), schema: shop, epoch: epoch)), from: worker(1))
            return rig.exchange(.credit(4), from: worker(1))
        }
        _ = hello(1)
        rig.order(job("a", queue: "http"), job("b", queue: "http"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(hello(2, [JobClaim(effect: task.effect, lease: task.lease, token: task.token)]).tasks == [])
        #expect(rig.exchange(.result([task.answered("a")], credit: 4), from: worker(1)).tasks.map(\.name) == ["b"])
    }

    /// A store whose worker 1 may have two jobs of one queue, and has them; others wait.
    private static func limited(
        limit: Int? = 2, _ change: (inout StoreSettings) -> Void = { _ in }
    ) throws -> (rig: Rig, tasks: [JobTask]) {
        var settings = StoreSettings()
        change(&settings)
        let rig = try Rig(settings)
        rig.connectClient()
        _ = hello(rig, 1, limit: limit)
        rig.order(job("a", queue: "http"), job("b", queue: "http"), job("c", queue: "http"), job("d", queue: "http"))
        return (rig, rig.takeTasks(worker(1)))
    }

    private static func hello(_ rig: Rig, _ epoch: Int, limit: Int? = 2, _ claims: [JobTask] = []) -> [JobTask] {
        let claims = claims.map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
        let limits: [Queue: Int] = limit.map { ["http": $0] } ?? [:]
        let offer = WorkerOffer(id: workerID(1), slots: 9, queues: ["http"], limits: limits, running: claims)
        rig.deliver(.hello(Hello(role: .worker(offer), schema: shop, epoch: epoch)), from: worker(1))
        return rig.exchange(.credit(9), from: worker(1)).tasks
    }

    @Test func `A worker that says hello anew has no more jobs of a queue than before, whether it claims them or not`() throws {
        for claimed in 0...2 {
            let (rig, tasks) = try Self.limited()
            #expect(tasks.map(\.name) == ["a", "b"])
            let again = Self.hello(rig, 2, Array(tasks.prefix(claimed)))
            #expect(again.count == 2 - claimed && rig.machine.scheduler.dispatcher.running == 2)
            let held = (tasks.prefix(claimed) + again)
            let next = rig.exchange(.result([held[0].answered("x")], credit: 9), from: worker(1)).tasks
            #expect(next.count == 1 && rig.machine.scheduler.dispatcher.running == 2)
        }
    }

    @Test func `What a worker holds since a hello without a limit counts when it names one`() throws {
        let (rig, tasks) = try Self.limited(limit: nil)
        #expect(tasks.map(\.name) == ["a", "b", "c", "d"])
        #expect(Self.hello(rig, 2, limit: 3, Array(tasks.prefix(2))).count == 1)
        #expect(rig.machine.scheduler.dispatcher.running == 3)
    }

    @Test func `An answer that waits for the disk counts towards the limit of its worker, also over a hello`() throws {
        let (rig, tasks) = try Self.limited { $0.batchTurns = 1 }
        rig.commits = false
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        rig.exchange(inputs([.add(1)], from: 3), from: client(1))
        #expect(rig.machine.turns.canTake == false)
        rig.exchange(.result(JobResults(tasks.map { $0.answered($0.name) }), credit: 9), from: worker(1))
        #expect(Self.hello(rig, 2) == [] && rig.machine.scheduler.dispatcher.running == 2)
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(try rig.state().done == ["a", "b"])
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["c", "d"] && rig.machine.scheduler.dispatcher.running == 2)
    }

    @Test func `Progress is believed of the worker that has the job, and ends with it`() throws {
        let (rig, task) = try StoreStreamTests.running()
        rig.connectWorker(2, credit: 0)
        let report = ProgressReport(effect: task.effect, lease: task.lease, progress: JobProgress(text: "half"))
        rig.exchange(.progress([report]), from: worker(2))
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == nil)
        rig.exchange(.progress([report]), from: worker(1))
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == report.progress)
        let frames = rig.exchange(.result([task.result(.returned)], credit: 0), from: worker(1))
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == nil)
        let again = try #require(frames.tasks.first)
        let next = ProgressReport(effect: again.effect, lease: again.lease, progress: JobProgress(text: "anew"))
        rig.exchange(.progress([next]), from: worker(1))
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == next.progress)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == nil)
    }

    @Test func `Acknowledgements of streams that were held back are not sent to a worker that is gone`() throws {
        let (rig, task) = try StoreStreamTests.running { $0.openEffects = 5 }
        let more = packed(Shop.Message.order([job("b"), job("c"), job("d")]))
        let streamed = task.result(.streamed(index: 1, message: more, checkpoint: nil))
        rig.exchange(.result([streamed], credit: 9), from: worker(1))
        #expect(!rig.machine.workers.streamMarks.isEmpty)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        #expect(rig.machine.workers.streamMarks.isEmpty)
    }

    @Test func `A worker without slots for more has begun only so many of its jobs`() throws {
        let rig = try StoreWorkerTests.rig(slots: 2, credit: 4)
        rig.order(job("a"), job("b"), job("c"))
        #expect(rig.takeTasks(worker(1)).count == 3)
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        #expect(rig.takeNotes().contains("worker \(workerID(1)) is dead: killed; 3 jobs taken back"))
        #expect(rig.durable.ledger.open.values.sorted { $0.id < $1.id }.map(\.deaths) == [1, 1, 0])
    }

    // MARK: Who gets the next job

    @Test func `Workers are served in turn, from one round to the next`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
        rig.connectWorker(2, slots: 9, credit: 9)
        var given: [Int] = []
        for sequence in 1...4 {
            rig.order(job("\(sequence)"), sequence: sequence)
            given.append(rig.takeTasks(worker(1)).count)
        }
        #expect(given == [1, 0, 1, 0] || given == [0, 1, 0, 1])
        _ = rig.takeTasks(worker(2))
        rig.order(job("a"), job("b"), sequence: 5)
        #expect(rig.takeTasks(worker(1)).count == 1 && rig.takeTasks(worker(2)).count == 1)
    }

    @Test func `Where no death is put up with, each effect is alone with its worker`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.suspectDeaths = 0 }
        rig.order(job("a"), job("b"))
        let first = try #require(rig.takeTasks(worker(1)).first)
        #expect(first.name == "a" && rig.machine.scheduler.dispatcher.running == 1)
        rig.exchange(.result([first.answered("a")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        #expect(try rig.state().done == ["a", "b killed its workers after 1 attempt: killed"])
    }

    @Test func `A worker that is about to leave gets no suspect, and none is kept for it`() throws {
        let rig = try StoreFailureTests.suspect()
        rig.connectWorker(3, credit: 0)
        rig.exchange(.drain, from: worker(3))
        #expect(rig.exchange(.credit(9), from: worker(3)).tasks.isEmpty)
        #expect(rig.connectWorker(4).tasks.map(\.name) == ["killer"])
    }
}
