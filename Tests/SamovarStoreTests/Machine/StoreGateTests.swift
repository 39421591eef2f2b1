import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Durable, then visible. The rig itself holds every frame of every test against what is on disk.
@Suite struct StoreGateTests {
    // MARK: A full disk

    /// Turn 3 is with the journal, turn 4 in the open batch, and there is no space.
    static func full(_ settings: StoreSettings = StoreSettings()) throws -> Rig {
        let rig = try Rig(settings)
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.tick(.milliseconds(100))
        rig.commits = false
        rig.exchange(inputs([.order([job("a")])], from: 2), from: client(1))
        rig.tick(.milliseconds(500))
        rig.exchange(inputs([.add(4)], from: 3), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        return rig
    }

    @Test func `Status is answered at once on a full disk, and tells of nothing that is not on disk`() throws {
        let rig = try Self.full()
        rig.tick(.seconds(3))
        let status = try #require(rig.ask("status")?.value)
        #expect(status["phase"] == "disk full" && status["diskFullSeconds"] == .int(3))
        #expect(status["turn"] == .int(Int64(rig.durable.head)) && status["durable"] == status["turn"])
        #expect(status["openEffects"] == .int(0), "the effect of turn 3 is not on disk")
        #expect(
            rig.ask("effects")?.refusal
                == """
                the disk of the store is full, for 3 s now: only status, metrics, history, reloadKeys and drain are taken \
                until there is space, then ask again
                """)
        rig.commits = true
        rig.machine.journalIsFull(false, now: rig.now)
        rig.round()
        #expect(rig.ask("status")?.value["openEffects"] == .int(1))
    }

    @Test func `Status of a store that starts on a full disk tells of the turns that are on it`() throws {
        let before = try Rig()
        before.connectClient()
        before.exchange(inputs([.order([job("a")])]), from: client(1))
        let rig = try before.restarted()
        rig.commits = false
        rig.round()
        rig.machine.journalIsFull(true, now: rig.now)
        let status = try #require(rig.ask("status")?.value)
        #expect(status["phase"] == "disk full" && rig.durable.head > 0 && rig.machine.head > rig.durable.head)
        #expect(status["turn"] == .int(Int64(rig.durable.head)) && status["durable"] == status["turn"])
        #expect(status["sessions"] == .int(1) && status["openEffects"] == .int(1))
    }

    @Test(arguments: [false, true])
    func `What is refused in an outage is told all that is taken, and nothing else`(isInDoubt: Bool) throws {
        let unknown = try #require(Rig().ask("nonsense")?.refusal)
        let verbs = try #require(unknown.split(separator: "; there are ").last).split(separator: ", ").map(String.init)
        var taken: [String] = []
        var refusals: Set<String> = []
        for verb in verbs {
            let rig = try Rig()
            if isInDoubt {
                rig.machine.leaseIsInDoubt(true, now: rig.now)
            } else {
                rig.machine.journalIsFull(true, now: rig.now)
            }
            // Some wait for the host, without a reply.
            if let refusal = rig.ask(verb)?.refusal { refusals.insert(refusal) } else { taken.append(verb) }
        }
        let refusal = try #require(refusals.first)
        #expect(refusals.count == 1 && taken == verbs.filter { refusal.contains($0) }, "\(taken): \(refusals)")
        #expect(taken.contains("drain") && taken.contains("reloadKeys"))
    }

    @Test func `Ticks and the newest durable view go on while the disk is full`() throws {
        let rig = try Self.full()
        _ = rig.takePublished()
        rig.tick(.seconds(1))
        #expect(rig.takePublished() == [.tick(instance: .main, head: 2, view: 2, idle: false)])
        let view = Frame.view(instance: .main, turn: 2, bytes: packed(Shop.ViewState(total: 1, done: 0)))
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 0), from: client(1)) == [view])
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 4), from: client(1)) == [])
    }

    @Test func `What waits for a worker does not run out of time while the disk is full, whatever else ends meanwhile`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.order([Shop.Job(name: "a", waiting: 3)])]), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        rig.machine.leaseIsInDoubt(true, now: rig.now)
        rig.tick(.seconds(60))
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        for _ in 1...60 { rig.tick(.seconds(1)) }
        #expect(try rig.state().done == [])
        rig.machine.journalIsFull(false, now: rig.now)
        rig.round()
        rig.tick(.milliseconds(2_999))
        #expect(try rig.state().done == [])
        rig.tick(.milliseconds(1))
        #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 3.0 seconds"])
    }

    @Test func `Nothing is lost or doubled by a full disk`() throws {
        let rig = try Self.full()
        #expect(
            rig.exchange(inputs([.add(100)], from: 4), from: client(1))
                == [.error(PeerError(.retryLater, "the disk of the store is full", wait: .seconds(1)))])
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        #expect(rig.take(client(1)).outcomes.map(\.sequence) == [2, 3])
        rig.connectClient(epoch: 2)
        let again = rig.exchange(inputs([.add(4), .add(100)], from: 3), from: client(1)).outcomes
        #expect(again.map(\.sequence) == [3, 4])
        #expect(try rig.state().total == 105)
    }

    @Test func `An input that is sent again and again while the disk is full is answered once`() throws {
        let rig = try Self.full()
        for _ in 1...10 {
            #expect(rig.exchange(inputs([.order([job("a")]), .add(4)], from: 2), from: client(1)) == [])
        }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        #expect(rig.take(client(1)).outcomes.map(\.sequence) == [2, 3])
        let again = rig.exchange(inputs([.add(4)], from: 3), from: client(1)).outcomes
        #expect(again.map(\.sequence) == [3], "then it is answered as often as it is sent")
    }

    /// Else it would be told of later inputs first, when the disk is not full any more.
    @Test func `A connection that was not told of an input is told of it once while the disk is full`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.connectClient(epoch: 2, at: client(2))
        rig.machine.journalIsFull(true, now: rig.now)
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)).outcomes.map(\.sequence) == [1])
        for _ in 1...3 { #expect(rig.exchange(inputs([.add(1)]), from: client(2)) == []) }
    }

    @Test func `What is asked for again and again while the disk is full is told once`() throws {
        let rig = try Self.full()
        for _ in 1...10 {
            #expect(rig.exchange(.settle(turn: 4), from: client(1)) == [])
            #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 4), from: client(1)) == [])
        }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        let frames = rig.take(client(1))
        #expect(frames.count { $0.kind == .settled } == 1 && frames.count { $0.kind == .view } == 1)
    }

    @Test func `An answer that is sent again and again while the disk is full is acknowledged once`() throws {
        let rig = try Self.rig { $0.connectWorker() }
        rig.order(job("a"))
        rig.commit()
        let task = try #require(rig.takeTasks(worker(1)).first)
        rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1))
        rig.machine.journalIsFull(true, now: rig.now)
        for _ in 1...10 { rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1)) }
        rig.machine.journalIsFull(false, now: rig.now)
        while rig.commit() { rig.round() }
        #expect(rig.take(worker(1)) == [.acknowledge([task.lease])])
    }

    /// A store whose next commits have to be asked for.
    static func rig(_ prepare: (Rig) -> Void = { _ in }) throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        prepare(rig)
        rig.commits = false
        _ = rig.take(client(1))
        return rig
    }

    @Test func `Welcome waits for the commit`() throws {
        let rig = try Rig()
        rig.commits = false
        #expect(rig.connectClient() == [])
        rig.commit()
        #expect(
            rig.take(client(1)) == [
                .welcome(Welcome(schema: shop, start: 1, expected: 1, credit: 4_096, head: 0, silence: .seconds(6)))
            ])
    }

    @Test func `Receipt waits for the commit`() throws {
        let rig = try Self.rig()
        #expect(rig.exchange(inputs([.add(1), .forbidden]), from: client(1)) == [])
        rig.commit()
        let refusal = Outcome.Verdict.refused(packed(Shop.Refusal.notHere(total: 1)))
        #expect(
            rig.take(client(1)) == [
                .receipt([applied(1, 2), Outcome(sequence: 2, turn: 3, verdict: refusal)], credit: 4_096)
            ])
    }

    @Test func `Repeated outcome waits for the commit`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)) == [])
        rig.commit()
        #expect(rig.take(client(1)) == Array(repeating: .receipt([applied(1, 2)], credit: 4_096), count: 2))
    }

    @Test func `View waits for the commit`() throws {
        let rig = try Self.rig()
        _ = rig.takePublished()
        rig.deliver(inputs([.add(1)]), from: client(1))
        rig.tick(.seconds(1))
        #expect(rig.takePublished() == [.tick(instance: .main, head: 1, view: 1, idle: false)])
        rig.commit()
        #expect(
            rig.takePublished().first == .view(instance: .main, turn: 2, bytes: packed(Shop.ViewState(total: 1, done: 0))))
    }

    @Test func `Task and acknowledgement wait for the commit`() throws {
        let rig = try Self.rig { $0.connectWorker() }
        rig.order(job("a"))
        #expect(rig.take(worker(1)) == [])
        rig.commit()
        let task = try #require(rig.takeTasks(worker(1)).first)

        #expect(rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1)) == [])
        rig.commit()
        #expect(rig.take(worker(1)) == [.acknowledge([task.lease])])
    }

    @Test(arguments: [false, true])
    func `Tasks that wait when their worker says HELLO again leave before its WELCOME, unless it was lost`(_ isDead: Bool) throws {
        let rig = try Self.rig { $0.connectWorker() }
        rig.order(job("a"))
        if isDead { rig.machine.workerDied(workerID(1), "silent", now: rig.now) }
        rig.connectWorker(epoch: 2)
        while rig.commit() { rig.round() }
        let frames = rig.take(worker(1))
        #expect(frames.map(\.kind) == (isDead ? [.welcome, .task] : [.task, .welcome, .task]))
        let leases = frames.tasks.map(\.lease)
        #expect(Set(frames.tasks.map(\.effect)).count == 1 && leases == leases.sorted() && Set(leases).count == leases.count)
    }

    @Test func `Settled and requested view wait for the commit`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.deliver(.settle(turn: 2), from: client(1))
        rig.deliver(.viewRequest(instance: .main, atLeast: 2), from: client(1))
        rig.round()
        #expect(rig.take(client(1)) == [])
        rig.commit()
        #expect(
            rig.take(client(1)) == [
                .receipt([applied(1, 2)], credit: 4_096), .settled(turn: 2, dead: []),
                .view(instance: .main, turn: 2, bytes: packed(Shop.ViewState(total: 1, done: 0))),
            ])
    }

    @Test func `Reply to an operator waits for the commit`() throws {
        let rig = try Self.rig()
        rig.deliver(inputs([.add(1)]), from: client(1))
        rig.round()
        #expect(rig.ask("inspect") == nil)
        rig.commit()
        #expect(rig.take(admin).count == 1)
    }

    @Test func `A cancellation waits for the commit of the turn that wants it`() throws {
        let rig = try Self.rig { rig in
            rig.connectWorker()
            rig.order(StorePolicyTests.job("a"))
            _ = rig.take(worker(1))
        }
        #expect(rig.exchange(inputs([.cancel("label")], from: 2), from: client(1)) == [] && rig.take(worker(1)) == [])
        rig.commit()
        #expect(rig.take(worker(1)).map(\.kind) == [.cancel])
    }

    @Test func `The WELCOME to a repeated HELLO waits as the first did`() throws {
        let rig = try Self.rig { $0.connectWorker() }
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.connectWorker() == [])
        rig.commit()
        #expect(rig.take(worker(1)).map(\.kind) == [.welcome])
    }

    @Test func `That there is no view waits as the view would`() throws {
        let rig = try Self.rig()
        rig.machine.turnViewsOff("why")
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 2), from: client(1)) == [])
        rig.commit()
        #expect(rig.take(client(1)).last == .waiting(turn: 2, on: "there is no view: why"))
    }

    @Test func `A full disk sends a worker away, too, and before the first view a tick tells of none`() throws {
        let rig = try Rig()
        rig.commits = false
        rig.round()
        rig.machine.journalIsFull(true, now: rig.now)
        let hello = Hello(role: .worker(WorkerOffer(id: workerID(1), slots: 1, queues: [.default])), schema: shop)
        let full = Frame.error(PeerError(.retryLater, "the disk of the store is full", wait: .seconds(1)))
        #expect(rig.exchange(.hello(hello), from: worker(1)) == [full])
        _ = rig.takePublished()
        rig.tick(.seconds(1))
        #expect(rig.takePublished() == [.tick(instance: .main, head: 0, view: 0, idle: false)])
    }

    @Test func `Pong and errors do not wait`() throws {
        let rig = try Self.rig()
        rig.deliver(inputs([.add(1)]), from: client(1))
        rig.round()
        #expect(rig.exchange(.ping(0), from: client(1)) == [.pong(4_096)])
        let resync = PeerError(.resync, "number 2 is next", expected: 2)
        #expect(rig.exchange(inputs([.add(1)], from: 5), from: client(1)) == [.error(resync)])
        #expect(rig.exchange(.ping(0), from: client(9)) == [.error(PeerError(.unknownPeer, "say HELLO first"))])
    }

    @Test func `View leaves before effects and effects before answers`() throws {
        let rig = try Self.rig { $0.connectWorker() }
        rig.now = rig.now + .milliseconds(100)
        _ = rig.takeOrder()
        rig.exchange(inputs([.add(1), .order([job("a")])]), from: client(1))
        rig.commit()
        #expect(rig.takeOrder() == ["view", "task", "receipt"])
    }

    @Test func `A batch closes when the journal is free`() throws {
        let rig = try Self.rig()
        for sequence in 1...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.journal.suffix(1).map { [$0.first, $0.last] } == [[2, 2]], "one with the journal, and one that gathers")
        rig.commit()
        rig.round()
        #expect(rig.journal.suffix(1).map { [$0.first, $0.last] } == [[3, 4]])
    }

    @Test func `The engine waits at the limit of a batch`() throws {
        var settings = StoreSettings()
        settings.batchTurns = 2
        let rig = try Rig(settings)
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(inputs(Array(repeating: .add(1), count: 9), from: 2), from: client(1))
        #expect(rig.machine.head == 4, "turn 2 is with the journal, and two more are taken")
        #expect(rig.machine.hasWork == false)
        rig.commits = true
        rig.commit()
        rig.round()
        #expect(rig.machine.durable == 11)
        #expect(try rig.state().total == 10)
    }

    @Test func `A group is never split over two batches`() throws {
        var settings = StoreSettings()
        settings.batchTurns = 2
        let rig = try Rig(settings)
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.chain(7)]), from: client(1))
        #expect(rig.journal.last.map { $0.last - $0.first + 1 } == 7)
    }
}
