import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Messages that jobs send before their end: applied once each, in order, whatever dies.
@Suite struct StoreStreamTests {
    /// A store with a worker that runs one job, and its task.
    static func running(
        _ job: Shop.Job = job("a"), credit: Int = 9, _ change: (inout StoreSettings) -> Void = { _ in }
    ) throws -> (rig: Rig, task: JobTask) {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: credit, change)
        rig.order(job)
        return (rig, try #require(rig.takeTasks(worker(1)).first))
    }

    @Test func `An effect whose returned worker leaves with an answer that does not count is offered again`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, credit: 9).tasks.count == 1)
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        rig.deliver(.result([task.streamed(2, "two"), task.answered("end")], credit: 0), from: worker(3))
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        #expect(rig.connectWorker(4, credit: 9).tasks.map(\.effect) == [task.effect])
    }

    @Test func `A streamed message is applied and acknowledged at once, and the effect stays open`() throws {
        let (rig, task) = try Self.running()
        #expect(rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1)) == [.streamed([mark(task, 1)])])
        #expect(try rig.state().done == ["one"])
        #expect(rig.durable.ledger.open[task.effect]?.place == StreamPlace(index: 1))
        // The order is the other one.
        #expect(rig.machine.status(now: rig.now)["counters"]?["applied"] == .int(2))
    }

    @Test func `An open effect is listed with the number of its last streamed message, which is 0 before the first`() throws {
        let (rig, task) = try Self.running()
        func streamed() -> [MessagePackValue?] {
            guard case .array(let open)? = rig.ask("effects")?.value["open"] else { return [] }
            return open.map { $0["streamed"] }
        }
        #expect(streamed() == [.int(0)])
        rig.exchange(.result([task.streamed(1, "one"), task.streamed(2, "two")], credit: 9), from: worker(1))
        #expect(streamed() == [.int(2)])
    }

    @Test func `An acknowledgement covers all that arrived, and does not leave before it is on disk`() throws {
        let (rig, task) = try Self.running()
        rig.commits = false
        let messages = [task.streamed(1, "one"), task.streamed(2, "two"), task.streamed(3, "three")]
        #expect(rig.exchange(.result(JobResults(messages), credit: 9), from: worker(1)) == [])
        rig.commit()
        rig.commit()
        #expect(rig.take(worker(1)) == [.streamed([mark(task, 3)])])
    }

    @Test func `A number that was applied is acknowledged again and changes nothing, whoever sends it`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one"), task.streamed(2, "two")], credit: 9), from: worker(1))
        let turn = rig.machine.head
        #expect(rig.exchange(.result([task.streamed(1, "again")], credit: 9), from: worker(1)) == [.streamed([mark(task, 1)])])
        #expect(rig.machine.head == turn)
        #expect(try rig.state().done == ["one", "two"])
    }

    @Test func `A number beyond the next is left alone until those before it come again`() throws {
        let (rig, task) = try Self.running()
        #expect(rig.exchange(.result([task.streamed(2, "two")], credit: 9), from: worker(1)) == [])
        #expect(try rig.state().done == [])
        rig.exchange(.result([task.streamed(1, "one"), task.streamed(2, "two")], credit: 9), from: worker(1))
        #expect(try rig.state().done == ["one", "two"])
    }

    @Test func `The number 0 is misuse and not acknowledged, and the other results of the frame are taken`() throws {
        let (rig, task) = try Self.running()
        let frame = Frame.result([task.streamed(0, "zero"), task.streamed(1, "one")], credit: 9)
        let misuse = PeerError(.misuse, "there is no streamed message 0: they are numbered from 1")
        #expect(rig.exchange(frame, from: worker(1)) == [.error(misuse), .streamed([mark(task, 1)])])
        #expect(try rig.state().done == ["one"])
    }

    @Test func `The next attempt is given number and checkpoint, and goes on from there`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(
            .result([task.streamed(1, "one", checkpoint: [7]), task.streamed(2, "two")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        #expect(next.resume == StreamPlace(index: 2, checkpoint: [7]))
        rig.exchange(.result([next.streamed(3, "three"), next.answered("end")], credit: 9), from: worker(2))
        #expect(try rig.state().done == ["one", "two", "three", "end"])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `An attempt that is not the newest is acknowledged, cancelled and not applied`() throws {
        let (rig, task) = try Self.running()
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        let other = worker(3)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        #expect(rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: other).contains(.cancel([task.lease], number: 1)))
        let frames = rig.exchange(.result([task.streamed(1, "late")], credit: 9), from: other)
        #expect(frames == [.cancel([task.lease], number: 2), .streamed([mark(task, 1)])])
        #expect(rig.machine.workers.lateResults == 1)
        rig.exchange(.result([next.streamed(1, "one")], credit: 9), from: worker(2))
        #expect(try rig.state().done == ["one"])
    }

    @Test func `What a worker has streamed before it left is applied, as long as nobody else has the effects`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
        rig.order(job("a"), job("b"))
        for task in rig.takeTasks(worker(1)) {
            rig.deliver(.result([task.streamed(1, task.name)], credit: 9), from: worker(1))
        }
        rig.exchange(.goodbye, from: worker(1))
        #expect(try rig.state().done == ["a", "b"])
        #expect(rig.durable.ledger.open.count == 2 && rig.machine.workers.lateResults == 0)
    }

    @Test func `An answer does not count if messages of its attempt came too late to be applied`() throws {
        let (rig, task) = try Self.running(job("a", attempts: 3, timeout: 1))
        rig.exchange(.result([task.streamed(1, "one", checkpoint: [1])], credit: 9), from: worker(1))
        // Past the timeout and its grace, while the rest is under way.
        rig.tick(.seconds(5))
        rig.connectWorker(2, credit: 0)
        let late = rig.exchange(.result([task.streamed(2, "two"), task.answered("end")], credit: 0), from: worker(1))
        #expect(late.contains(.cancel([task.lease], number: 1)) && late.contains(.acknowledge([task.lease])))
        #expect(try rig.state().done == ["one"], "the end without what came before it")
        rig.tick(.seconds(5))
        let next = try #require(rig.exchange(.credit(9), from: worker(2)).tasks.first ?? rig.takeTasks(worker(1)).first)
        #expect(next.resume == StreamPlace(index: 1, checkpoint: [1]))
    }

    @Test func `The answer of an attempt that has failed on record does not count, though all that it streamed was applied`() throws
    {
        let (rig, task) = try Self.running(job("a", attempts: 3, timeout: 1))
        rig.exchange(.result([task.streamed(1, "one")], credit: 0), from: worker(1))
        // The store dies, is claimed the job, and the rest of the attempt is too late. So the acknowledgement of the first message was lost.
        let later = try rig.restarted()
        later.connectWorker(claims: [JobClaim(effect: task.effect, lease: task.lease, token: task.token)], credit: 0)
        later.tick(.seconds(5))
        let frames = later.exchange(.result([task.streamed(1, "one"), task.answered("end")], credit: 0), from: worker(1))
        #expect(frames.contains(.acknowledge([task.lease])))
        #expect(try later.state().done == ["one"])
        later.tick(.seconds(5))
        let next = try #require(later.exchange(.credit(9), from: worker(1)).tasks.first)
        #expect(next.resume == StreamPlace(index: 1))
        later.exchange(.result([next.answered("end")], credit: 9), from: worker(1))
        #expect(try later.state().done == ["one", "end"])
    }

    @Test func `A worker that comes back and tells again what was applied goes on, if nobody else has the effect`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, credit: 9).tasks.count == 1, "another attempt is under way")
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        rig.exchange(.result([task.streamed(1, "one"), task.answered("end")], credit: 0), from: worker(3))
        #expect(try rig.state().done == ["one", "end"])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `Told again while another attempt runs, what was applied is acknowledged, and its answer may still count`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, credit: 9).tasks.count == 1, "another attempt is under way")
        rig.connectWorker(1, credit: 0, epoch: 2, at: worker(3))
        let frames = rig.exchange(.result([task.streamed(1, "one")], credit: 0), from: worker(3))
        #expect(frames == [.streamed([mark(task, 1)])], "nothing of this attempt is missing")
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        rig.exchange(.result([task.answered("end")], credit: 0), from: worker(3))
        #expect(try rig.state().done == ["one", "end"])
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `An attempt streams nothing more once a newer one has, though that one is gone`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        rig.exchange(.result([next.streamed(2, "one again")], credit: 9), from: worker(2))
        // Its number 2 was another message; its number 3 would follow what it never sent.
        for restarts in [false, true] {
            let rig = restarts ? try rig.restarted() : rig
            rig.machine.workerDied(workerID(2), "killed", now: rig.now)
            let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
            let frames = rig.connectWorker(1, claims: [claim], credit: 0, epoch: restarts ? 3 : 2, at: worker(3))
            #expect(frames.contains(.cancel([task.lease], number: 1)), "restarts: \(restarts)")
            let late = [task.streamed(2, "two"), task.streamed(3, "three"), task.answered("end")]
            rig.exchange(.result(JobResults(late), credit: 0), from: worker(3))
            #expect(try rig.state().done == ["one", "one again"], "restarts: \(restarts)")
        }
    }

    @Test func `An attempt streams nothing more once a newer one was handed out, though that one has streamed nothing`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        // The second attempt goes on behind number 1. It may come back, so number 2 is its.
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        let frames = rig.exchange(.result([task.streamed(2, "two")], credit: 0), from: worker(3))
        #expect(frames == [.cancel([task.lease], number: 1), .streamed([mark(task, 2)])])
        let other = JobClaim(effect: next.effect, lease: next.lease, token: next.token)
        rig.connectWorker(2, claims: [other], credit: 0, epoch: 2, at: worker(2))
        let late = [next.streamed(2, "two of the other"), next.streamed(3, "three of it"), next.answered("end")]
        rig.exchange(.result(JobResults(late), credit: 0), from: worker(2))
        #expect(try rig.state().done == ["one", "two of the other", "three of it", "end"])
    }

    @Test func `The first message of an attempt is not applied once a newer one was handed out; others get the effect`() throws {
        let (rig, task) = try Self.running()
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, credit: 9).tasks.count == 1)
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        #expect(rig.connectWorker(4, credit: 9).tasks == [], "it is claimed")
        let frames = rig.exchange(.result([task.streamed(1, "one")], credit: 0), from: worker(3))
        #expect(frames == [.cancel([task.lease], number: 1), .streamed([mark(task, 1)])])
        #expect(try rig.state().done == [])
        #expect(rig.takeTasks(worker(4)).map(\.effect) == [task.effect])
    }

    @Test func `An attempt that has failed is cancelled when it tells again what was applied`() throws {
        let (rig, task) = try Self.running(job("a", attempts: 2))
        rig.exchange(.result([task.streamed(1, "one"), task.failed()], credit: 0), from: worker(1))
        let frames = rig.exchange(.result([task.streamed(1, "one")], credit: 0), from: worker(1))
        #expect(frames == [.cancel([task.lease], number: 1), .streamed([mark(task, 1)])])
        #expect(try rig.state().done == ["one"])
    }

    @Test func `Of two attempts of before a restart, only the one that streams first goes on, and over further restarts`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        let claims = [task, next].map { JobClaim(effect: $0.effect, lease: $0.lease, token: $0.token) }
        // The store does not know of the newer attempt when the older one goes on.
        var later = try rig.restarted()
        later.connectWorker(1, claims: [claims[0]], credit: 0)
        later.exchange(.result([task.streamed(2, "two")], credit: 0), from: worker(1))
        for restarts in ["none", "by the journal", "by a snapshot"] {
            if restarts == "by the journal" { later = try later.restarted() }
            if restarts == "by a snapshot" {
                later.machine.saveSnapshot()
                later.round()
                let snapshot = try #require(later.snapshots.last)
                later = try Rig(journal: later.journal, snapshot: snapshot.bytes, now: later.now + .seconds(1))
            }
            let frames = later.connectWorker(2, claims: [claims[1]], credit: 0)
            #expect(
                frames.contains(.cancel([next.lease], number: 1)), "its numbers stand for other messages; restarts: \(restarts)")
            let late = [next.streamed(2, "two of the other"), next.streamed(3, "three of it"), next.answered("end of it")]
            later.exchange(.result(JobResults(late), credit: 0), from: worker(2))
            #expect(try later.state().done == ["one", "two"], "restarts: \(restarts)")
        }
        later.connectWorker(1, claims: [claims[0]], credit: 0)
        later.exchange(.result([task.streamed(3, "three"), task.answered("end")], credit: 0), from: worker(1))
        #expect(try later.state().done == ["one", "two", "three", "end"])
    }

    @Test func `What an older attempt streams is not applied after its effect was dead, either`() throws {
        // The total limit has it fail while the second attempt is held.
        let (rig, task) = try Self.running(Shop.Job(name: "a", diesSilently: true, total: 20))
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        for _ in 0..<21 {
            rig.exchange(.ping(0), from: worker(2))
            rig.tick(.seconds(1))
        }
        #expect(rig.durable.ledger.dead[task.effect] != nil)
        rig.machine.workerDied(workerID(2), "silent", now: rig.now)
        rig.tick(.seconds(1))
        #expect(rig.ask("requeue", effect: "\(task.effect)")?.refusal == nil)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        rig.exchange(.result([task.streamed(2, "two")], credit: 0), from: worker(3))
        let other = JobClaim(effect: next.effect, lease: next.lease, token: next.token)
        rig.connectWorker(2, claims: [other], credit: 0, epoch: 2)
        let late = [next.streamed(2, "two of the other"), next.streamed(3, "three of it")]
        rig.exchange(.result(JobResults(late), credit: 0), from: worker(2))
        #expect(try rig.state().done == ["one", "two of the other", "three of it"])
    }

    @Test func `A restarted store goes on with the next number, from the journal and from a snapshot`() throws {
        let (rig, task) = try Self.running()
        rig.exchange(.result([task.streamed(1, "one", checkpoint: [7])], credit: 9), from: worker(1))
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        let next = try rig.restarted()
        next.connectWorker(claims: [claim], credit: 9)
        let again = [task.streamed(1, "one", checkpoint: [7]), task.streamed(2, "two", checkpoint: [8])]
        #expect(next.exchange(.result(JobResults(again), credit: 9), from: worker(1)) == [.streamed([mark(task, 2)])])
        #expect(try next.state().done == ["one", "two"])

        next.machine.saveSnapshot()
        next.round()
        let snapshot = try #require(next.snapshots.last)
        let third = try Rig(journal: next.journal, snapshot: snapshot.bytes, now: next.now + .seconds(20))
        third.tick(.seconds(10))
        #expect(third.connectWorker(2, credit: 9).tasks.first?.resume == StreamPlace(index: 2, checkpoint: [8]))
    }

    @Test func `What was streamed stays when the attempt fails, and a checkpoint makes attempts count anew`() throws {
        let (rig, task) = try Self.running(job("a", attempts: 2))
        rig.exchange(.result([task.failed()], credit: 9), from: worker(1))
        rig.tick(.seconds(2))
        let second = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([second.streamed(1, "one", checkpoint: [1]), second.failed()], credit: 9), from: worker(1))
        rig.tick(.seconds(2))
        let third = try #require(rig.takeTasks(worker(1)).first)
        #expect(third.resume == StreamPlace(index: 1, checkpoint: [1]))
        rig.exchange(.result([third.failed()], credit: 9), from: worker(1))
        #expect(try rig.state().done == ["one", "a failed after 2 attempts: no luck"])
    }

    @Test func `A message that the program cannot read fails the effect for good, and stops the handler`() throws {
        let (rig, task) = try Self.running(job("a", attempts: 9))
        let bad = task.result(.streamed(index: 1, message: [0xc1], checkpoint: nil))
        #expect(rig.exchange(.result([bad], credit: 9), from: worker(1)).contains(.cancel([task.lease], number: 1)))
        #expect(try rig.state().done.first?.contains("a streamed message is not one of this program") == true)
        #expect(rig.durable.ledger.open.isEmpty)
    }

    @Test func `A message may cancel the effect that streams it`() throws {
        let (rig, task) = try Self.running(Shop.Job(name: "a", id: "label"))
        let stop = task.result(.streamed(index: 1, message: packed(Shop.Message.cancel("label")), checkpoint: nil))
        let frames = rig.exchange(.result([stop, task.streamed(2, "late")], credit: 9), from: worker(1))
        #expect(frames.contains(.cancel([task.lease], number: 1)))
        #expect(rig.durable.ledger.open.isEmpty)
        #expect(try rig.state().done == [])
    }

    @Test func `A message that traps leaves its effect dead after three deaths alone, and what came before it stays`() throws {
        let store = try TrappedStore { $0 == .answer("poison") }
        store.rig.connectClient()
        store.rig.connectWorker()
        store.rig.order(job("a", diesSilently: true))
        let task = try #require(store.rig.takeTasks(worker(1)).first)
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        for _ in 0..<9 where store.rig.durable.ledger.dead.isEmpty {
            store.rig.exchange(.result([task.streamed(1, "one"), task.streamed(2, "poison")], credit: 2), from: worker(1))
            guard store.hasTrapped else { break }
            try store.restart()
            store.rig.connectWorker(claims: [claim], credit: 2, epoch: store.starts)
        }
        #expect(store.starts == 4 || store.starts == 5)
        #expect(try store.rig.state().done == ["one"])
        #expect(store.rig.durable.ledger.dead[task.effect]?.failure.text.contains("a trap, signal 4") == true)
        #expect(
            store.rig.take(worker(1)).contains(.cancel([task.lease], number: 1))
                || store.rig.machine.scheduler.dispatcher.running == 0)
    }

    @Test func `While too many effects are open, streams are not acknowledged, so their windows stop them`() throws {
        let (rig, task) = try Self.running { $0.openEffects = 5 }
        let more = task.result(
            .streamed(index: 1, message: packed(Shop.Message.order([job("b"), job("c"), job("d")])), checkpoint: nil))
        let frames = rig.exchange(.result([more], credit: 9), from: worker(1))
        let tasks = frames.tasks
        #expect(tasks.map(\.name) == ["b", "c", "d"])
        #expect(!frames.contains(.streamed([mark(task, 1)])))
        let after = rig.exchange(.result([tasks[0].answered("b")], credit: 9), from: worker(1))
        #expect(after.contains(.streamed([mark(task, 1)])))
    }

    @Test func `While too many effects are open and no job ends, streams go on by a window each tick`() throws {
        let (rig, task) = try Self.running(credit: 1) { $0.openEffects = 5 }
        let more = task.result(
            .streamed(index: 1, message: packed(Shop.Message.order([job("b"), job("c"), job("d")])), checkpoint: nil))
        let frames = rig.exchange(.result([more], credit: 1), from: worker(1))
        #expect(frames.tasks.isEmpty && !frames.contains(.streamed([mark(task, 1)])))
        // The others wait for the slot of the stream, and it for its acknowledgement.
        for index in 1...3 {
            if index > 1 { rig.exchange(.result([task.streamed(index, "\(index)")], credit: 1), from: worker(1)) }
            rig.tick(.seconds(1))
            #expect(!rig.take(worker(1)).contains { $0.kind == .streamed }, "a job may end until the next tick")
            rig.tick(.seconds(1))
            #expect(rig.take(worker(1)).contains(.streamed([mark(task, index)])))
        }
        rig.exchange(.result([task.streamed(4, "4"), task.answered("end")], credit: 2), from: worker(1))
        #expect(try rig.state().done == ["2", "3", "4", "end"])
    }

    @Test func `A worker that has gone is told nothing of what it had streamed, also if that is taken later`() throws {
        let (rig, task) = try Self.running { $0.openEffects = 5 }
        rig.order(job("b"), job("c"), job("d"), sequence: 2)
        rig.exchange(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, slots: 9, credit: 9).tasks.count == 4)
        rig.exchange(.goodbye, from: worker(2))
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        rig.connectWorker(1, claims: [claim], credit: 0, epoch: 2, at: worker(3))
        _ = rig.take(worker(3))
        rig.deliver(.result([task.streamed(2, "two")], credit: 0), from: worker(3))
        rig.deliver(.goodbye, from: worker(3))
        // So many effects are open that word of streams waits for a tick.
        for _ in 0..<4 { rig.tick(.seconds(1)) }
        #expect(try rig.state().done == ["one"], "the attempt is outdated")
        #expect(rig.take(worker(3)) == [])
    }

    @Test func `A worker that dies with an unread stream message does not keep its effect`() throws {
        let (rig, task) = try Self.running()
        rig.deliver(.result([task.streamed(1, "one")], credit: 9), from: worker(1))
        rig.machine.workerDied(workerID(1), "killed", now: rig.now)
        rig.round()
        let next = try #require(rig.connectWorker(2, credit: 9).tasks.first)
        #expect(next.resume == StreamPlace(index: 1))
        #expect(try rig.state().done == ["one"])
    }

    @Test(arguments: [[], ["end"], ["end", "of it"]])
    func `An answer that lacks a message of its attempt does not count later either, when nobody else has the effect`(
        _ messages: [String]
    ) throws {
        let (rig, task) = try Self.running()
        rig.machine.workerDied(workerID(1), "silent", now: rig.now)
        #expect(rig.connectWorker(2, credit: 9).tasks.count == 1, "another attempt is under way")
        rig.connectWorker(1, credit: 0, epoch: 2, at: worker(3))
        rig.exchange(.result([task.streamed(1, "one")], credit: 0), from: worker(3))
        rig.machine.workerDied(workerID(2), "killed", now: rig.now)
        rig.tick(.seconds(1))
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        #expect(
            rig.connectWorker(1, claims: [claim], credit: 0, epoch: 3, at: worker(3)).contains(.cancel([task.lease], number: 1)))
        let answer = task.result(.done(MessageList(messages.map { packed(Shop.Message.finished($0)) })))
        rig.exchange(.result([answer], credit: 0), from: worker(3))
        #expect(try rig.state().done == [], "the end without what came before it")
        let next = try #require(rig.exchange(.credit(9), from: worker(3)).tasks.first)
        rig.exchange(.result([next.streamed(1, "one"), next.answered("end")], credit: 9), from: worker(3))
        #expect(try rig.state().done == ["one", "end"])
        rig.tick(.seconds(1))
        #expect(rig.machine.workers.rejectedStreams.isEmpty, "nothing is kept of an effect that is closed")
    }

    // MARK: Progress

    @Test func `Progress is shown while the job runs, and only that of the attempt that runs`() throws {
        let (rig, task) = try Self.running()
        let report = ProgressReport(
            effect: task.effect, lease: task.lease, progress: JobProgress(fraction: 0.25, text: "a quarter"))
        rig.exchange(.progress([report]), from: worker(1))
        guard case .array(let open)? = rig.ask("effects")?.value["open"] else {
            Issue.record("no list of effects")
            return
        }
        #expect(open.first?["progress"] == ["fraction": .double(0.25), "text": "a quarter"])
        let ofWorker = rig.machine.scheduler.dispatcher.progress(of: workerID(1))
        #expect(ofWorker.map(\.effect) == [task.effect] && ofWorker.map(\.progress) == [report.progress])
        var other = report
        other.lease = Lease(start: 1, counter: 999)
        other.progress = JobProgress(text: "a lie")
        rig.exchange(.progress([other]), from: worker(1))
        #expect(rig.machine.scheduler.dispatcher.progress(of: task.effect) == report.progress)
        rig.exchange(.result([task.answered("a")], credit: 9), from: worker(1))
        #expect(rig.machine.scheduler.dispatcher.running == 0)
    }

    // MARK: Limits of queues

    @Test func `A worker is given no more jobs of a queue than it said`() throws {
        let rig = try Rig()
        rig.connectClient()
        let offer = WorkerOffer(id: workerID(1), slots: 4, queues: ["http", "default"], limits: ["http": 2])
        rig.exchange(.hello(Hello(role: .worker(offer), schema: shop, epoch: 1)), from: worker(1))
        rig.exchange(.credit(4), from: worker(1))
        rig.order(job("a", queue: "http"), job("b", queue: "http"), job("c", queue: "http"), job("d"))
        let tasks = rig.takeTasks(worker(1))
        #expect(tasks.map(\.name) == ["a", "b", "d"])
        rig.exchange(.result([tasks[2].answered("d")], credit: 5), from: worker(1))
        #expect(rig.takeTasks(worker(1)) == [])
        #expect(rig.exchange(.result([tasks[0].answered("a")], credit: 6), from: worker(1)).tasks.map(\.name) == ["c"])
    }
}

private func mark(_ task: JobTask, _ index: Int) -> StreamMark { StreamMark(lease: task.lease, index: index) }

extension JobTask {
    fileprivate func streamed(_ index: Int, _ name: String, checkpoint: [UInt8]? = nil) -> JobResult {
        result(.streamed(index: index, message: packed(Shop.Message.finished(name)), checkpoint: checkpoint))
    }
}
