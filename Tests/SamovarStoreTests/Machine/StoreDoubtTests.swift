import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Another store may have the journal: nothing is taken, and nothing is told.
@Suite struct StoreDoubtTests {
    private static let refusal = Frame.error(
        PeerError(.retryLater, "another store may have the journal", wait: .seconds(1)))

    /// With a client and a worker; then in doubt.
    private static func rig(_ prepare: (Rig) -> Void = { _ in }) throws -> Rig {
        let rig = try Rig()
        rig.connectClient()
        rig.connectWorker()
        prepare(rig)
        rig.machine.leaseIsInDoubt(true, now: rig.now)
        rig.round()
        _ = (rig.take(client(1)), rig.take(worker(1)), rig.takePublished())
        return rig
    }

    @Test func `Views, ticks, pongs and answers stay, and inputs and greetings come later`() throws {
        let rig = try Self.rig()
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)) == [Self.refusal])
        #expect(rig.exchange(.ping(0), from: client(1)) == [])
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 0), from: client(1)) == [Self.refusal])
        #expect(rig.exchange(.ping(1), from: worker(1)) == [])
        #expect(rig.connectClient(2) == [Self.refusal])
        for _ in 1...3 { rig.tick(.seconds(1)) }
        #expect(rig.takePublished() == [] && rig.take(client(1)) == [] && rig.take(worker(1)) == [])
    }

    @Test func `A goodbye is heard, and ends its session when the doubt is over`() throws {
        let rig = try Self.rig { $0.exchange(inputs([.add(1)]), from: client(1)) }
        #expect(rig.exchange(.goodbye, from: client(1)) == [])
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.round()
        #expect(rig.connectClient(epoch: 2).errors == [.sessionExpired])
    }

    /// What they have seen, the other store may have written, and it may be of their build.
    @Test func `Who proves a turn beyond the journal, or is of another build, is sent away for now, and ends nothing`() throws {
        let rig = try Self.rig()
        let seen = rig.machine.head + 1
        let proof = rig.machine.out.identity.proof(of: seen).code
        let offer = WorkerOffer(id: workerID(2), slots: 1, queues: [.default])
        let peers: [(Hello.Role, Route)] = [(.client(session: session(2)), client(2)), (.worker(offer), worker(2))]
        for (role, route) in peers {
            for schema in [shop, Schema(name: shop.name, version: shop.version + 1)] {
                let hello = Hello(role: role, schema: schema, witness: seen, proof: proof)
                #expect(rig.exchange(.hello(hello), from: route) == [Self.refusal])
            }
        }
        #expect(rig.stop == nil)
    }

    @Test func `Receipts and tasks whose turns get on disk meanwhile wait until the doubt is over`() throws {
        let rig = try Self.rig { rig in
            rig.commits = false
            rig.exchange(inputs([.order([job("a")])]), from: client(1))
        }
        rig.commits = true
        rig.tick(.seconds(2))
        #expect(rig.machine.durable == rig.machine.head)
        #expect(rig.take(client(1)) == [] && rig.takeTasks(worker(1)) == [])
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.round()
        #expect(rig.take(client(1)).outcomes.map(\.sequence) == [1])
        #expect(rig.takeTasks(worker(1)).count == 1)
    }

    @Test func `The time of a job whose task was held meanwhile begins when the doubt is over`() throws {
        let rig = try Self.rig { rig in
            rig.commits = false
            // The other one finds no room, so that there is always something to hand out.
            rig.exchange(inputs([.order([job("a", timeout: 3), job("b")])]), from: client(1))
        }
        rig.commits = true
        for _ in 1...2 { rig.tick(.seconds(30)) }
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.round()
        rig.tick(.seconds(4.9))
        #expect(try rig.state().done == [], "a timeout of 3 s and 2 s of grace")
        rig.exchange(.ping(1), from: worker(1))
        rig.tick(.seconds(0.2))
        #expect(try rig.state().done == ["a timed out after 1 attempt: no answer within its timeout"])
    }

    @Test func `The time that an effect may wait for a worker begins again when the doubt is over, once`() throws {
        let rig = try Self.rig { rig in
            rig.exchange(.goodbye, from: worker(1))
            rig.exchange(inputs([.order([Shop.Job(name: "a", waiting: 3)])]), from: client(1))
        }
        rig.tick(.seconds(60))
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.round()
        rig.tick(.seconds(2))
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.tick(.milliseconds(999))
        #expect(try rig.state().done == [])
        rig.tick(.milliseconds(1))
        #expect(try rig.state().done == ["a timed out after 0 attempts: no worker took it within 3.0 seconds"])
    }

    @Test func `No turn is taken, whatever was accepted or is due`() throws {
        let rig = try Self.rig { $0.deliver(inputs([.add(1), .add(2)]), from: client(1)) }
        let head = rig.machine.head
        rig.tick(.seconds(60))
        let (hasWork, wakeUp) = (rig.machine.hasWork, rig.machine.wakeUp(now: rig.now))
        #expect(rig.machine.head == head && !hasWork && wakeUp > rig.now)
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.round()
        #expect(try rig.state().total == 3)
    }

    @Test func `Nobody is taken for silent who was not heard in doubt`() throws {
        let rig = try Self.rig()
        rig.tick(.seconds(60))
        rig.machine.leaseIsInDoubt(false, now: rig.now)
        rig.tick(.seconds(1))
        #expect(rig.exchange(.ping(1), from: worker(1)).map(\.kind) == [.pong])
        #expect(rig.exchange(.ping(0), from: client(1)).map(\.kind) == [.pong])
    }

    @Test func `Status says since when, and nothing else is answered`() throws {
        let rig = try Self.rig()
        rig.tick(.seconds(3))
        let status = try #require(rig.ask("status")?.value)
        #expect(status["phase"] == "lease in doubt" && status["leaseInDoubtSeconds"] == .int(3))
        #expect(
            rig.ask("effects")?.refusal
                == """
                another store may have the journal, for 3 s now: only status, metrics, history, reloadKeys and drain are taken \
                until the lease shows that none has, then ask again
                """)
    }

    @Test func `A store that is to stop stops in time, and writes nothing`() throws {
        let rig = try Self.rig()
        let journal = rig.journal
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.tick(.seconds(4.9))
        #expect(rig.stop == nil)
        rig.tick(.seconds(0.1))
        #expect(rig.stop == .drained && rig.journal == journal)
    }

    @Test func `It is told when it begins and when it ends, once`() throws {
        let rig = try Self.rig()
        for isInDoubt in [true, false, false] { rig.machine.leaseIsInDoubt(isInDoubt, now: rig.now) }
        rig.round()
        #expect(
            rig.notes.suffix(2).map(\.text) == [
                "the lease could not be renewed: until it is, nothing is taken or told, for another store may serve",
                "the lease is renewed again: the store goes on",
            ])
    }

    // MARK: Turns that another has written

    /// A store on a journal that others can take; a client proves turn 9, and its own newest is 1.
    private static func suspecting(_ prepare: (inout StoreMachine) -> Void = { _ in }) throws -> StoreMachine {
        var machine = Rig.machine(isFenced: true)
        try machine.start(seed: packed(NoSeed()), now: at(0), number: 4)
        machine.flush(now: at(0))
        machine.committed(through: machine.head, now: at(0))
        prepare(&machine)
        _ = machine.takeActions()
        let proof = StoreIdentity(timeline: home, secret: workshopSecret, build: "test", durability: "unknown", isFenced: true)
            .proof(of: 9)
        let hello = Hello(role: .client(session: session(1)), schema: shop, witness: 9, proof: proof.code, epoch: 1)
        machine.received(Envelope(.hello(hello), timeline: home).parts, from: client(1), now: at(1))
        return machine
    }

    @Test func `A proven turn beyond a shared journal ends no store before its lease shows that nobody else has written it`() throws
    {
        var machine = try Self.suspecting()
        var actions = machine.takeActions()
        #expect(actions.contains(.renewLease) && machine.isStopped == false)
        machine.leaseIsRenewed()
        #expect(machine.isStopped == false, "that renewal was sent before the doubt came up")
        machine.leaseIsAsked()
        machine.leaseIsRenewed()
        actions = machine.takeActions()
        let isLost = actions.contains { if case .stop(.lostTail) = $0 { true } else { false } }
        #expect(isLost && machine.isStopped == true)
    }

    /// A store that has lost its tail would go on without it, and what it tells meanwhile would be lost with the next one that is put back.
    @Test func `Until the lease shows whose a proven turn is, nothing is taken or told, also when renewals fail and come again`()
        throws
    {
        var machine = try Self.suspecting { machine in
            let hello = Hello(role: .client(session: session(2)), schema: shop, witness: 0, proof: nil, epoch: 1)
            machine.received(Envelope(.hello(hello), timeline: home).parts, from: client(2), now: at(0))
            machine.received(Envelope(inputs([.add(1)]), timeline: home).parts, from: client(2), now: at(0))
        }
        let head = machine.head
        let notes = machine.takeActions().compactMap { if case .note(let note) = $0 { note.text } else { nil } }
        #expect(notes.contains { $0.hasSuffix("nothing is taken or told until the lease shows which") }, "\(notes)")
        for (second, isInDoubt) in [(2.0, nil), (9, true), (10, false)] {
            if let isInDoubt { machine.leaseIsInDoubt(isInDoubt, now: at(second)) }
            machine.received(Envelope(inputs([.add(1)]), timeline: home).parts, from: client(2), now: at(second))
            machine.advance(now: at(second))
            machine.flush(now: at(second))
            let told = machine.takeActions().compactMap { if case .send(let envelope, _) = $0 { envelope.frame } else { nil } }
            #expect(machine.head == head && told == [Self.refusal], "at \(second) s: \(told)")
            #expect(machine.isStopped == false)
        }
        machine.leaseIsAsked()
        machine.leaseIsRenewed()
        #expect(machine.isStopped == true)
    }

    /// Else a worker that repeats what proves it could put off the end again and again.
    @Test func `A lost tail that is proven once more is not asked about again, and the answer on its way ends the store`() throws {
        var machine = try Self.suspecting { machine in
            let hello = Hello(role: .worker(WorkerOffer(id: workerID(1), slots: 1, queues: [.default])), schema: shop, epoch: 1)
            machine.received(Envelope(.hello(hello), timeline: home).parts, from: worker(1), now: at(0))
        }
        machine.leaseIsAsked()
        _ = machine.takeActions()
        let (effect, lease) = (EffectID(turn: 9, ordinal: 0), Lease(start: 4, counter: 1))
        let token = JobProof(home, workshopSecret).token(of: effect, under: lease)
        let result = JobResult(effect: effect, lease: lease, token: token, answer: .done([]))
        machine.received(Envelope(.result([result], credit: 1), timeline: home).parts, from: worker(1), now: at(1))
        let actions = machine.takeActions()
        machine.leaseIsRenewed()
        #expect(actions == [] && machine.isStopped == true)
    }

    @Test func `A store that stops in time stops once, whatever its lease shows behind that`() throws {
        var machine = try Self.suspecting()
        machine.leaseIsAsked()
        machine.drain(within: .seconds(5), now: at(1))
        machine.flush(now: at(6))
        let stops = machine.takeActions().filter { if case .stop = $0 { true } else { false } }
        #expect(stops == [.stop(.drained)])
        machine.leaseIsRenewed()
        let behind = machine.takeActions()
        #expect(behind == [])
    }

    // MARK: The database away

    @Test func `A database that is away is called so, and is waited for like a full disk`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.journalIsFull(true, isAway: true, now: rig.now)
        #expect(
            rig.exchange(inputs([.add(2)], from: 2), from: client(1))
                == [.error(PeerError(.retryLater, "the database of the store is away", wait: .seconds(1)))])
        let status = try #require(rig.ask("status")?.value)
        #expect(status["phase"] == "database away" && status["databaseAwaySeconds"] == .int(0))
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        #expect(rig.take(client(1)).outcomes.map(\.sequence) == [1])
        #expect(
            rig.notes.suffix(2).map(\.text) == [
                "the database is away: nothing is taken until it is back", "the database is back: the store goes on",
            ])
    }

    @Test func `Those who wait for effects hear no reports that would gather at a gate that stays closed`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.order([job("a")])]), from: client(1))
        rig.exchange(.settle(turn: 2), from: client(1))
        rig.commits = false
        rig.exchange(inputs([.add(1)], from: 2), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        _ = rig.take(client(1))
        for _ in 1...10 { rig.tick(.seconds(1)) }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.commits = true
        rig.round()
        #expect(rig.take(client(1)).count { $0.kind == .waiting } == 0)
    }

    // MARK: Numbers of starts

    @Test func `A start has the number that it is given, and leases and the journal know it`() throws {
        var machine = Rig.machine()
        try machine.start(seed: packed(NoSeed()), now: at(0), number: 7)
        #expect(machine.starts == 7)
        machine.flush(now: at(0))
        var batches: [StoredBatch] = []
        for case .append(let first, let last, let bytes) in machine.takeActions() {
            batches.append(StoredBatch(first: first, last: last, bytes: bytes))
        }
        var next = Rig.machine()
        for batch in batches { try next.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        #expect(next.starts == 7)
        let error = #expect(throws: SeedError.self) { try next.start(seed: packed(NoSeed()), now: at(1), number: 7) }
        #expect(error?.text == "this start would be number 7, and number 7 is in the journal")
        try next.start(seed: packed(NoSeed()), now: at(1), number: 9)
        #expect(next.starts == 9)
    }
}
