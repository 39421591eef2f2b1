import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Each limit holds at its number, not one before and not one behind.
@Suite struct StoreLimitTests {
    private static func rig(_ change: (inout StoreSettings) -> Void) throws -> Rig { try StoreClientTests.rig(change) }

    private static func retryLater(_ text: String) -> Frame { StoreClientTests.retryLater(text) }

    // MARK: At the listener

    @Test func `The inbox holds so many bytes, and has room again when they are taken`() throws {
        let bytes = packed(Shop.Input.add(1)).count
        let rig = try Self.rig { $0.inboxBytes = 2 * bytes }
        for sequence in [1, 4] {
            let frames = rig.exchange(inputs([.add(1), .add(1), .add(1)], from: sequence), from: client(1))
            #expect(frames.first == Self.retryLater("the store's inbox is full"))
            #expect(frames.outcomes.map(\.sequence) == [sequence, sequence + 1])
            #expect(rig.exchange(inputs([.add(1)], from: sequence + 2), from: client(1)).outcomes.count == 1)
        }
        #expect(rig.machine.clients.inbox.count == 0 && rig.machine.clients.inbox.bytes == 0)
    }

    @Test func `Inputs that a new HELLO or a goodbye has cleared leave room, and are not taken`() throws {
        for isGoodbye in [false, true] {
            let rig = try Self.rig { $0.inbox = 2 }
            rig.connectClient(2)
            rig.deliver(inputs([.add(1), .add(1)]), from: client(1))
            if isGoodbye { rig.deliver(.goodbye, from: client(1)) }
            rig.deliver(.hello(Hello(role: .client(session: session(1)), schema: shop, epoch: 2)), from: client(3))
            #expect(
                rig.machine.clients.inbox.count == 0 && rig.machine.clients.inbox.bytes == 0
                    && rig.machine.clients.inbox.first == nil)
            rig.deliver(inputs([.add(5), .add(6)]), from: client(2))
            #expect(rig.exchange(inputs([.add(7)]), from: client(3)).last == Self.retryLater("the store's inbox is full"))
            // The number is free, and another input may have it.
            #expect(rig.exchange(inputs([.add(8)]), from: client(3)).outcomes.map(\.sequence) == [1])
            #expect(try rig.state().total == 19)
        }
    }

    @Test func `Inputs are refused from so many dead effects on`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.deadEffects = 3 }
        let jobs = (0..<3).map { job("\($0)", diesSilently: true) }
        rig.exchange(inputs([.order(jobs)]), from: client(1))
        let tasks = rig.takeTasks(worker(1))
        rig.exchange(.result(JobResults(tasks.prefix(2).map { $0.failed() }), credit: 9), from: worker(1))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)).outcomes.count == 1)
        rig.exchange(.result([tasks[2].failed()], credit: 9), from: worker(1))
        let reason = "3 effects are dead; inputs are taken again when an operator has requeued or dropped some"
        #expect(rig.exchange(inputs([.add(1)], from: 3), from: client(1)) == [Self.retryLater(reason)])
    }

    @Test func `Timers wait while too many effects are open or dead`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) {
            $0.openEffects = 5
            $0.deadEffects = 2
        }
        rig.exchange(inputs([.watch([StoreTimerTests.every(1)])]), from: client(1))
        rig.exchange(inputs([.order((0..<4).map { job("\($0)", diesSilently: true) })], from: 2), from: client(1))
        let tasks = rig.takeTasks(worker(1))
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks == [])
        #expect(rig.machine.wakeUp(now: rig.now) > rig.now, "no busy loop meanwhile")
        rig.exchange(.result([tasks[0].answered("a")], credit: 9), from: worker(1))
        #expect(try rig.state().ticks.count == 1)
        rig.exchange(.result([tasks[1].failed(), tasks[2].failed()], credit: 9), from: worker(1))
        rig.tick(.seconds(1))
        #expect(try rig.state().ticks.count == 1)
        _ = rig.ask("drop", effect: "\(tasks[1].effect)")
        #expect(try rig.state().ticks.count == 2)
    }

    // MARK: Sessions

    @Test func `So many sessions are kept, and who has one is always welcome`() throws {
        let rig = try Self.rig { $0.sessions = 2 }
        #expect(rig.connectClient(2).map(\.kind) == [.welcome])
        #expect(rig.connectClient(3) == [Self.retryLater("the store keeps 2 sessions and has no room for another")])
        #expect(rig.connectClient(2, epoch: 2).map(\.kind) == [.welcome])
    }

    @Test func `The session that was silent for longest makes room, and only when it is beyond the silence`() throws {
        let rig = try Self.rig { $0.sessions = 2 }
        rig.connectClient(2)
        rig.exchange(inputs([.add(1)]), from: client(2))
        rig.tick(.seconds(1))
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 0..<6 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients[session(2)]?.route == nil && rig.machine.clients[session(1)]?.route != nil)
        rig.machine.clients.heard(session(2), now: rig.now + .seconds(-6))
        #expect(rig.connectClient(3).first?.kind == .error)
        rig.exchange(.ping(0), from: client(1))
        rig.tick(.seconds(1))
        #expect(rig.connectClient(3).first?.kind == .welcome)
        #expect(Array(rig.durable.sessions.sessions.keys) == [session(1)])
        #expect(rig.takeNotes().contains("there are 2 sessions: the one that was silent for longest has expired"))
    }

    @Test func `Who has a session takes no other one's room when it comes again`() throws {
        let rig = try Self.rig { $0.sessions = 2 }
        rig.connectClient(2)
        rig.exchange(inputs([.add(1)]), from: client(2))
        for _ in 0..<9 {
            rig.tick(.seconds(1))
            rig.exchange(.ping(0), from: client(1))
        }
        let idlest = rig.machine.clients.idlest(now: rig.now)
        #expect(idlest == session(2))
        #expect(rig.connectClient(1, epoch: 2).map(\.kind) == [.welcome])
        #expect(Array(rig.durable.sessions.sessions.keys) == [session(2)])
    }

    @Test func `Of sessions that have long been silent, the one that was silent for longest makes room`() throws {
        let rig = try Self.rig { $0.sessions = 3 }
        for number: UInt8 in 1...3 {
            if number > 1 { rig.connectClient(number) }
            rig.exchange(inputs([.add(1)]), from: client(number))
        }
        // Client 2 has been heard first of all.
        rig.tick(.seconds(1))
        for number: UInt8 in [3, 1] { rig.exchange(.ping(0), from: client(number)) }
        for _ in 0..<9 { rig.tick(.seconds(1)) }
        rig.connectClient(4)
        #expect(Set(rig.durable.sessions.sessions.keys) == [session(1), session(3)])
    }

    @Test func `Sessions that expire together are so many turns in a round`() throws {
        let rig = try Self.rig {
            $0.sessionIdle = .seconds(10)
            $0.turnsPerRound = 2
        }
        for number: UInt8 in 1...5 {
            if number > 1 { rig.connectClient(number) }
            rig.exchange(inputs([.add(1)]), from: client(number))
        }
        var left: [Int] = []
        for _ in 0..<13 {
            rig.tick(.seconds(1))
            left.append(rig.durable.sessions.sessions.count)
        }
        #expect(left == Array(repeating: 5, count: 10) + [3, 1, 0])
    }

    @Test func `Each session keeps at least the hash of its newest input`() throws {
        let rig = try Self.rig { $0.fingerprints = 2 }
        for number: UInt8 in 1...3 {
            if number > 1 { rig.connectClient(number) }
            rig.exchange(inputs([.add(1), .add(2)]), from: client(number))
        }
        rig.tick(.seconds(1))
        #expect(rig.machine.clients.all.map(\.fingerprints.count) == [1, 1, 1])
        rig.exchange(inputs([.add(3)], from: 3), from: client(1))
        #expect(rig.machine.clients[session(1)]?.fingerprints.count == 1, "also of what comes before the next tick")
    }

    // MARK: Requests

    @Test func `So many requests wait to be told that a turn has settled`() throws {
        let rig = try StoreWorkerTests.rig { $0.waiters = 1 }
        rig.order(job("a"))
        let task = try #require(rig.takeTasks(worker(1)).first)
        _ = rig.take(client(1))
        for _ in 0..<2 { #expect(rig.exchange(.settle(turn: 3), from: client(1)) == []) }
        rig.connectClient(2)
        #expect(rig.exchange(.settle(turn: 3), from: client(2)) == [Self.retryLater("too many requests wait")])
        rig.exchange(.result([task.answered("a")], credit: 1), from: worker(1))
        #expect(rig.take(client(1)) == [.settled(turn: 3, dead: [])])
        #expect(rig.exchange(.settle(turn: 4), from: client(1)) == [.settled(turn: 4, dead: [])], "the newest turn is one")
    }

    @Test func `So many requests wait for views`() throws {
        let rig = try Self.rig { $0.waiters = 1 }
        let tooMany = Self.retryLater("too many requests wait")
        for _ in 0..<2 { #expect(rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(1)) == []) }
        #expect(rig.exchange(.viewRequest(instance: .main, atLeast: 9), from: client(1)) == [tooMany])
        rig.connectClient(2)
        #expect(rig.exchange(.viewsRequest(instance: .main, after: 1), from: client(2)) == [tooMany])
    }

    @Test func `An operator may name so many effects at once`() throws {
        let rig = try StoreWorkerTests.rig(slots: 9, credit: 9) { $0.adminEffects = 2 }
        rig.order(job("a", diesSilently: true), job("b", diesSilently: true), job("c", diesSilently: true))
        rig.exchange(.result(JobResults(rig.takeTasks(worker(1)).map { $0.failed() }), credit: 9), from: worker(1))
        func ask(_ arguments: MessagePackValue) -> AdminReply? {
            rig.requests += 1
            let request = AdminRequest(id: rig.requests, verb: "requeue", arguments: arguments)
            for case .reply(let reply) in rig.exchange(.request(request), from: admin) { return reply }
            return nil
        }
        #expect(ask(["effects": ["3/0", "3/1", "3/2"]])?.refusal == "3 effects at once; 2 at most")
        #expect(ask(["effects": ["3/0", "3/0"]])?.value == ["requeued": ["3/0"], "dead": 2])
        #expect(ask(["all": true])?.value == ["requeued": ["3/1", "3/2"], "dead": 0])
        #expect(ask(["all": false])?.refusal == "which effect? name it as turn/ordinal")
        for name in ["3", "3/", "/3", "3/0/0", "a/0", "3/b"] {
            #expect(ask(["effect": .string(name)])?.refusal?.hasPrefix("“\(name)” is not an effect") == true)
        }
    }

    // MARK: Turns

    @Test func `So many items are taken in a round`() throws {
        let rig = try Self.rig { $0.turnsPerRound = 3 }
        rig.deliver(inputs(Array(repeating: .add(1), count: 5)), from: client(1))
        for head in [4, 6, 6] {
            #expect(rig.machine.hasWork == (rig.machine.head < 6))
            rig.machine.advance(now: rig.now)
            #expect(rig.machine.head == head)
        }
    }

    @Test func `While a batch is with the journal, the next takes so many bytes`() throws {
        let rig = try Self.rig { _ in }
        rig.commits = false
        rig.exchange(inputs([.add(1)]), from: client(1))
        let bytes = try #require(rig.journal.last).bytes.count
        for (limit, head) in [(bytes, 3), (bytes + 1, 4)] {
            let rig = try Self.rig { $0.batchBytes = limit }
            rig.commits = false
            rig.exchange(inputs([.add(1)]), from: client(1))
            rig.exchange(inputs(Array(repeating: .add(1), count: 9), from: 2), from: client(1))
            #expect(rig.machine.head == head, "\(bytes) bytes each, \(limit) in a batch")
        }
    }

    /// A start reads a batch as a whole, and no more than 64 MiB.
    @Test func `A batch has so many bytes and one item, also when the journal is free and much waits`() throws {
        let rig = try Self.rig { $0.batchBytes = 1_000 }
        rig.exchange(inputs((1...50).map { .emit([String(repeating: "x", count: $0)]) }), from: client(1))
        let largest = rig.committedBatches.map(\.bytes.count).max() ?? 0
        #expect((1_000..<1_000 + 150).contains(largest) && rig.committedBatches.count > 3, "\(largest)")
    }

    @Test func `A snapshot is due when the journal has grown by more than twice the last one`() throws {
        let rig = try StoreSnapshotTests.rig(inline: 10)
        rig.machine.snapshotSaved(bytes: 100)
        var sizes: [Int] = []
        for sequence in 1...20 where rig.snapshotRequests.count == 1 {
            rig.exchange(inputs([.add(1)], from: sequence), from: client(1))
            sizes.append(try #require(rig.journal.last).bytes.count)
        }
        let (grown, before) = (sizes.reduce(0, +), sizes.dropLast().reduce(0, +))
        #expect(grown > 200 && before <= 200 && rig.snapshotRequests.count == 2)
        // And not at twice its size.
        rig.machine.snapshotSaved(bytes: sizes[0])
        rig.exchange(inputs([.add(1)], from: sizes.count + 1), from: client(1))
        rig.exchange(inputs([.add(1)], from: sizes.count + 2), from: client(1))
        #expect(rig.machine.snapshots.journalBytes == 2 * sizes[0] && rig.snapshotRequests.count == 2)
        rig.exchange(inputs([.add(1)], from: sizes.count + 3), from: client(1))
        #expect(rig.snapshotRequests.count == 3)
    }

    @Test(arguments: [(100, 1), (99, 2)])
    func `The engine makes a snapshot itself up to the size of the last`(_ limit: Int, _ requests: Int) throws {
        let rig = try StoreSnapshotTests.rig(inline: limit)
        rig.machine.snapshotSaved(bytes: 100)
        for sequence in 1...20 where rig.snapshots.isEmpty && rig.snapshotRequests.count == 1 {
            rig.exchange(inputs([.add(1)], from: sequence), from: client(1))
        }
        #expect(rig.snapshotRequests.count == requests && rig.snapshots.isEmpty == (requests > 1))
    }

    @Test func `Turns since the snapshot that a start began with count towards the next one`() throws {
        let rig = try StoreClientTests.rig()
        rig.exchange(inputs(Array(repeating: .add(1), count: 9)), from: client(1))
        let snapshot = try rig.machine.turns.state.snapshot()
        var settings = StoreSettings()
        settings.snapshotTurns = 5
        settings.snapshotInlineBytes = 0
        let later = try Rig(settings, journal: rig.committedBatches, snapshot: snapshot, now: rig.now)
        later.round()
        later.connectClient()
        #expect(later.snapshotRequests == [], "turn 11 is the first since turn 10")
        later.exchange(inputs(Array(repeating: .add(1), count: 4), from: 10), from: client(1))
        #expect(later.snapshotRequests == [] && later.machine.head == 15)
        // Twice the snapshot has to be written, too.
        for sequence in 14..<60 { later.exchange(inputs([.add(1)], from: sequence), from: client(1)) }
        #expect(later.snapshotRequests.count == 1)
        let whole = try Rig(settings, journal: rig.committedBatches, now: rig.now)
        whole.round()
        #expect(whole.snapshotRequests == [11], "what a start has replayed counts")
    }
}
