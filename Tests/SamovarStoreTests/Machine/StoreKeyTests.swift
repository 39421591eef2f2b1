import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Keys over time: whose a session or a worker is, renewal, revocation, expiry, budgets, and what the journal keeps of it.
@Suite struct StoreKeyTests {
    // MARK: Whose it is

    @Test func `A session belongs to the name of the key that used it first`() throws {
        let rig = try Rig.with(key(1, "one", .client), key(2, "two", .client))
        #expect(rig.greetClient(1, by: by(1)).isWelcome)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
        for rig in [rig, try rig.restarted()] {
            #expect(
                rig.greetClient(1, by: by(2), epoch: 9, at: remoteClient(5)).errorTexts == ["this session belongs to another key"])
            #expect(rig.greetClient(1, by: .local, epoch: 9, at: client(5)).errors == [.forbidden])
            #expect(rig.greetClient(1, by: by(1), epoch: 9).isWelcome)
        }
    }

    @Test func `A session that came without a key is not for one`() throws {
        let rig = try Rig.with(key(1, "one", .client))
        rig.connectClient(1)
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)).verdicts == [.applied])
        for rig in [rig, try rig.restarted()] {
            #expect(rig.greetClient(1, by: by(1), epoch: 9).errors == [.forbidden])
        }
    }

    @Test func `A session without a turn belongs to its key, too`() throws {
        let rig = try Rig.with(key(1, "one", .client), key(2, "two", .client))
        #expect(rig.greetClient(1, by: by(1)).isWelcome)
        #expect(rig.greetClient(1, by: by(2), epoch: 9, at: remoteClient(5)).errors == [.forbidden])
    }

    @Test func `A worker's identity belongs to the name of its key, joined and after it has left`() throws {
        let rig = try Rig.with(key(1, "one", .worker), key(2, "two", .worker))
        #expect(rig.greetWorker(1, by: by(1)).isWelcome)
        for rig in [rig, try rig.restarted()] {
            #expect(
                rig.greetWorker(1, by: by(2), epoch: 9, at: remoteWorker(5)).errorTexts == [
                    "this worker's identity belongs to another key"
                ])
            #expect(rig.greetWorker(1, by: .local, epoch: 9, at: worker(5)).errors == [.forbidden])
            #expect(rig.greetWorker(1, by: by(1), epoch: 9).isWelcome)
        }
        rig.exchange(.goodbye, from: remoteWorker(1), by: by(1))
        #expect(rig.machine.turns.state.joined.isEmpty)
        #expect(rig.greetWorker(1, by: by(2), epoch: 10).errors == [.forbidden])
        #expect(rig.greetWorker(1, by: by(1), epoch: 10).isWelcome)
    }

    @Test func `A worker that has not come back after a restart leaves its identity to nobody`() throws {
        let rig = try Rig.with(key(1, "one", .worker), key(2, "two", .worker))
        #expect(rig.greetWorker(1, by: by(1)).isWelcome)
        let again = try rig.restarted()
        again.tick(again.machine.settings.silence + .seconds(1))
        #expect(again.durable.joined.isEmpty)
        #expect(
            again.takeNotes().contains("worker \(workerID(1)) of before the restart has not come back; its jobs go to others"))
        #expect(again.greetWorker(1, by: by(2), epoch: 9, at: remoteWorker(5)).errors == [.forbidden])
        #expect(again.greetWorker(1, by: by(1), epoch: 2).isWelcome)
    }

    @Test func `A snapshot keeps whose sessions and workers are`() throws {
        let rig = try Rig.with(key(1, "one", .client, .worker), key(2, "two", .client, .worker))
        _ = rig.greetClient(1, by: by(1))
        rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        let snapshot = try rig.durable.snapshot()
        let restored = try Rig(snapshot: snapshot, now: rig.now, keys: rig.machine.access.keys)
        #expect(restored.greetClient(1, by: by(2), epoch: 9).errors == [.forbidden])
        #expect(restored.greetWorker(1, by: by(2), epoch: 9).errors == [.forbidden])
        #expect(restored.greetClient(1, by: by(1), epoch: 10).isWelcome && restored.greetWorker(1, by: by(1), epoch: 10).isWelcome)
    }

    // MARK: Renewal and revocation

    @Test func `A renewed key loses no session and no running job`() throws {
        let rig = try Rig.with(key(1, "peer", .client, .worker))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        rig.deliver(.credit(1), from: remoteWorker(1), by: by(1))
        #expect(rig.exchange(inputs([.order([job("a")])]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
        let task = try #require(rig.takeTasks(remoteWorker(1)).first)
        try rig.read(key(1, "peer", .client, .worker), key(2, "peer", .client, .worker))
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        #expect(rig.greetWorker(1, by: by(2), claims: [claim], epoch: 2, at: remoteWorker(2)).isWelcome)
        #expect(rig.greetClient(1, by: by(2), epoch: 2, at: remoteClient(2)).isWelcome)
        try rig.read(key(2, "peer", .client, .worker))
        #expect(rig.take(remoteClient(2)).errors.isEmpty && rig.take(remoteWorker(2)).errors.isEmpty)
        rig.exchange(.result([task.answered("a")], credit: 2), from: remoteWorker(2), by: by(2))
        #expect(try rig.state().done == ["a"])
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: remoteClient(2), by: by(2)).verdicts == [.applied])
        #expect(rig.durable.sessions.sessions[session(1)]?.last == 2)
    }

    @Test func `A revoked key is told so, its sessions end, and its jobs go to others at once, suspected of nothing`() throws {
        let rig = try Rig.with(key(1, "bad", .client, .worker), key(2, "good", .worker))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        rig.deliver(.credit(1), from: remoteWorker(1), by: by(1))
        rig.exchange(inputs([.order([job("a", attempts: 3)])]), from: remoteClient(1), by: by(1))
        let task = try #require(rig.takeTasks(remoteWorker(1)).first)
        _ = rig.greetWorker(2, by: by(2))
        rig.deliver(.credit(1), from: remoteWorker(2), by: by(2))
        rig.round()
        try rig.read(key(2, "good", .worker))
        #expect(rig.take(remoteClient(1)).errors == [.keyRefused] && rig.take(remoteWorker(1)).errors == [.keyRefused])
        let again = try #require(rig.takeTasks(remoteWorker(2)).first)
        #expect(again.effect == task.effect && again.lease > task.lease)
        #expect(rig.machine.turns.state.ledger.open[task.effect]?.deaths == 0)
        #expect(rig.durable.sessions.sessions.isEmpty && rig.durable.joined == [workerID(2)])
        #expect(rig.viewsReopened == 1)

        // Its connections are still there, as far as the sockets know.
        #expect(
            rig.exchange(.result([task.answered("stolen")], credit: 2), from: remoteWorker(1), by: by(1)).errors == [.keyRefused])
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: remoteClient(1), by: by(1)).errors == [.keyRefused])
        #expect(try rig.state().done == [] && rig.state().total == 0)
    }

    @Test func `An input of a revoked key that waits for its turn is not taken`() throws {
        let rig = try Rig.with(key(1, "bad", .client))
        _ = rig.greetClient(1, by: by(1))
        rig.deliver(inputs([.add(1)]), from: remoteClient(1), by: by(1))
        try rig.read()
        #expect(try rig.state().total == 0 && rig.machine.clients.inbox.count == 0)
    }

    @Test func `An input whose key is gone is judged by none other, and so is not taken`() throws {
        let access = Access(try KeyTable([key(1, "a", .client, inputs: ["add"])]))
        let input: [UInt8] = [0xa3] + Array("add".utf8)
        #expect(access.objection(to: input, by: nil) == nil)
        #expect(access.objection(to: input, by: Sender(name: named("a"), fingerprint: fingerprint(1))) == nil)
        let other = Sender(name: named("a"), fingerprint: fingerprint(2))
        #expect(access.objection(to: input, by: other) == "the key a may not send any more")
    }

    @Test func `A key that gets another name has nothing of the former one, and its peer begins anew`() throws {
        let rig = try Rig.with(key(1, "a", .client, .worker))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        try rig.read(key(1, "b", .client, .worker))
        #expect(rig.take(remoteClient(1)).errors == [.forbidden] && rig.take(remoteWorker(1)).errors == [.forbidden])
        #expect(rig.machine.clients.connections.count == 0 && rig.machine.workers.connections.count == 0)
        #expect(rig.greetClient(2, by: by(1)).isWelcome && rig.greetWorker(2, by: by(1)).isWelcome)
    }

    @Test func `Where a key is renewed or loses its role, what waits of it is not taken, and its client sends it again`() throws {
        for next in [key(2, "a", .client, inputs: ["add"]), key(1, "a", .viewer)] {
            let rig = try Rig.with(key(1, "a", .client, inputs: ["add"]))
            _ = rig.greetClient(1, by: by(1))
            rig.deliver(inputs([.chain(3), .add(1)]), from: remoteClient(1), by: by(1))
            try rig.read(next)
            #expect(try rig.state().total == 0 && rig.machine.clients.inbox.count == 0 && rig.durable.sessions.sessions.isEmpty)
            try rig.read(key(1, "a", .client), key(2, "a", .client))
            // Its connection may have stayed.
            if next.roles == [.client] { #expect(rig.greetClient(1, by: by(2), epoch: 2, at: remoteClient(2)).isWelcome) }
            let route = next.roles == [.client] ? (remoteClient(2), by(2)) : (remoteClient(1), by(1))
            #expect(rig.exchange(inputs([.add(1)], from: 3), from: route.0, by: route.1).errors == [.resync])
            #expect(rig.exchange(inputs([.add(1)]), from: route.0, by: route.1).verdicts == [.applied])
        }
    }

    @Test func `A worker whose key is renewed comes back to its jobs, and gets no others meanwhile`() throws {
        let rig = try Rig.with(key(1, "maker", .worker), key(3, "other", .worker))
        rig.connectClient(1)
        for (number, identity) in [(1, by(1)), (3, by(3))] as [(UInt8, Identity)] {
            _ = rig.greetWorker(number, by: identity)
            rig.deliver(.credit(number == 1 ? 2 : 0), from: remoteWorker(number), by: identity)
        }
        rig.exchange(inputs([.order([job("a")])]), from: client(1))
        let task = try #require(rig.takeTasks(remoteWorker(1)).first)
        rig.deliver(.credit(9), from: remoteWorker(3), by: by(3))
        try rig.read(key(2, "maker", .worker), key(3, "other", .worker))
        #expect(rig.take(remoteWorker(1)).errors == [.keyRefused] && rig.durable.joined.count == 2)
        rig.exchange(inputs([.order([job("b")])], from: 2), from: client(1))
        #expect(rig.take(remoteWorker(1)).isEmpty && rig.takeTasks(remoteWorker(3)).count == 1, "the other job, and not this one")
        let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
        #expect(rig.greetWorker(1, by: by(2), claims: [claim], epoch: 2, at: remoteWorker(2)).isWelcome)
        rig.exchange(.result([task.answered("a")], credit: 2), from: remoteWorker(2), by: by(2))
        #expect(try rig.state().done == ["a"])
    }

    @Test func `An operator whose key is renewed asks again, and what was done is told and not done twice`() throws {
        let rig = try Rig.with(key(1, "a", .operator), key(2, "a", .operator))
        let pause = Frame.request(AdminRequest(id: 1, verb: "pause", arguments: ["queue": "curious"]))
        #expect(rig.exchange(pause, from: remoteAdmin, by: by(1)).count == 1)
        let head = rig.machine.head
        #expect(rig.exchange(pause, from: remoteAdmin, by: by(2)).count == 1 && rig.machine.head == head)
    }

    /// The host has measured its process.
    private static func measure(_ rig: Rig) {
        let process = ProcessSample(processorSeconds: 1.5, residentBytes: 7)
        rig.machine.processMeasured(ProcessFacts(process, journalBytes: nil), now: rig.now)
        rig.round()
    }

    @Test func `Of operators that wait for metrics, who loses its key is told so and no more, and the others get them`() throws {
        let rig = try Rig.with(key(1, "a", .operator), key(2, "b", .operator))
        let request = Frame.request(AdminRequest(id: 7, verb: "metrics"))
        let routes = ([1, 2] as [UInt8]).map { Route(listener: .admin, id: [0, $0], isRemote: true) }
        for (number, route) in zip([1, 2] as [UInt64], routes) {
            #expect(rig.exchange(request, from: route, by: by(number)).isEmpty)
        }
        for _ in 1...2 { try rig.read(key(2, "b", .operator)) }
        Self.measure(rig)
        #expect(rig.take(routes[0]).errors == [.keyRefused])
        #expect(rig.take(routes[1]).map(\.kind) == [.reply])
    }

    @Test(arguments: [false, true])
    func `Metrics that a revoked key has asked for are not told, whatever they wait for`(isMeasured: Bool) throws {
        let rig = try Rig.with(key(1, "a", .operator))
        rig.connectClient()
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(rig.exchange(.request(AdminRequest(id: 7, verb: "metrics")), from: remoteAdmin, by: by(1)) == [])
        if isMeasured { Self.measure(rig) }
        try rig.read(key(2, "b", .operator))
        if !isMeasured { Self.measure(rig) }
        rig.commits = true
        rig.round()
        let heard = rig.take(remoteAdmin)
        #expect(heard.errors == [.keyRefused] && heard.count == 1)
    }

    @Test func `Sessions of a name that has lost its keys while the store was down end with its start`() throws {
        let rig = try Rig.with(key(1, "a", .client), key(2, "b", .client))
        for number in [1, 2] as [UInt8] {
            _ = rig.greetClient(number, by: by(UInt64(number)))
            rig.exchange(inputs([.add(1)]), from: remoteClient(number), by: by(UInt64(number)))
        }
        func again(_ keys: Key...) throws -> Set<SessionID> {
            let again = try Rig(journal: rig.committedBatches, now: rig.now + .seconds(1), keys: KeyTable(keys))
            again.round()
            return Set(again.durable.sessions.sessions.keys)
        }
        #expect(try again(key(3, "b", .client)) == [session(2)])
        #expect(try again() == [session(1), session(2)], "a store without keys knows nothing of names")
    }

    @Test func `A table that is read before the start is the one with which a store begins`() throws {
        let rig = try Rig.with(key(1, "gone", .client))
        _ = rig.greetClient(1, by: by(1))
        rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1))
        var machine = Rig.machine(keys: try KeyTable([key(1, "gone", .client)]))
        for batch in rig.committedBatches { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        machine.keysRead(.failure(KeyTableError("it is not there")), now: rig.now)
        let former = machine.access.keys.keys.map(\.name)
        machine.keysRead(.success(try KeyTable([key(2, "new", .client)])), now: rig.now)
        let actions = machine.takeActions()
        try machine.start(seed: packed(NoSeed()), now: rig.now)
        let (names, sessions) = (machine.access.keys.keys.map(\.name), machine.turns.state.sessions.sessions.count)
        #expect(former == [named("gone")] && names == [named("new")] && sessions == 0)
        #expect(actions.isEmpty, "nobody is told before it")
    }

    @Test func `A session that has ended with an input belongs to its key, too`() throws {
        let rig = try Rig.with(key(1, "one", .client), key(2, "two", .client))
        _ = rig.greetClient(1, by: by(1))
        let last = Submission(sequence: 1, input: packed(Shop.Input.add(1)), endsSession: true)
        #expect(rig.exchange(.send([last], confirmed: 0), from: remoteClient(1), by: by(1)).verdicts == [.applied])
        func greet(_ number: UInt64, _ rig: Rig) -> [Frame] {
            let role = Hello.Role.client(session: session(1))
            let hello = Hello(role: role, schema: shop, witness: 1, epoch: 9, mayHaveEnded: true)
            return rig.exchange(.hello(hello), from: remoteClient(UInt8(number)), by: by(number))
        }
        let restored = try Rig(snapshot: try rig.durable.snapshot(), now: rig.now, keys: rig.machine.access.keys)
        for rig in [try rig.restarted(), restored] {
            #expect(greet(2, rig).errors == [.forbidden])
            #expect(greet(1, rig).isWelcome)
        }
    }

    @Test func `A key that loses a role or a queue is there no more`() throws {
        let rig = try Rig.with(key(1, "a", .client), key(2, "b", .worker, queues: ["x", "y"]), key(3, "c", .viewer))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(2, by: by(2), queues: ["x", "y"])
        _ = rig.greetClient(3, by: by(3))
        try rig.read(key(1, "a", .worker), key(2, "b", .worker, queues: ["x"]), key(3, "c", .viewer))
        #expect(rig.take(remoteClient(1)).errors == [.forbidden] && rig.take(remoteWorker(2)).errors == [.forbidden])
        #expect(rig.take(remoteClient(3)).errors == [] && rig.viewsReopened == 1)
        #expect(rig.durable.joined.isEmpty)
    }

    @Test func `A key that becomes a viewer's hears views for which it waits, and neither outputs nor the end of a turn`() throws {
        let rig = try Rig.with(key(1, "a", .client))
        _ = rig.greetClient(1, by: by(1))
        rig.connectClient(2)
        #expect(rig.exchange(inputs([.order([job("a")])]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
        let outputs = Frame.outputsRequest(instance: .main, after: EffectID(turn: 0, ordinal: 0), waits: true)
        for request in [.settle(turn: 2), outputs, .viewRequest(instance: .main, atLeast: 3)] as [Frame] {
            #expect(rig.exchange(request, from: remoteClient(1), by: by(1)) == [])
        }
        rig.tick(.seconds(1))
        #expect(rig.take(remoteClient(1)).map(\.kind) == [.waiting])
        try rig.read(key(1, "a", .viewer))
        rig.exchange(inputs([.emit(["x"])]), from: client(2))
        #expect(rig.take(remoteClient(1)).map(\.kind) == [.view])
        rig.tick(.seconds(1))
        let task = try #require(rig.connectWorker().tasks.first)
        rig.exchange(.result([task.answered("a")], credit: 2), from: worker(1))
        #expect(rig.machine.turns.state.ledger.isSettled(2) && rig.take(remoteClient(1)) == [])
        for request in [.settle(turn: 2), outputs] as [Frame] {
            #expect(rig.exchange(request, from: remoteClient(1), by: by(1)).errors == [.forbidden], "it asks again")
        }
        let view = Frame.viewRequest(instance: .main, atLeast: 0)
        #expect(rig.exchange(view, from: remoteClient(1), by: by(1)).map(\.kind) == [.view])
    }

    @Test func `A table that only grows disturbs nobody`() throws {
        let rig = try Rig.with(key(1, "a", .client, .worker))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        try rig.read(key(1, "a", .client, .worker), key(2, "b", .viewer))
        #expect(rig.take(remoteClient(1)).isEmpty && rig.take(remoteWorker(1)).isEmpty && rig.viewsReopened == 0)
    }

    @Test func `A key expires while it is connected`() throws {
        let rig = try Rig.with(key(1, "a", .client, notAfter: at(10)), key(2, "b", .client))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetClient(2, by: by(2))
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
        rig.now = at(9)
        rig.exchange(.ping(0), from: remoteClient(1), by: by(1))
        rig.exchange(.ping(0), from: remoteClient(2), by: by(2))
        rig.now = at(10)
        rig.round()
        #expect(rig.take(remoteClient(1)).errorTexts == ["the key a has expired"] && rig.take(remoteClient(2)).errors == [])
        #expect(rig.viewsReopened == 1)
        #expect(rig.durable.sessions.sessions[session(1)] != nil, "it may be renewed")
        rig.tick(.seconds(1))
        #expect(rig.viewsReopened == 1)
    }

    @Test func `An operator has the keys read again, and is told what came of it`() throws {
        let rig = try Rig.with(key(1, "a", .operator))
        let request = Frame.request(AdminRequest(id: 7, verb: "reloadKeys"))
        #expect(rig.exchange(request, from: remoteAdmin, by: by(1)).isEmpty && rig.keysRead == 1)
        try rig.read(key(1, "a", .operator), key(2, "b", .client))
        #expect(rig.take(remoteAdmin) == [.reply(AdminReply(id: 7, value: ["keys": 2]))])
        #expect(rig.exchange(request, from: admin).isEmpty && rig.keysRead == 2)
        rig.machine.keysRead(.failure(KeyTableError("line 3: no roles")), now: rig.now)
        rig.round()
        #expect(rig.take(admin) == [.reply(AdminReply(id: 7, refusal: "the keys are as they were: line 3: no roles"))])
        #expect(rig.machine.access.keys.keys.count == 2)
        rig.machine.journalIsFull(true, now: rig.now)
        #expect(rig.exchange(request, from: admin).isEmpty && rig.keysRead == 3, "also while the disk is full")
    }

    @Test func `So many operators wait for the keys to be read, and the next one is told to come later`() throws {
        var settings = StoreSettings()
        settings.waiters = 1
        let rig = try Rig(settings)
        func ask(_ id: Int) -> [Frame] { rig.exchange(.request(AdminRequest(id: id, verb: "reloadKeys")), from: admin) }
        #expect(ask(7).isEmpty)
        #expect(ask(8).errorTexts == ["too many requests wait"] && rig.keysRead == 1)
        try rig.read()
        #expect(rig.take(admin) == [.reply(AdminReply(id: 7, value: ["keys": 0]))])
        #expect(ask(9).isEmpty && rig.keysRead == 2, "nobody waits any more")
    }

    @Test func `An operator whose key goes while it waits for the keys to be read is told so and no more`() throws {
        let rig = try Rig.with(key(1, "a", .operator), key(2, "b", .operator, notAfter: at(10)), key(3, "c", .operator))
        let request = Frame.request(AdminRequest(id: 7, verb: "reloadKeys"))
        let routes = ([1, 2, 3] as [UInt8]).map { Route(listener: .admin, id: [0, $0], isRemote: true) }
        for (number, route) in zip([1, 2, 3] as [UInt64], routes) {
            #expect(rig.exchange(request, from: route, by: by(number)).isEmpty)
        }
        rig.now = at(10)
        rig.round()
        #expect(rig.take(routes[1]).errorTexts == ["the key b has expired"])
        try rig.read(key(3, "c", .operator))
        #expect(rig.take(routes[0]).errorTexts == ["the store does not know this key, or not any more"])
        #expect(rig.take(routes[1]).isEmpty)
        #expect(rig.take(routes[2]) == [.reply(AdminReply(id: 7, value: ["keys": 1]))])
    }

    @Test func `Keys that are read when the store has stopped are not taken, and nothing leaves`() throws {
        let rig = try Rig.with(key(1, "a", .operator))
        let request = Frame.request(AdminRequest(id: 7, verb: "reloadKeys"))
        #expect(rig.exchange(request, from: admin).isEmpty && rig.keysRead == 1)
        rig.machine.drain(within: .seconds(5), now: rig.now)
        rig.round()
        #expect(rig.stop == .drained)
        _ = rig.takeNotes()
        try rig.read(key(1, "a", .operator), key(2, "b", .client))
        #expect(rig.take(admin).isEmpty && rig.takeNotes().isEmpty && rig.machine.access.keys.keys.count == 1)
    }

    // MARK: Budgets

    @Test(arguments: [1, 2] as [UInt8])
    func `A key keeps so many sessions`(limit: UInt8) throws {
        var limits = Key.Limits()
        limits.sessions = Int(limit)
        let rig = try Rig.with(key(1, "a", .client, limits: limits), key(2, "b", .client))
        for number in 1...limit { #expect(rig.greetClient(number, by: by(1)).isWelcome) }
        let sessions = limit == 1 ? "1 session" : "2 sessions"
        #expect(rig.greetClient(3, by: by(1)).errorTexts == ["the key a has \(sessions), which is its limit"])
        #expect(rig.greetClient(limit, by: by(1), epoch: 2).isWelcome, "it has that session already")
        #expect(rig.greetClient(3, by: by(2)).isWelcome)
        rig.exchange(.goodbye, from: remoteClient(1), by: by(1))
        #expect(rig.greetClient(4, by: by(1)).isWelcome)
        #expect(rig.greetClient(5, by: by(1)).errorTexts == ["the key a has \(sessions), which is its limit"], "one left, one came")
    }

    @Test func `A key says HELLO so often, and is told when to come again`() throws {
        var limits = Key.Limits()
        limits.hellos = 2
        let rig = try Rig.with(key(1, "a", .client, limits: limits))
        #expect(rig.greetClient(1, by: by(1)).isWelcome && rig.greetClient(2, by: by(1)).isWelcome)
        let answers = rig.greetClient(3, by: by(1))
        guard case .error(let error)? = answers.first else { throw WireError.malformed("\(answers)") }
        #expect(error == PeerError(.retryLater, "the key a says HELLO too often", wait: .milliseconds(500)))
        rig.now = rig.now + error.wait
        #expect(rig.greetClient(3, by: by(1)).isWelcome && rig.machine.access.refused == 0)
    }

    @Test func `Who says HELLO too often is told to wait for no less than the millisecond that the wire can say`() throws {
        var limits = Key.Limits()
        limits.hellos = 2_000
        var access = Access(try KeyTable([key(1, "a", .client, limits: limits)]))
        // After half a millisecond there is another one.
        let waits = (0...2_000).compactMap { _ in access.refusal(of: .hello, from: by(1), at: .front, now: at(1))?.wait }
        #expect(waits == [.milliseconds(1)])
    }

    @Test func `A key that sends noise is not listened to for a minute, and the log says so once`() throws {
        let rig = try Rig.with(key(1, "noisy", .client), key(2, "quiet", .client))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetClient(2, by: by(2))
        for _ in 0..<11 { rig.machine.received([[1, 2, 3]], from: remoteClient(1), by: by(1), now: rig.now) }
        rig.round()
        #expect(rig.takeNotes().count { $0.hasPrefix("the key noisy sends what is refused") } == 1)
        for _ in 0..<50 { rig.machine.received([[1, 2, 3]], from: remoteClient(1), by: by(1), now: rig.now) }
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty && rig.takeNotes().isEmpty)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(2), by: by(2)).verdicts == [.applied])
        rig.now = rig.now + .seconds(60)
        #expect(rig.greetClient(1, by: by(1), epoch: 2).isWelcome)
    }

    @Test func `Frames that are not for their sender or their listener are noise of its key`() throws {
        let rig = try Rig.with(key(1, "odd", .client, .worker, .operator))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        let odd: [(Frame, Route)] = [
            (.pong(1), remoteClient(1)), (.viewRequest(instance: "other", atLeast: 0), remoteClient(1)),
            (.settled(turn: 1, dead: []), remoteWorker(1)), (.ping(1), remoteAdmin),
        ]
        for number in 0..<11 {
            let (frame, route) = odd[number % odd.count]
            #expect(rig.exchange(frame, from: route, by: by(1)).errors == [.misuse])
        }
        #expect(rig.takeNotes().count { $0.hasPrefix("the key odd sends what is refused") } == 1)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty)
    }

    @Test func `What the socket finds to be no frame is noise of its key`() throws {
        let rig = try Rig.with(key(1, "odd", .client))
        _ = rig.greetClient(1, by: by(1))
        func makeNoise() { rig.machine.receivedNoise("more than two frames", from: remoteClient(1), by: by(1), now: rig.now) }
        for _ in 0..<11 { makeNoise() }
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty)
        for _ in 0..<50 { makeNoise() }
        #expect(rig.takeNotes().count { $0.hasPrefix("the key odd sends what is refused") } == 1)
        #expect(rig.machine.out.droppedFrames == 11, "then it is passed over")
    }

    @Test func `However many keys have made some noise, one that makes too much is not listened to`() throws {
        var access = Access(try KeyTable([key(1, "odd", .client)]))
        for number: UInt64 in 1...10_000 { _ = access.hasMadeNoise(by(number), now: at(1)) }
        let isTooMuch = (2...11).map { _ in access.hasMadeNoise(by(1), now: at(1)) }
        let isHeard = access.hears(by(1), now: at(1))
        #expect(isTooMuch == Array(repeating: false, count: 9) + [true] && !isHeard)
    }

    @Test func `The noise of 10,000 keys is remembered at most, so that no number of them fills the memory`() {
        var access = Access(.none)
        for _ in 1...11 { _ = access.hasMadeNoise(by(1), now: at(1)) }
        for number: UInt64 in 2...10_000 { _ = access.hasMadeNoise(by(number), now: at(1)) }
        let isHeardBefore = access.hears(by(1), now: at(1))
        for number: UInt64 in 10_001...10_002 { _ = access.hasMadeNoise(by(number), now: at(1)) }
        let isHeard = access.hears(by(1), now: at(1))
        #expect(!isHeardBefore && isHeard)
    }

    @Test func `Who asks for turns that are not there makes no noise: it may know them from a journal that was lost`() throws {
        let rig = try Rig.with(key(1, "late", .client))
        _ = rig.greetClient(1, by: by(1))
        for _ in 0..<20 { #expect(rig.exchange(.settle(turn: 99), from: remoteClient(1), by: by(1)).errors == [.misuse]) }
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).verdicts == [.applied])
    }

    @Test func `Views cost their bytes, and who has asked for too many waits`() throws {
        var limits = Key.Limits()
        limits.viewBytes = 10
        let rig = try Rig.with(key(1, "a", .viewer, limits: limits))
        _ = rig.greetClient(1, by: by(1))
        let request = Frame.viewRequest(instance: .main, atLeast: 0)
        let first = rig.exchange(request, from: remoteClient(1), by: by(1))
        guard case .view(_, _, let bytes)? = first.first else { throw WireError.malformed("\(first)") }
        let answers = rig.exchange(request, from: remoteClient(1), by: by(1))
        guard case .error(let error)? = answers.first else { throw WireError.malformed("\(answers)") }
        // Ten bytes come back in a second, and all beyond them and one more have to.
        #expect(error.code == .retryLater && error.wait == .milliseconds(100 * (bytes.count - 9)))
        rig.now = rig.now + error.wait
        #expect(rig.exchange(request, from: remoteClient(1), by: by(1)).errors.isEmpty)
    }

    // MARK: The journal

    @Test func `The journal says who sent an input, was refused, changed something, and joined`() throws {
        let rig = try Rig.with(key(1, "shop", .client, .worker, .operator))
        _ = rig.greetClient(1, by: by(1))
        _ = rig.greetWorker(1, by: by(1))
        rig.exchange(inputs([.add(1), .forbidden, .chain(2)]), from: remoteClient(1), by: by(1))
        let pause = AdminRequest(id: 1, verb: "pause", arguments: ["queue": "curious"])
        rig.exchange(.request(pause), from: remoteAdmin, by: by(1))
        rig.connectClient(2)
        rig.exchange(inputs([.add(1)]), from: client(2))
        var lines: [String] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                lines.append("\(record.kind) \(record.sender.map { "by \($0.name) \($0.fingerprint)" } ?? "")")
            }
        }
        let who = "by shop 000000000000feed0000000000000001"
        #expect(
            lines == [
                "started ", "workerJoined \(who)", "applied \(who)", "refused \(who)", "applied \(who)", "applied ",
                "controlled \(who)", "applied \(who)", "applied ",
            ])
    }

    /// Lets one key in, and notes who it was.
    private enum Gatehouse: Program {
        struct State: Portable { var seen: [String] = [] }
        enum Message: Portable { case ring, echo }
        enum Refusal: Error, Portable { case notYou(String) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Gatehouse> { .state(State()) }
        static func accept(_ input: Message, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
            guard turn.sender?.name == "friend" else { throw .notYou(turn.sender.map { "\($0.name)" } ?? "nobody") }
            return input
        }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Gatehouse> {
            state.seen.append(turn.sender.map { "\($0.name) \($0.fingerprint.bytes[15])" } ?? "nobody")
            return message == .ring ? .then(.echo) : .none
        }
        static func view(_ state: State) -> Int { state.seen.count }
    }

    @Test func `The program sees who sends, and a replay sees the same`() throws {
        func engine() -> TypedEngine<Gatehouse> { TypedEngine(Gatehouse.self, secret: workshopSecret) }
        let keys = try KeyTable([key(1, "friend", .client), key(2, "other", .client)])
        let rig = try Rig(engine: engine(), replica: engine(), keys: keys)
        func greet(_ number: UInt8, _ identity: Identity) {
            rig.exchange(
                .hello(Hello(role: .client(session: session(number)), schema: nil)), from: remoteClient(number), by: identity)
        }
        func ring(_ number: UInt8, _ identity: Identity) -> [Outcome.Verdict] {
            let frame = Frame.send([Submission(sequence: 1, input: packed(Gatehouse.Message.ring))], confirmed: 0)
            return rig.exchange(frame, from: remoteClient(number), by: identity).verdicts
        }
        greet(1, by(1))
        greet(2, by(2))
        greet(3, .local)
        #expect(ring(1, by(1)) == [.applied])
        #expect(ring(2, by(2)) == [.refused(packed(Gatehouse.Refusal.notYou("other")))])
        #expect(ring(3, .local) == [.refused(packed(Gatehouse.Refusal.notYou("nobody")))])
        #expect(try unpacked(Gatehouse.State.self, rig.machine.stateBytes()).seen == ["friend 1", "nobody"])
        #expect(try unpacked(Gatehouse.State.self, rig.durable.engine.state()).seen == ["friend 1", "nobody"])
    }
}
