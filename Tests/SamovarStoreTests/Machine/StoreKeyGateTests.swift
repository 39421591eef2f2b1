import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Keys that go while the disk is slow or full: what waits at the gate, and who waits for it.
@Suite struct StoreKeyGateTests {
    @Test func `Nothing leaves to a key that was refused, also of what waited for the disk`() throws {
        let rig = try Rig.with(key(1, "a", .client, notAfter: at(10)), key(2, "b", .operator, notAfter: at(10)))
        let pause = Frame.request(AdminRequest(id: 1, verb: "pause", arguments: ["queue": "curious"]))
        _ = rig.greetClient(1, by: by(1))
        rig.commits = false
        rig.now = at(9.5)
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty)
        #expect(rig.exchange(pause, from: remoteAdmin, by: by(2)).isEmpty)
        // Between two ticks.
        rig.now = at(10.2)
        // Once since it waits, and once since it asks.
        #expect(rig.exchange(pause, from: remoteAdmin, by: by(2)).errors == [.keyRefused, .keyRefused])
        #expect(rig.take(remoteClient(1)).errors == [.keyRefused])
        rig.commits = true
        rig.tick(.milliseconds(1))
        #expect(rig.take(remoteClient(1)).isEmpty && rig.take(remoteAdmin).isEmpty)
        #expect(try rig.state().total == 1)
        try rig.read(key(1, "a", .client), key(2, "b", .operator))
        #expect(rig.greetClient(1, by: by(1), epoch: 2).isWelcome)
        #expect(rig.exchange(pause, from: remoteAdmin, by: by(2)).count == 1, "what was done before is told")
    }

    @Test func `A worker whose key has lost a queue is given nothing more, whatever it sends before it hears of that`() throws {
        let rig = try Rig.with(key(1, "maker", .worker))
        rig.connectClient(1)
        _ = rig.greetWorker(1, by: by(1))
        rig.deliver(.credit(1), from: remoteWorker(1), by: by(1))
        rig.commits = false
        #expect(rig.exchange(inputs([.order([job("a")])]), from: client(1)).isEmpty)
        try rig.read(key(1, "maker", .worker, queues: ["x"]))
        #expect(rig.exchange(.ping(1), from: remoteWorker(1), by: by(1)).errors == [.forbidden, .unknownPeer])
        rig.commits = true
        rig.tick(.milliseconds(1))
        #expect(rig.take(remoteWorker(1)).isEmpty)
    }

    @Test func `A task that waits for the disk when its worker's key is renewed is free at once, and costs no attempt`() throws {
        for hasOther in [true, false] {
            let rig = try Rig.with(key(1, "maker", .worker), key(3, "other", .worker))
            rig.connectClient(1)
            for number in [1, 3] as [UInt8] { _ = rig.greetWorker(number, by: by(UInt64(number))) }
            rig.deliver(.credit(1), from: remoteWorker(1), by: by(1))
            rig.commits = false
            #expect(rig.exchange(inputs([.order([job("a", attempts: 2, timeout: 1)])]), from: client(1)).isEmpty)
            let effect = try #require(rig.machine.turns.state.ledger.open.keys.max())
            let lease = try #require(rig.machine.scheduler.dispatcher.assignment(of: effect)?.lease)
            try rig.read(key(2, "maker", .worker), key(3, "other", .worker))
            if hasOther { rig.deliver(.credit(1), from: remoteWorker(3), by: by(3)) }
            rig.commits = true
            rig.tick(.milliseconds(1))
            if !hasOther { rig.tick(.seconds(5)) }
            #expect(rig.greetWorker(1, by: by(2), epoch: 2, at: remoteWorker(2)).isWelcome)
            rig.deliver(.credit(1), from: remoteWorker(2), by: by(2))
            rig.round()
            let (former, mine, others) = (
                rig.takeTasks(remoteWorker(1)), rig.takeTasks(remoteWorker(2)), rig.takeTasks(remoteWorker(3))
            )
            #expect(former.isEmpty && mine.count == (hasOther ? 0 : 1) && others.count == (hasOther ? 1 : 0))
            let task = try #require((mine + others).first)
            #expect(task.lease > lease && rig.machine.turns.state.ledger.open[task.effect]?.failures == 0)
            let (route, key) = hasOther ? (remoteWorker(3), by(3)) : (remoteWorker(2), by(2))
            rig.exchange(.result([task.answered("a")], credit: 2), from: route, by: key)
            #expect(try rig.state().done == ["a"])
        }
    }

    @Test func `A worker that comes while the disk is full is not silent, unless it has another's key`() throws {
        for number in [1, 2] as [UInt64] {
            let rig = try Rig.with(key(1, "maker", .worker), key(2, "other", .worker))
            rig.connectClient(1)
            _ = rig.greetWorker(1, by: by(1))
            rig.deliver(.credit(1), from: remoteWorker(1), by: by(1))
            rig.exchange(inputs([.order([job("a")])]), from: client(1))
            let task = try #require(rig.takeTasks(remoteWorker(1)).first)
            rig.machine.journalIsFull(true, now: rig.now)
            for second in 1...20 {
                #expect(
                    rig.greetWorker(1, by: by(number), epoch: 1 + second, at: remoteWorker(UInt8(1 + second))).errors
                        == [number == 1 ? .retryLater : .forbidden])
                rig.tick(.seconds(1))
            }
            rig.machine.journalIsFull(false, now: rig.now)
            rig.round()
            #expect(rig.durable.joined.contains(workerID(1)) == (number == 1))
            let claim = JobClaim(effect: task.effect, lease: task.lease, token: task.token)
            #expect(rig.greetWorker(1, by: by(1), claims: [claim], epoch: 99, at: remoteWorker(99)).isWelcome)
            #expect(rig.machine.scheduler.dispatcher.assignment(of: task.effect)?.lease == task.lease)
        }
    }

    @Test func `A connection that its client has left, replaced or forgotten hears nothing that waited for the disk`() throws {
        for leaves in [
            { rig in rig.exchange(.goodbye, from: remoteClient(1), by: by(1)) },
            { rig in rig.greetClient(1, by: by(1), epoch: 2, at: remoteClient(2)) },
            { rig in
                for _ in 0...rig.machine.settings.silence.components.seconds { rig.tick(.seconds(1)) }
                return []
            },
        ] as [(Rig) -> [Frame]] {
            let rig = try Rig.with(key(1, "a", .client))
            _ = rig.greetClient(1, by: by(1))
            rig.commits = false
            #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty)
            #expect(leaves(rig).isEmpty)
            try rig.read()
            rig.commits = true
            rig.tick(.milliseconds(1))
            #expect(rig.take(remoteClient(1)).verdicts.isEmpty)
            #expect(try rig.state().total == 1)
        }
    }

    @Test func `An operator that has had its answer hears nothing when its key goes`() throws {
        let rig = try Rig.with(key(1, "a", .operator), key(2, "b", .operator))
        rig.round()
        let request = Frame.request(AdminRequest(id: 1, verb: "status"))
        #expect(rig.exchange(request, from: remoteAdmin, by: by(1)).map(\.kind) == [.reply])
        try rig.read(key(2, "b", .operator))
        #expect(rig.take(remoteAdmin).isEmpty)
    }

    @Test func `An operator whose key goes does not hear what waited for the disk, and is told so once`() throws {
        let rig = try Rig.with(key(1, "a", .client), key(2, "b", .operator), key(3, "c", .operator))
        _ = rig.greetClient(1, by: by(1))
        rig.commits = false
        #expect(rig.exchange(inputs([.add(1)]), from: remoteClient(1), by: by(1)).isEmpty)
        let other = Route(listener: .admin, id: [0, 2], isRemote: true)
        for (route, number) in [(remoteAdmin, UInt64(2)), (other, 3)] {
            #expect(rig.exchange(.request(AdminRequest(id: 1, verb: "inspect")), from: route, by: by(number)).isEmpty)
        }
        try rig.read(key(1, "a", .client), key(3, "c", .operator))
        #expect(rig.take(remoteAdmin).errors == [.keyRefused] && rig.take(other).isEmpty)
        try rig.read(key(1, "a", .client), key(3, "c", .operator))
        #expect(rig.take(remoteAdmin).isEmpty && rig.take(other).isEmpty)
        rig.commits = true
        rig.tick(.milliseconds(1))
        #expect(rig.take(remoteAdmin).isEmpty && rig.take(other).count == 1)
        #expect(rig.machine.waiting.answers.isEmpty)
    }

    @Test func `A client that waits for WELCOME is not silent, however long the disk takes`() throws {
        let rig = try Rig.with(key(1, "a", .client))
        rig.connectClient(2)
        rig.commits = false
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)).isEmpty)
        #expect(rig.greetClient(1, by: by(1)).isEmpty)
        for _ in 0...rig.machine.settings.silence.components.seconds { rig.tick(.seconds(1)) }
        rig.commits = true
        rig.tick(.milliseconds(1))
        #expect(rig.take(remoteClient(1)).isWelcome)
    }
}
