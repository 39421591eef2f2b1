import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What time brings, to the microsecond, and what a store that was away makes of silence.
@Suite struct StoreClockTests {
    // MARK: When to wake up

    @Test func `The store wants to be woken for what is due first, and not earlier`() throws {
        func wakeUp(_ prepare: (Rig) throws -> Void) throws -> Duration {
            let rig = try StoreWorkerTests.rig(slots: 9, credit: 9)
            for _ in 0..<2 { rig.tick(.milliseconds(100)) }
            try prepare(rig)
            return rig.machine.wakeUp(now: rig.now) - at(0)
        }
        func later(_ rig: Rig, _ seconds: Double) {
            for _ in 0..<9 where rig.now + .seconds(1) < at(seconds) {
                rig.exchange(.ping(9), from: worker(1))
                rig.tick(.seconds(1))
            }
            rig.now = at(seconds)
            rig.round()
        }
        #expect(try wakeUp { later($0, 0.9) } == .seconds(1), "the tick")
        let jobs: [(Shop.Job, Duration)] = [
            (job("a", timeout: 1), .milliseconds(3_200)), (job("a", queue: "nobody's", delay: 3), .milliseconds(3_200)),
            (Shop.Job(name: "a", queue: "nobody's", waiting: 3), .milliseconds(3_200)),
            (Shop.Job(name: "a", queue: "nobody's", waiting: 2, total: 3), .milliseconds(2_200)),
            (Shop.Job(name: "a", queue: "nobody's", total: 3), .milliseconds(3_200)),
        ]
        for (job, due) in jobs {
            let moment = try wakeUp { rig in
                rig.order(job)
                later(rig, due == .milliseconds(3_200) ? 3.15 : 2.15)
            }
            #expect(moment == due, "\(job)")
        }
        let timer = try wakeUp { rig in
            rig.exchange(inputs([.watch([StoreTimerTests.every(3)])]), from: client(1))
            later(rig, 3.15)
        }
        #expect(timer == .milliseconds(3_200))
        let drain = try wakeUp { rig in
            rig.order(job("a"))
            rig.machine.drain(within: .milliseconds(300), now: rig.now)
            rig.round()
        }
        #expect(drain == .milliseconds(500))
    }

    @Test func `A stopped store is woken once a second`() throws {
        let rig = try StoreDrainTests.draining()
        rig.round()
        #expect(rig.stop == .drained)
        #expect(rig.machine.wakeUp(now: at(7)) == at(8))
    }

    @Test func `A timer that may not fire now wakes nobody`() throws {
        let draining = try StoreWorkerTests.rig()
        draining.exchange(inputs([.watch([StoreTimerTests.every(1)])]), from: client(1))
        draining.order(job("a"), sequence: 2)
        draining.machine.drain(within: .seconds(5), now: draining.now)
        draining.tick(.milliseconds(1_500))
        #expect(draining.stop == nil && draining.machine.wakeUp(now: draining.now) > draining.now)

        let stalled = try StoreClientTests.rig { $0.batchTurns = 1 }
        stalled.exchange(inputs([.watch([StoreTimerTests.every(1)])]), from: client(1))
        stalled.commits = false
        for sequence in 2...3 { stalled.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        stalled.tick(.milliseconds(1_500))
        #expect(try stalled.state().ticks == [] && stalled.machine.wakeUp(now: stalled.now) > stalled.now)
    }

    // MARK: A clock that is set

    /// What a store says when its host has found the machine's clock so many seconds ahead.
    private static func told(_ rig: Rig, _ seconds: Double) -> [String] {
        _ = rig.takeNotes()
        let process = ProcessSample(processorSeconds: 1, residentBytes: 1)
        rig.machine.processMeasured(ProcessFacts(process, journalBytes: nil, clockStep: .seconds(seconds)), now: rig.now)
        rig.round()
        return rig.takeNotes()
    }

    private static func words(_ way: String) -> [String] {
        [
            "the clock of this machine was set, and is \(way) the store's time: timers, and the ends of keys, go by that; a restart "
                + "takes a later time, and no earlier one"
        ]
    }

    @Test func `A clock that is set while the store runs is told once for each step, and holds no time`() throws {
        let rig = try Rig()
        #expect(Self.told(rig, 10) == [] && Self.told(rig, -10) == [])
        #expect(Self.told(rig, 11) == Self.words("11 s ahead of"))
        #expect(Self.told(rig, 11) == [] && Self.told(rig, 21) == [] && Self.told(rig, 1) == [])
        #expect(Self.told(rig, -3_600) == Self.words("3600 s behind"))
        #expect(Self.told(rig, 0) == Self.words("0 s ahead of"))
        rig.tick(.seconds(1))
        #expect(rig.machine.wakeUp(now: rig.now) <= rig.now + .seconds(1))
    }

    @Test func `What a start has said of the clock is not said again, and that it was set right is`() throws {
        let rig = try Rig()
        rig.round()
        let later = try rig.restarted(after: .seconds(-3_600))
        later.round()
        #expect(Self.told(later, 0) == [])
        #expect(Self.told(later, 3_600) == Self.words("0 s ahead of"))
    }

    @Test func `A start warns of a clock that is behind the newest turn by more than clocks may differ, and of no other`() throws {
        let rig = try Rig()
        rig.round()
        for (lead, isTold) in [(Duration.seconds(10), false), (Duration.seconds(10) + .microseconds(1), true)] {
            let later = try rig.restarted(after: .zero - lead)
            later.round()
            let isWarned = later.takeNotes().contains { $0.hasPrefix("the newest turn is 10 s ahead of this clock") }
            #expect(isWarned == isTold, "\(lead)")
        }
    }

    // MARK: Before the start

    @Test func `Before its start a store hears nobody and does nothing`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        let offer = WorkerOffer(id: workerID(2), slots: 1, queues: [.default])
        let said: [(Frame, Route)] = [
            (.hello(Hello(role: .client(session: session(2)), schema: shop)), client(2)), (inputs([.add(1)]), client(2)),
            (.hello(Hello(role: .worker(offer), schema: shop)), worker(2)),
            (.request(AdminRequest(id: 1, verb: "drain", arguments: .nil)), admin),
        ]
        for journal in [rig.committedBatches, []] {
            var machine = Rig.machine()
            for batch in journal { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
            let head = machine.head
            for (frame, route) in said { machine.received(Envelope(frame, timeline: home).parts, from: route, now: at(9)) }
            machine.received([[1, 2, 3]], from: client(3), now: at(9))
            machine.workerDied(workerID(1), "killed", now: at(9))
            machine.drain(within: .seconds(1), now: at(9))
            var isDue = false
            for second in 9...12 {
                machine.advance(now: at(Double(second)))
                isDue = isDue || machine.viewIsDue(now: at(Double(second)))
                machine.flush(now: at(Double(second)))
            }
            let (actions, counters, isStopped) = (machine.takeActions(), machine.counters, machine.isStopped)
            #expect(actions.isEmpty && !isDue && !isStopped && counters.allSatisfy { $0 == 0 })
            // A WELCOME would wait for the disk; so look who is known after the start.
            try machine.start(seed: packed(NoSeed()), now: at(13))
            let (routes, joined) = (
                machine.clients.connections.routes + machine.workers.connections.routes, machine.turns.state.joined
            )
            #expect(routes.isEmpty && joined == (journal.isEmpty ? [] : [workerID(1)]) && machine.head == head + 1)
        }
    }

    @Test func `After its stop a store shows nothing`() throws {
        let rig = try StoreDrainTests.draining()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.round()
        #expect(rig.stop == .drained)
        let (isDue, hasWork) = (rig.machine.viewIsDue(now: at(99)), rig.machine.hasWork)
        #expect(!isDue && !hasWork)
    }

    @Test func `A new store has counted nothing`() throws {
        let machine = Rig.machine()
        let counters = machine.counters
        #expect(counters.allSatisfy { $0 == 0 })
    }

    // MARK: Silence

    @Test func `Any frame is a sign of life of a worker`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        let report = ProgressReport(effect: task.effect, lease: task.lease, progress: JobProgress(text: "on"))
        let late = JobResult(effect: task.effect, lease: task.lease, token: task.token, answer: .returned)
        for frame: Frame in [.ping(0), .credit(0), .progress([report]), .result([late], credit: 0)] {
            for _ in 0..<5 { rig.tick(.seconds(1)) }
            rig.exchange(frame, from: worker(1))
            #expect(rig.durable.joined.count == 1)
        }
    }

    @Test func `A client that was silent for longer than six seconds is not connected any more`() throws {
        let rig = try StoreClientTests.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(rig.exchange(.ping(0), from: client(1)) == [.pong(4_096)])
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients.connections.routes.count == 1)
        rig.tick(.seconds(1))
        #expect(rig.machine.clients.connections.routes.isEmpty && rig.machine.clients.count == 1, "and its session is kept")
        #expect(rig.exchange(.ping(0), from: client(1)) == [.error(PeerError(.unknownPeer, "say HELLO first"))])
    }

    @Test func `Silence proves nothing if the store itself was away`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.tick(.seconds(100))
        #expect(rig.exchange(.ping(0), from: client(1)) == [.pong(4_096)])
        #expect(rig.exchange(.ping(0), from: worker(1)) == [.pong(0)])
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(rig.durable.joined.count == 1)
        rig.tick(.seconds(1))
        #expect(
            rig.durable.joined.isEmpty && rig.machine.clients.connections.routes.isEmpty
                && rig.machine.workers.connections.routes.isEmpty,
            "it counts from the return on")
    }

    @Test(arguments: [(0, true), (1, false)])
    func `A store was away if its tick is late by more than half of the silence`(_ microseconds: Int, _ isDead: Bool) throws {
        let rig = try StoreWorkerTests.rig()
        rig.tick(.seconds(1))
        rig.tick(.seconds(4) + .microseconds(microseconds))
        rig.tick(.seconds(2))
        #expect(rig.durable.joined.isEmpty == isDead, "heard at 0 s, and it is 7 s")
    }

    @Test func `A session that never had a turn is kept while its inputs wait for one`() throws {
        let rig = try StoreClientTests.rig { $0.batchTurns = 1 }
        rig.connectClient(2)
        rig.commits = false
        for sequence in 1...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        rig.exchange(inputs([.add(10)]), from: client(2))
        for _ in 0..<8 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients[session(2)]?.inbox.count == 1)
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(try rig.state().total == 13)
        #expect(
            rig.connectClient(2, epoch: 2).contains {
                if case .welcome(let welcome) = $0 { welcome.expected == 2 } else { false }
            })
    }

    @Test func `A source is offered again however often its workers fall silent`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 1) { $0.suspectLosses = 1 }
        rig.exchange(inputs([.watch([Shop.Watch(id: "feed", source: job("listen"))])]), from: client(1))
        for number: UInt8 in 1...4 {
            if number > 1 { #expect(rig.connectWorker(number).tasks.map(\.name) == ["listen"]) }
            StoreFailureTests.lose(number, rig)
        }
        #expect(rig.durable.ledger.dead.isEmpty && rig.durable.ledger.open.count == 1)
    }

    @Test func `A source that was lost beside a suspect is offered again, and only the suspect is given up`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { ($0.suspectDeaths, $0.suspectLosses) = (0, 1) }
        rig.exchange(inputs([.watch([Shop.Watch(id: "feed", source: job("listen"))])]), from: client(1))
        rig.order(job("lost", diesSilently: true), sequence: 2)
        #expect(rig.takeTasks(worker(1)).map(\.name) == ["listen", "lost"])
        StoreFailureTests.lose(1, rig)
        #expect(rig.durable.ledger.dead.count == 1 && rig.durable.ledger.open.count == 1)
        #expect(rig.connectWorker(2).tasks.map(\.name) == ["listen"])
    }

    @Test func `What a worker had not begun is nobody's loss when it falls silent`() throws {
        let rig = try StoreWorkerTests.rig(slots: 1, credit: 2) { $0.suspectDeaths = 1 }
        rig.order(job("begun"), job("waits"))
        StoreFailureTests.lose(1, rig)
        rig.order(job("other"), sequence: 2)
        let begun = rig.connectWorker(2, slots: 9, credit: 9).tasks
        #expect(begun.map(\.name) == ["begun"], "a suspect is alone")
        let rest = rig.exchange(.result(JobResults(begun.map { $0.answered("begun") }), credit: 9), from: worker(2)).tasks
        #expect(rest.map(\.name).sorted() == ["other", "waits"])
    }

    // MARK: Queues that nobody serves

    private static func warnings(_ rig: Rig) -> [String] { rig.takeNotes().filter { $0.contains("no worker serves it") } }

    @Test func `A queue that was served meanwhile is warned of anew`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.order(job("a", queue: "http"))
        let text = "1 effect waits in queue http, and no worker serves it"
        for _ in 0..<5 { rig.tick(.seconds(1)) }
        #expect(Self.warnings(rig) == [text])
        rig.connectWorker(2, queues: ["http"], credit: 0)
        rig.tick(.seconds(1))
        rig.exchange(.goodbye, from: worker(2))
        for count in [0, 0, 1, 0] {
            rig.tick(.seconds(1))
            #expect(Self.warnings(rig).count == count)
        }
    }

    @Test func `A worker that is about to leave serves nothing`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.exchange(.drain, from: worker(1))
        rig.order(job("a"))
        #expect(rig.takeTasks(worker(1)) == [])
        for _ in 0..<4 { rig.tick(.seconds(1)) }
        #expect(Self.warnings(rig) == ["1 effect waits in queue default, and no worker serves it"])
        rig.connectWorker(1, epoch: 2)
        #expect(rig.machine.scheduler.dispatcher.isServed(.default), "with a new HELLO it stays")
    }

    @Test func `A suspect that no worker can take is warned of, too`() throws {
        let rig = try StoreFailureTests.suspect()
        for _ in 0..<4 { rig.tick(.seconds(1)) }
        #expect(Self.warnings(rig) == ["1 effect waits in queue default, and no worker serves it"])
    }

    // MARK: Drain

    @Test func `A drain does not wait for a worker of before the restart, and leaves it joined`() throws {
        let later = try StoreRecoveryTests.running().rig.restarted()
        later.machine.drain(within: .seconds(5), now: later.now)
        later.round()
        #expect(later.stop == .drained && later.durable.joined == [workerID(1)])
    }

    @Test func `On a full disk a drain ends at its time, and nothing is written any more`() throws {
        let rig = try StoreGateTests.full()
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.tick(.milliseconds(4_999))
        #expect(rig.stop == nil)
        let batches = rig.journal.count
        rig.tick(.milliseconds(1))
        #expect(rig.stop == .drained && rig.journal.count == batches && rig.snapshots.isEmpty)
    }

    @Test func `A drain tells every worker, says what runs, and is not begun twice`() throws {
        let rig = try StoreWorkerTests.rig()
        rig.connectWorker(2, queues: ["other"])
        rig.order(job("a"))
        _ = (rig.take(worker(1)), rig.take(worker(2)), rig.takeNotes())
        for seconds in [5, 1] { rig.machine.drain(within: .seconds(seconds), now: rig.now) }
        rig.round()
        #expect(rig.take(worker(1)) == [.drain] && rig.take(worker(2)) == [.drain])
        #expect(rig.takeNotes() == ["draining: 1 job running"])
        rig.tick(.seconds(2))
        #expect(rig.stop == nil)
    }

    @Test func `While no turn can be taken, no session expires`() throws {
        var settings = StoreSettings()
        (settings.batchTurns, settings.sessionIdle) = (1, .seconds(20))
        let rig = try StoreGateTests.full(settings)
        for _ in 0..<25 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients.count == 1)
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        rig.tick(.seconds(1))
        #expect(rig.machine.clients.count == 0, "it was idle for long enough")
    }

    @Test func `The disk is full since it was first told to be`() throws {
        let rig = try StoreClientTests.rig()
        for _ in 0..<3 {
            rig.machine.journalIsFull(true, now: rig.now)
            rig.tick(.seconds(1))
        }
        #expect(rig.ask("status")?.value["diskFullSeconds"] == 3)
        rig.machine.journalIsFull(false, now: rig.now)
        rig.machine.journalIsFull(true, now: rig.now)
        #expect(rig.ask("status")?.value["diskFullSeconds"] == 0)
    }
}
