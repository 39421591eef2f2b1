import SamovarCore
import Testing

@testable import SamovarProtocol

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

    @Test func whatWasCommittedIsThereAndNothingElse() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .chain(3)]), from: client(1))
        rig.commits = false
        rig.exchange(inputs([.add(100)], from: 3), from: client(1))
        let later = try rig.restarted()
        #expect(try later.state().total == 4)
        #expect(later.machine.starts == 2)
        #expect(
            later.connectClient(attempt: 2).contains(
                .welcome(Welcome(schema: shop, expected: 3, credit: 4_096, head: 5, silence: .seconds(6)))))
        #expect(later.exchange(inputs([.add(100)], from: 3), from: client(1)) == [.receipt([applied(3, 7)], credit: 4_096)])
    }

    @Test func openEffectsWaitForTheWorkersOfBefore() throws {
        let rig = try Self.running().rig
        let later = try rig.restarted()
        #expect(later.connectWorker(2).tasks == [], "worker 1 may be running it")
        // Worker 1 says what it holds: nothing.
        #expect(later.connectWorker(1, credit: 0).tasks == [])
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func openEffectsWaitNoLongerThanTheSilence() throws {
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

    @Test func `a wall clock that was set back while the store was down does not hold its time`() throws {
        let later = try Self.running().rig.restarted(after: .seconds(-3_600))
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
        #expect(later.machine.state.time >= at(0), "and no turn is earlier than the one before it")
    }

    @Test func openEffectsWaitNoLongerThanTheReportOfASupervisor() throws {
        let later = try Self.running().rig.restarted()
        later.connectWorker(2)
        later.machine.workerDied(workerID(1), "killed by signal 9", now: later.now)
        later.round()
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func workersOfBeforeThatNeverComeBackAreForgottenEvenIfNothingWaitsForThem() throws {
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

    /// Else a store that is killed every few seconds would never hand out anything.
    @Test func aStoreThatIsRestartedAgainAndAgainWaitsNoLongerThanOneThatIsRestartedOnce() throws {
        var (rig, _, _) = try Self.running()
        for _ in 0..<3 {
            rig = try rig.restarted(after: .seconds(2))
            #expect(rig.connectWorker(2).tasks == [], "worker 1 may still run it")
        }
        rig = try rig.restarted(after: .seconds(2))
        rig.connectWorker(2)
        rig.tick(.seconds(1))
        #expect(rig.durable.joined == [workerID(2)])
    }

    @Test func aClaimedJobIsAdoptedAndItsAnswerApplied() throws {
        let (rig, claim, task) = try Self.running()
        let later = try rig.restarted()
        later.connectWorker(2)
        later.connectWorker(1, claims: [claim])
        #expect(later.takeTasks(worker(2)) == [], "worker 1 runs it")
        later.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(try later.state().done == ["a"])
    }

    @Test func aClaimOfAClosedEffectIsCancelled() throws {
        let (rig, claim, task) = try Self.running()
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        let later = try rig.restarted()
        #expect(later.connectWorker(1, claims: [claim]).contains(.cancel([task.lease])))
    }

    @Test func aClaimWithoutProofIsDropped() throws {
        let (rig, claim, _) = try Self.running()
        let later = try rig.restarted()
        var forged = claim
        forged.token ^= 1
        later.connectWorker(2, credit: 0)
        later.connectWorker(1, claims: [forged], credit: 0)
        #expect(later.machine.counters.droppedFrames == 1)
        later.deliver(.credit(1), from: worker(2))
        later.round()
        #expect(later.takeTasks(worker(2)).map(\.name) == ["a"])
    }

    @Test func theGreaterOfTwoClaimsFencesTheSmaller() throws {
        let (rig, old, task) = try Self.running()
        rig.machine.workerDied(workerID(1), "lost", now: rig.now)
        let newer = try #require(rig.connectWorker(2).tasks.first)
        let claim = JobClaim(effect: newer.effect, lease: newer.lease, token: newer.token)

        let later = try rig.restarted()
        later.connectWorker(1, claims: [old])
        later.connectWorker(2, claims: [claim])
        #expect(later.take(worker(1)) == [.cancel([task.lease])])

        let reverse = try rig.restarted()
        reverse.connectWorker(2, claims: [claim])
        #expect(reverse.connectWorker(1, claims: [old]).contains(.cancel([task.lease])))
        #expect(reverse.take(worker(2)) == [])
    }

    @Test func leasesOfDifferentStartsAreNeverEqual() throws {
        let (rig, _, task) = try Self.running()
        let later = try rig.restarted()
        let again = try #require(later.connectWorker(1).tasks.first)
        #expect(again.effect == task.effect)
        #expect(again.lease == Lease(start: 2, counter: 1) && again.lease > task.lease)
        #expect(again.token != task.token)
    }

    @Test func anotherTimelineClaimsNothing() throws {
        let (rig, claim, _) = try Self.running()
        let later = try rig.restarted()
        #expect(later.connectWorker(1, claims: [claim], of: abroad).tasks.map(\.name) == ["a"])
    }

    // MARK: Lost tails

    @Test func aWitnessOfATurnBeyondTheJournalStopsTheStore() throws {
        let rig = try Rig()
        rig.round()
        rig.connectClient(witness: 1)
        #expect(rig.stop == nil)
        rig.connectClient(2, witness: 2)
        #expect(rig.stop == .lostTail("a client has seen turn 2, the journal ends at 1"))
    }

    /// Nobody can have been told of turns that are not on disk, so they prove nothing.
    @Test func turnsOnTheirWayToTheDiskDoNotHideALostTail() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.connectClient(2, witness: 2)
        #expect(rig.stop == .lostTail("a client has seen turn 2, the journal ends at 1"))
    }

    @Test func aWitnessOfAnotherTimelineProvesNothing() throws {
        let rig = try Rig()
        let hello = Hello(role: .client(session: session(1)), schema: shop, witness: 900)
        rig.exchange(.hello(hello), from: client(1), of: abroad)
        #expect(rig.stop == nil)
    }

    // MARK: Connections

    @Test func aNewerConnectionSupersedesTheOlder() throws {
        let rig = try Rig()
        let text = "another connection uses this session"
        rig.connectClient(1, attempt: 1, at: client(1))
        #expect(rig.connectClient(1, attempt: 2, at: client(2)).count == 1)
        #expect(rig.take(client(1)) == [.error(PeerError(.superseded, text))])

        // A HELLO that was overtaken must not win.
        let late = rig.connectClient(1, attempt: 1, at: client(3))
        #expect(late == [.error(PeerError(.superseded, "a newer connection uses this identity"))])
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)) == [.receipt([applied(1, 2)], credit: 4_096)])
    }

    @Test func aNewerConnectionOfAWorkerSupersedesTheOlder() throws {
        let rig = try Rig()
        rig.connectWorker(1, attempt: 1, at: worker(1))
        rig.connectWorker(1, attempt: 2, at: worker(2))
        #expect(rig.take(worker(1)) == [.error(PeerError(.superseded, "another connection uses this worker's identity"))])
        rig.deliver(
            .hello(Hello(role: .worker(WorkerOffer(id: workerID(1), slots: 1, queues: [])), schema: shop, attempt: 1)),
            from: worker(3))
        rig.round()
        #expect(rig.take(worker(3)) == [.error(PeerError(.superseded, "a newer connection uses this identity"))])
    }

    @Test func aJobThatWasLostOnTheWayIsHandedOutAgain() throws {
        let (rig, _, task) = try Self.running()
        let again = rig.connectWorker(1, attempt: 2, at: worker(2)).tasks
        #expect(again.map(\.effect) == [task.effect])
        #expect(again.first?.attempt == 1)
    }

    @Test func aConnectionThatSaysHelloForAnotherSessionLeavesTheFirst() throws {
        let rig = try Rig()
        rig.connectClient(1, at: client(1))
        rig.connectClient(2, at: client(1))
        #expect(rig.machine.desks[session(1)]?.route == nil)
        rig.deliver(inputs([.add(1)]), from: client(1))
        for _ in 0..<8 {
            rig.deliver(.ping(0), from: client(1))
            rig.tick(.seconds(1))
        }
        #expect(rig.take(client(1)).allSatisfy { $0.kind != .error })
    }

    @Test func framesOfAnotherTimelineAreNotTaken() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1), of: abroad)
        #expect(rig.machine.head == 1)
    }
}
