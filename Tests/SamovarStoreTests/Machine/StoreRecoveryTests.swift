import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Death and return of the store.
@Suite struct StoreRecoveryTests {
    /// A store with worker 1 that runs “a”, and the claim that it will make.
    static func running(timeout: Int? = nil) throws -> (rig: Rig, claim: JobClaim, task: JobTask) {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        rig.order(job("a", timeout: timeout))
        let task = try #require(rig.takeTasks(worker(1)).first)
        return (rig, JobClaim(effect: task.effect, lease: task.lease, token: task.token), task)
    }

    @Test func `What was committed is there and nothing else`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .chain(3)]), from: client(1))
        rig.commits = false
        rig.exchange(inputs([.add(100)], from: 3), from: client(1))
        let later = try rig.restarted()
        #expect(try later.state().total == 4)
        #expect(later.machine.starts == 2)
        #expect(
            later.connectClient(epoch: 2).contains(
                .welcome(Welcome(schema: shop, start: 2, expected: 3, credit: 4_096, head: 5, silence: .seconds(6)))))
        #expect(later.exchange(inputs([.add(100)], from: 3), from: client(1)) == [.receipt([applied(3, 7)], credit: 4_096)])
    }

    @Test func `A divergence that was accepted is written down by the start, and what its turn had ordered is parked`() throws {
        let (former, _, task) = try Self.running()
        let divergence = Divergence(turn: task.effect.turn, origin: .store, message: [], recorded: 1, hash: 7, orders: [])
        let rig = try Rig(journal: former.committedBatches, now: at(9), accepting: [divergence])
        rig.round()
        #expect(rig.machine.turns.state.ledger.open.isEmpty)
        #expect(rig.machine.turns.state.ledger.dead.keys.sorted() == [task.effect])
        let batch = try #require(rig.committedBatches.last)
        var accepted: [Record.Event] = []
        try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
            if case .divergenceAccepted = record.event, record.origin == .operator { accepted.append(record.event) }
        }
        #expect(accepted == [.divergenceAccepted(turn: task.effect.turn, hash: 7, build: "test")])
    }

    @Test func `Of a batch with the turn of the snapshot inside, only what follows that turn is replayed`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        // The batch before is with the journal, so these are one batch.
        rig.exchange(inputs([.add(10)], from: 2), from: client(1))
        let bytes = try rig.machine.snapshot()
        rig.exchange(inputs([.add(100)], from: 3), from: client(1))
        while rig.commit() {}
        #expect(rig.committedBatches.map(\.last) == [1, 2, 4])
        let later = try Rig(journal: rig.committedBatches, snapshot: bytes, now: rig.now)
        #expect(try later.state().total == 111)
        #expect(later.machine.head == 5, "with the record of the start")
    }

    @Test func `A replay has the terms that its host has set`() {
        var machine = Rig.machine()
        var terms = ReplayTerms()
        terms.accepted[3] = [7]
        machine.terms = terms
        let (told, used) = (machine.terms, machine.turns.state.engine.terms)
        #expect(told == terms && used == terms)
    }

    @Test func `Open effects wait for the workers of before`() throws {
        let rig = try Self.running().rig
        let later = try rig.restarted()
        #expect(later.connectWorker(2).tasks == [], "worker 1 may be running it")
        // Worker 1 says what it holds: nothing.
        #expect(later.connectWorker(1, credit: 0).tasks == [])
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    /// Found by seed 322886 of the simulator.
    @Test func `An effect that comes to the front of its label still waits for the worker that may run it`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(1)
        rig.connectWorker(2)
        rig.order(StorePolicyTests.job("a"), StorePolicyTests.job("b"))
        let tasks = [1, 2].flatMap { rig.takeTasks(worker($0)) }
        #expect(tasks.map(\.name) == ["a", "b"])
        let later = try rig.restarted()
        later.connectWorker(3, credit: 9)
        let claim = JobClaim(effect: tasks[0].effect, lease: tasks[0].lease, token: tasks[0].token)
        later.connectWorker(1, claims: [claim], credit: 0)
        later.exchange(.result([tasks[0].answered("a")], credit: 0), from: worker(1))
        #expect(later.durable.ledger.open.keys.sorted() == [tasks[1].effect])
        #expect(later.takeTasks(worker(3)) == [], "worker 2 may be running it")
        later.connectWorker(2, credit: 0)
        #expect(later.takeTasks(worker(3)).map(\.name) == ["b"])
    }

    /// Found by seed 200095488 of the simulator.
    @Test func `An attempt of before that fails gives its effect to nobody while another worker may run it under a newer lease`()
        throws
    {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker(1)
        rig.order(Shop.Job(name: "a", attempts: 3))
        let old = try #require(rig.takeTasks(worker(1)).first)
        rig.machine.workerDied(workerID(1), "lost", now: rig.now)
        let newer = try #require(rig.connectWorker(2).tasks.first)
        let claim = JobClaim(effect: old.effect, lease: old.lease, token: old.token)
        for leaves in [false, true] {
            let later = try rig.restarted()
            later.connectWorker(3, credit: 9)
            later.connectWorker(1, claims: [claim], credit: 0)
            later.exchange(leaves ? .goodbye : .result([old.failed()], credit: 0), from: worker(1))
            later.tick(.seconds(2))
            #expect(later.takeTasks(worker(3)) == [], "worker 2 may be running it")
            later.connectWorker(2, claims: [JobClaim(effect: newer.effect, lease: newer.lease, token: newer.token)], credit: 0)
            #expect(later.takeTasks(worker(3)) == [], "worker 2 is running it")
            later.exchange(.result([newer.answered("a")], credit: 0), from: worker(2))
            #expect(later.durable.ledger.open.isEmpty)
        }
    }

    @Test func `Open effects wait no longer than the silence`() throws {
        let later = try Self.running().rig.restarted()
        later.connectWorker(2)
        later.tick(.milliseconds(5_999))
        #expect(later.takeTasks(worker(2)) == [])
        later.deliver(.ping(1), from: worker(2))
        #expect(later.machine.wakeUp(now: later.now) <= later.now + .milliseconds(1))
        later.tick(.milliseconds(1))
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
        #expect(later.durable.joined == [workerID(2)])
    }

    @Test func `A wall clock that was set back while the store was down does not hold its time`() throws {
        let later = try Self.running().rig.restarted(after: .seconds(-3_600))
        later.round()
        let lead = "the newest turn is 3600 s ahead of this clock: timers, and the ends of keys, go by the turn's time"
        #expect(later.notes.contains { $0.level == .warning && $0.text.hasPrefix(lead) }, "\(later.notes)")
        later.connectWorker(2)
        _ = later.takePublished()
        for _ in 1...7 {
            later.deliver(.ping(1), from: worker(2))
            later.tick(.seconds(1))
            #expect(later.machine.wakeUp(now: later.now) <= later.now + .seconds(1))
        }
        let ticks = later.takePublished().filter { if case .tick = $0 { true } else { false } }
        #expect(ticks.count == 7)
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"], "worker 1 has been silent for 7 s")
        #expect(later.machine.turns.state.time >= at(0), "and no turn is earlier than the one before it")
    }

    @Test func `Open effects wait no longer than the report of a supervisor`() throws {
        let later = try Self.running().rig.restarted()
        later.connectWorker(2)
        later.machine.workerDied(workerID(1), "killed by signal 9", now: later.now)
        later.round()
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func `Workers of before that never come back are forgotten even if nothing waits for them`() throws {
        let rig = try Rig()
        rig.connectWorker()
        let later = try rig.restarted()
        #expect(later.durable.joined == [workerID(1)])
        later.tick(.seconds(6))
        #expect(later.durable.joined == [])
        later.machine.drain(within: .seconds(5), now: later.now)
        later.round()
        #expect(later.stop == .drained)
    }

    @Test func `However long a worker of before has been missing, each start leaves it the time to come back`() throws {
        let first = try Self.running().rig.restarted()
        first.round()
        let later = try first.restarted(after: .seconds(10))
        #expect(later.connectWorker(2).tasks == [], "worker 1 may be running it")
        later.tick(.milliseconds(1_999))
        #expect(later.takeTasks(worker(2)) == [] && later.durable.joined == [workerID(1), workerID(2)])
        #expect(later.machine.wakeUp(now: later.now) <= later.now + .milliseconds(1))
        later.tick(.milliseconds(1))
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"] && later.durable.joined == [workerID(2)])
    }

    /// Else a store that is killed every few seconds would never hand out anything.
    @Test func `A store that is restarted again and again waits for the silence once, and in each start for two seconds`() throws {
        var (rig, _, _) = try Self.running()
        for _ in 0..<3 {
            rig = try rig.restarted(after: .seconds(2))
            #expect(rig.connectWorker(2).tasks == [], "worker 1 may still run it")
        }
        rig = try rig.restarted(after: .seconds(2))
        rig.connectWorker(2)
        rig.tick(.seconds(2))
        #expect(rig.durable.joined == [workerID(2)])
    }

    @Test func `In an outage, which sends workers away, those of before are missing for no time`() throws {
        let later = try Self.running().rig.restarted()
        later.machine.journalIsFull(true, now: later.now)
        later.tick(later.machine.settings.silence * 3)
        #expect(later.machine.wakeUp(now: later.now) > later.now && later.machine.turns.state.joined.contains(workerID(1)))
        later.machine.journalIsFull(false, now: later.now)
        later.connectWorker(2)
        later.tick(later.machine.settings.silence - .milliseconds(1))
        later.exchange(.ping(1), from: worker(2))
        #expect(later.takeTasks(worker(2)) == [], "worker 1 may still run it")
        later.tick(.milliseconds(1))
        #expect(later.durable.joined == [workerID(2)] && later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func `Behind an outage a worker of before has the time to come back, however long it was missing`() throws {
        let later = try Self.running().rig.restarted()
        later.tick(later.machine.settings.silence - .seconds(1))
        later.machine.journalIsFull(true, now: later.now)
        later.tick(.seconds(60))
        later.machine.journalIsFull(false, now: later.now)
        later.tick(.milliseconds(1_999))
        #expect(later.durable.joined == [workerID(1)])
        later.tick(.milliseconds(1))
        #expect(later.durable.joined == [])
    }

    @Test func `Outages that come and go do not begin that time anew`() throws {
        let later = try Self.running().rig.restarted()
        for round in 0..<3 {
            #expect(later.machine.turns.state.joined.contains(workerID(1)), "round \(round)")
            later.machine.journalIsFull(true, now: later.now)
            later.tick(.seconds(4))
            later.machine.journalIsFull(false, now: later.now)
            later.tick(.seconds(2))
        }
        #expect(later.durable.joined == [] && later.connectWorker(2).tasks.map(\.name) == ["a"])
    }

    @Test func `A claimed job is adopted and its answer applied`() throws {
        let (rig, claim, task) = try Self.running()
        let later = try rig.restarted()
        later.connectWorker(2)
        later.connectWorker(1, claims: [claim])
        #expect(later.takeTasks(worker(2)) == [], "worker 1 runs it")
        later.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(try later.state().done == ["a"])
    }

    @Test func `A claim of a closed effect is cancelled`() throws {
        let (rig, claim, task) = try Self.running()
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        let later = try rig.restarted()
        #expect(later.connectWorker(1, claims: [claim]).contains(.cancel([task.lease], number: 1)))
    }

    @Test func `A claim without proof is dropped`() throws {
        let (rig, claim, _) = try Self.running()
        let later = try rig.restarted()
        var forged = claim
        forged.token ^= 1
        later.connectWorker(2, credit: 0)
        later.connectWorker(1, claims: [forged], credit: 0)
        #expect(later.machine.out.droppedFrames == 1)
        later.deliver(.credit(1), from: worker(2))
        later.round()
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func `The greater of two claims fences the smaller`() throws {
        let (rig, old, task) = try Self.running()
        rig.machine.workerDied(workerID(1), "lost", now: rig.now)
        let newer = try #require(rig.connectWorker(2).tasks.first)
        let claim = JobClaim(effect: newer.effect, lease: newer.lease, token: newer.token)

        let later = try rig.restarted()
        later.connectWorker(1, claims: [old])
        later.connectWorker(2, claims: [claim])
        #expect(later.take(worker(1)) == [.cancel([task.lease], number: 1)])

        let reverse = try rig.restarted()
        reverse.connectWorker(2, claims: [claim])
        #expect(reverse.connectWorker(1, claims: [old]).contains(.cancel([task.lease], number: 1)))
        #expect(reverse.take(worker(2)) == [])
    }

    @Test func `Leases of different starts are never equal`() throws {
        let (rig, _, task) = try Self.running()
        let later = try rig.restarted()
        let again = try #require(later.connectWorker(1).tasks.first)
        #expect(again.effect == task.effect)
        #expect(again.lease == Lease(start: 2, counter: 1) && again.lease > task.lease)
        #expect(again.token != task.token)
    }

    @Test func `Another timeline claims nothing`() throws {
        let (rig, claim, _) = try Self.running()
        let later = try rig.restarted()
        #expect(later.connectWorker(1, claims: [claim], of: abroad).tasks.map(\.name) == ["a"])
    }

    // MARK: Lost tails

    /// What a store of this timeline gave to a peer that it told of a turn.
    private static func proof(of turn: Int, in timeline: Timeline = home) -> UInt64 {
        TurnProof(of: turn, in: timeline, workshopSecret).code
    }

    @Test func `A witness of a turn beyond the journal stops the store`() throws {
        let rig = try Rig()
        rig.round()
        rig.connectClient(witness: 1, proof: Self.proof(of: 1))
        #expect(rig.stop == nil)
        rig.connectClient(2, witness: 2, proof: Self.proof(of: 2))
        #expect(rig.stop == .lostTail("a client has seen turn 2, the journal ends at 1"))
        let advice = "Put the newer journal back; or go on with this one as a new timeline: journal export, then journal import"
        #expect(rig.stop?.description.hasSuffix(advice) == true)
    }

    @Test func `A workers witness of a turn beyond the journal stops the store`() throws {
        let rig = try Rig()
        rig.round()
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        let hello = Hello(role: .worker(offer), schema: shop, witness: 2, proof: Self.proof(of: 2))
        rig.exchange(.hello(hello), from: worker(1))
        #expect(rig.stop == .lostTail("worker \(workerID(1)) has seen turn 2, the journal ends at 1"))
    }

    /// Nobody can have been told of turns that are not on disk, so they prove nothing.
    @Test func `Turns on their way to the disk do not hide a lost tail`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.connectClient(2, witness: 2, proof: Self.proof(of: 2))
        #expect(rig.stop == .lostTail("a client has seen turn 2, the journal ends at 1"))
    }

    @Test func `The proof that a peer was given stops a store that has lost the turn`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let proof = try #require(rig.proofs[client(1)])
        #expect(proof.turn == 2)
        let sound = try rig.restarted()
        #expect(sound.connectClient(witness: proof.turn, proof: proof.code).count == 1)
        let shorter = try Rig(journal: Array(rig.committedBatches.prefix(1)), now: rig.now)
        shorter.commits = false
        shorter.connectClient(witness: proof.turn, proof: proof.code)
        #expect(shorter.stop == .lostTail("a client has seen turn 2, the journal ends at 1"))
    }

    @Test func `A witness without a proof, or with a wrong one, is counted as none and its peer is served`() throws {
        let rig = try Rig()
        rig.round()
        let forged: [UInt64?] = [nil, 0, .max, Self.proof(of: 899), Self.proof(of: 900, in: abroad), Self.proof(of: 900) ^ 1]
        for (number, proof) in forged.enumerated() {
            let frames = rig.connectClient(UInt8(number), witness: 900, proof: proof)
            #expect(frames.map(\.kind) == [.welcome])
        }
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        let hello = Hello(role: .worker(offer), schema: shop, witness: .max, proof: 1)
        #expect(rig.exchange(.hello(hello), from: worker(1)).map(\.kind) == [.welcome])
        #expect(rig.stop == nil)
        #expect(rig.machine.out.unprovenWitnesses == forged.count + 1)
        #expect(rig.ask("status")?.value["counters"]?["unprovenWitnesses"] == .int(Int64(forged.count + 1)))
        let text = "a client says that it has seen turn 900, the journal ends at 1: it cannot prove that, and is served"
        let notes = rig.takeNotes().filter { $0.contains("cannot prove") }
        #expect(notes.first == "\(text) (1 so far)")
        #expect(notes.count == 3, "the first, the second and the fourth are told")
    }

    @Test func `A witness of another timeline proves nothing`() throws {
        let rig = try Rig()
        let hello = Hello(role: .client(session: session(1)), schema: shop, witness: 900, proof: Self.proof(of: 900))
        rig.exchange(.hello(hello), from: client(1), of: abroad)
        #expect(rig.stop == nil)
    }

    /// The token of a job and the proof of a turn are made with one secret.
    @Test func `A token is no proof`() {
        let token = JobProof(home, workshopSecret).token(of: EffectID(turn: 0, ordinal: 0), under: Lease(start: 0, counter: 0))
        #expect(token != Self.proof(of: 0))
    }

    // MARK: Proofs

    @Test func `A peer that takes proofs gets one with all that tells it of turns, for what is on disk`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1))
        rig.exchange(.ping(1), from: client(1))
        rig.exchange(.ping(2), from: worker(1))
        #expect(rig.proven[client(1)] == [.welcome, .receipt, .pong])
        #expect(rig.proven[worker(1)] == [.welcome, .acknowledge, .pong])
        #expect(rig.proofs[client(1)] == TurnProof(of: rig.durable.head, in: home, workshopSecret))
        #expect(rig.proofs[worker(1)] == rig.proofs[client(1)])
    }

    /// PONG does not wait for the disk, so it must not tell of what is on its way there.
    @Test func `A pong proves what is on disk`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(.ping(0), from: client(1))
        #expect(rig.proven[client(1)] == [.welcome, .pong])
        #expect(rig.proofs[client(1)]?.turn == 1)
        rig.commit()
        #expect(rig.proven[client(1)] == [.welcome, .pong, .receipt])
        #expect(rig.proofs[client(1)]?.turn == 2)
    }

    /// A reader of before refuses a body with a value more.
    @Test func `A peer that takes no proofs gets none`() throws {
        let rig = try Rig()
        rig.connectClient(takesProofs: false)
        let offer = WorkerOffer(id: workerID(1), slots: 1, queues: [.default])
        rig.deliver(.hello(Hello(role: .worker(offer), schema: shop, takesProofs: false)), from: worker(1))
        rig.deliver(.credit(1), from: worker(1))
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        #expect(rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1)) == [.acknowledge([task.lease])])
        rig.exchange(.ping(1), from: client(1))
        rig.exchange(.ping(2), from: worker(1))
        #expect(rig.proven.isEmpty)
        rig.connectClient(epoch: 2)
        #expect(rig.proven[client(1)] == [.welcome], "each HELLO says it anew")
    }

    // MARK: Connections

    @Test func `A newer connection supersedes the older`() throws {
        let rig = try Rig()
        let text = "another connection uses this session"
        rig.connectClient(1, epoch: 1, at: client(1))
        #expect(rig.connectClient(1, epoch: 2, at: client(2)).count == 1)
        #expect(rig.take(client(1)) == [.error(PeerError(.superseded, text))])

        // A HELLO that was overtaken must not win.
        let late = rig.connectClient(1, epoch: 1, at: client(3))
        #expect(late == [.error(PeerError(.superseded, "a newer connection uses this identity"))])
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)) == [.receipt([applied(1, 2)], credit: 4_096)])
    }

    @Test func `A HELLO that is late is no sign of life of the newer connection, so that it is welcome after the silence`() throws {
        let rig = try Rig()
        rig.connectClient(1, epoch: 5)
        rig.exchange(inputs([.add(1)]), from: client(1))
        let late = Frame.error(PeerError(.superseded, "a newer connection uses this identity"))
        for _ in 0..<6 {
            rig.tick(.seconds(1))
            #expect(rig.connectClient(1, epoch: 1, at: client(2)) == [late])
        }
        rig.tick(.seconds(1))
        guard case .welcome? = rig.connectClient(1, epoch: 1, at: client(2)).first else {
            Issue.record("whoever died holds the identity for ever")
            return
        }
    }

    @Test func `A newer connection of a worker supersedes the older`() throws {
        let rig = try Rig()
        rig.connectWorker(1, epoch: 1, at: worker(1))
        rig.connectWorker(1, epoch: 2, at: worker(2))
        #expect(rig.take(worker(1)) == [.error(PeerError(.superseded, "another connection uses this worker's identity"))])
        rig.deliver(
            .hello(Hello(role: .worker(WorkerOffer(id: workerID(1), slots: 1, queues: [])), schema: shop, epoch: 1)),
            from: worker(3))
        rig.round()
        #expect(rig.take(worker(3)) == [.error(PeerError(.superseded, "a newer connection uses this identity"))])
    }

    @Test func `A job that was lost on the way is handed out again`() throws {
        let (rig, _, task) = try Self.running()
        let again = rig.connectWorker(1, epoch: 2, at: worker(2)).tasks
        #expect(again.map(\.effect) == [task.effect])
        #expect(again.first?.attempt == 1)
    }

    @Test func `A connection that says hello for another session leaves the first`() throws {
        let rig = try Rig()
        rig.connectClient(1, at: client(1))
        rig.connectClient(2, at: client(1))
        #expect(rig.machine.clients[session(1)]?.route == nil)
        rig.deliver(inputs([.add(1)]), from: client(1))
        for _ in 0..<8 {
            rig.deliver(.ping(0), from: client(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.take(client(1)).allSatisfy { $0.kind != .error })
    }

    @Test func `Frames of another timeline are not taken`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1), of: abroad)
        #expect(rig.machine.head == 1)
    }
}
