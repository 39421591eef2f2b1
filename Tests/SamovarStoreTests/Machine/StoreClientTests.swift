import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire
@Suite struct StoreClientTests {
    static func rig(_ change: (inout StoreSettings) -> Void = { _ in }) throws -> Rig {
        var settings = StoreSettings()
        change(&settings)
        let rig = try Rig(settings)
        rig.connectClient()
        return rig
    }

    static func retryLater(_ text: String) -> Frame { .error(PeerError(.retryLater, text, wait: .seconds(1))) }

    // MARK: Numbers

    @Test func `Status counts what was applied and what was refused`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.add(1), .forbidden, .add(2)]), from: client(1))
        rig.exchange(.send([Submission(sequence: 4, input: [0xc1])], confirmed: 3), from: client(1))
        let counters = rig.machine.status(now: rig.now)["counters"]
        #expect(counters?["applied"] == .int(2) && counters?["refused"] == .int(2))
    }

    @Test func `Input sent twice is applied once and gets the same outcome`() throws {
        let rig = try Self.rig()
        let first = rig.exchange(inputs([.add(1), .add(1)]), from: client(1))
        #expect(first == [.receipt([applied(1, 2), applied(2, 3)], credit: 4_096)])
        #expect(rig.exchange(inputs([.add(1), .add(1)]), from: client(1)) == first)
        #expect(try rig.state().total == 2)
    }

    @Test func `Input in the inbox that is sent again is applied once`() throws {
        let rig = try Self.rig()
        rig.deliver(inputs([.add(1)]), from: client(1))
        rig.deliver(inputs([.add(1), .add(1)]), from: client(1))
        rig.round()
        #expect(try rig.state().total == 2)
    }

    @Test func `A number that comes several times in one frame is answered once`() throws {
        let rig = try Self.rig()
        let first = rig.exchange(inputs([.add(1)]), from: client(1))
        let again = Submission(sequence: 1, input: packed(Shop.Input.add(1)))
        #expect(rig.exchange(.send(Array(repeating: again, count: 9), confirmed: 0), from: client(1)) == first)
    }

    @Test func `A gap is answered with the expected number`() throws {
        let rig = try Self.rig()
        rig.deliver(inputs([.add(1)]), from: client(1))
        let answer = rig.exchange(inputs([.add(1)], from: 3), from: client(1))
        #expect(answer.first == .error(PeerError(.resync, "number 2 is next", expected: 2)))
        #expect(rig.machine.head == 2)
    }

    @Test func `Refusal by the program is the same after its reason is gone`() throws {
        let rig = try Self.rig()
        let first = rig.exchange(inputs([.forbidden]), from: client(1))
        rig.exchange(inputs([.add(5)], from: 2), from: client(1))
        #expect(rig.exchange(inputs([.forbidden]), from: client(1)) == first)
        let later = try rig.restarted()
        later.connectClient()
        #expect(later.exchange(inputs([.forbidden]), from: client(1)) == first)
    }

    @Test func `Unreadable input and unknown instance are rejected by a record`() throws {
        let rig = try Self.rig()
        let noise = Frame.send([Submission(sequence: 1, input: [0xc1])], confirmed: 0)
        let elsewhere = Frame.send([Submission(sequence: 2, instance: "other", input: packed(Shop.Input.add(1)))], confirmed: 0)
        for frame in [noise, elsewhere] {
            guard case .receipt(let outcomes, _)? = rig.exchange(frame, from: client(1)).first else {
                Issue.record("no receipt")
                continue
            }
            guard case .rejected = outcomes.first?.verdict else {
                Issue.record("\(outcomes)")
                continue
            }
        }
        #expect(rig.machine.head == 3)
        #expect(try rig.restarted().machine.head == 4)
    }

    @Test(arguments: [Int.min, -1, 0])
    func `No number traps`(_ number: Int) throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1), .add(1)]), from: client(1))
        rig.exchange(.send([Submission(sequence: number, input: [])], confirmed: number), from: client(1))
        rig.exchange(.send([Submission(sequence: .max, input: [])], confirmed: .max), from: client(1))
        rig.exchange(.ping(number), from: client(1))
        rig.exchange(.settle(turn: number), from: client(1))
        rig.exchange(.viewRequest(instance: .main, atLeast: number), from: client(1))
        #expect(rig.stop == nil)
    }

    @Test(arguments: [Int.min, -1, 0])
    func `A number less than 1 is misuse, and what stood before it in the frame is taken`(_ number: Int) throws {
        let rig = try Self.rig()
        let add = packed(Shop.Input.add(1))
        let frame = Frame.send(
            [Submission(sequence: 1, input: add), Submission(sequence: number, input: add), Submission(sequence: 2, input: add)],
            confirmed: 0)
        let misuse = PeerError(.misuse, "there is no input \(number): the inputs of a session are numbered from 1")
        #expect(rig.exchange(frame, from: client(1)) == [.error(misuse), .receipt([applied(1, 2)], credit: 4_096)])
        #expect(try rig.state().total == 1)
        #expect(rig.machine.out.droppedFrames == 1)
    }

    @Test func `Sessions take turns`() throws {
        let rig = try Self.rig { $0.turnsPerRound = 2 }
        rig.connectClient(2)
        rig.deliver(inputs(Array(repeating: .add(1), count: 4)), from: client(1))
        rig.deliver(inputs([.add(1)]), from: client(2))
        rig.round()
        #expect(rig.take(client(2)).contains(.receipt([applied(1, 3)], credit: 4_096)))
    }

    // MARK: At the listener

    @Test func `A full window refuses and uses no number`() throws {
        let rig = try Self.rig { $0.window = 2 }
        let answer = rig.exchange(inputs([.add(1), .add(1), .add(1)]), from: client(1))
        #expect(answer == [Self.retryLater("the session's window is full"), .receipt([applied(1, 2), applied(2, 3)], credit: 2)])
        #expect(rig.exchange(.ping(1), from: client(1)) == [.pong(3)])
        #expect(rig.exchange(inputs([.add(1)], from: 3), from: client(1)) == [.receipt([applied(3, 4)], credit: 3)])
    }

    @Test func `A full inbox refuses and uses no number`() throws {
        let rig = try Self.rig { $0.inbox = 1 }
        rig.deliver(inputs([.add(1), .add(1)]), from: client(1))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)).contains(Self.retryLater("the store's inbox is full")))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [.receipt([applied(2, 3)], credit: 4_096)])
    }

    @Test func `An inbox full of bytes refuses`() throws {
        let rig = try Self.rig { $0.inboxBytes = 20 }
        let answer = rig.exchange(inputs([.add(1), .add(1), .add(1)]), from: client(1))
        #expect(answer.contains(Self.retryLater("the store's inbox is full")))
    }

    @Test func `Too many open effects refuse inputs until results come`() throws {
        let rig = try Self.rig { $0.openEffects = 5 }
        rig.connectWorker(slots: 9, credit: 9)
        rig.order(job("a"), job("b"), job("c"), job("d"))
        let tasks = rig.takeTasks(worker(1))
        _ = rig.take(client(1))
        let reason = "4 effects are open; inputs are taken again when fewer are"
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [Self.retryLater(reason)])
        rig.exchange(.result([tasks[0].answered("a")], credit: 9), from: worker(1))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [.receipt([applied(2, 5)], credit: 4_096)])
    }

    @Test func `A full disk refuses inputs`() throws {
        let rig = try Self.rig()
        rig.machine.journalIsFull(true, now: rig.now)
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)) == [Self.retryLater("the disk of the store is full")])
        rig.machine.journalIsFull(false, now: rig.now)
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)) == [.receipt([applied(1, 2)], credit: 4_096)])
    }

    // MARK: Sessions

    @Test func `Confirmation trims outcomes and moves the credit`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1), .add(1), .add(1)]), from: client(1))
        #expect(rig.exchange(.ping(2), from: client(1)) == [.pong(4_098)])
        #expect(rig.machine.turns.state.sessions.outcome(of: 2, in: session(1)) == nil)
        #expect(rig.machine.turns.state.sessions.outcome(of: 3, in: session(1)) == applied(3, 4))
        #expect(rig.exchange(inputs([.add(1), .add(1), .add(1)]), from: client(1)) == [.receipt([applied(3, 4)], credit: 4_098)])
        #expect(rig.exchange(.ping(900), from: client(1)) == [.pong(4_099)], "what has no outcome cannot be confirmed")
    }

    @Test func `Goodbye ends a session by a record`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(.goodbye, from: client(1))
        #expect(rig.machine.turns.state.sessions.sessions.count == 0)
        #expect(rig.machine.durable == 3)
        #expect(try rig.restarted().machine.turns.state.sessions.sessions.count == 0)
    }

    @Test func `Silence for long enough ends a session by a record`() throws {
        let rig = try Self.rig { $0.sessionIdle = .seconds(10) }
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 0..<10 { rig.tick(.seconds(1)) }
        #expect(rig.durable.sessions.sessions.count == 1)
        for _ in 0..<2 { rig.tick(.seconds(1)) }
        #expect(rig.durable.sessions.sessions.isEmpty)
    }

    @Test func `A session of which an input waits does not expire`() throws {
        let rig = try Self.rig {
            $0.sessionIdle = .seconds(10)
            $0.batchTurns = 1
        }
        rig.commits = false
        for sequence in 1...3 {
            rig.deliver(inputs([.add(1)], from: sequence), from: client(1))
            rig.round()
        }
        #expect(rig.machine.turns.canTake == false)
        for _ in 0..<20 { rig.tick(.seconds(1)) }
        rig.commits = true
        rig.commit()
        rig.tick(.seconds(1))
        #expect(try rig.state().total == 3)
    }

    @Test func `Who comes back to an expired session is told so, and nothing is applied again`() throws {
        let rig = try Self.rig { $0.sessionIdle = .seconds(10) }
        rig.exchange(inputs([.add(1)]), from: client(1))
        for _ in 0..<12 { rig.tick(.seconds(1)) }
        let text = "this session was silent for too long and has expired; what it has sent may have been applied or not"
        let expired = [Frame.error(PeerError(.sessionExpired, text))]
        #expect(rig.connectClient(1, witness: 2, epoch: 2) == expired)
        rig.exchange(inputs([.add(1)]), from: client(1))
        #expect(try rig.state().total == 1)
        // After a restart, by the journal and by a snapshot.
        #expect(try rig.restarted().connectClient(1, witness: 2, epoch: 2) == expired)
        let bytes = try rig.machine.turns.state.snapshot()
        let later = try Rig(journal: rig.committedBatches, snapshot: bytes, now: rig.now)
        #expect(later.connectClient(1, witness: 2, epoch: 2) == expired)
    }

    @Test func `The end of a session is recorded from its first input on`() throws {
        for count in 0...2 {
            let rig = try Self.rig { $0.sessionIdle = .seconds(10) }
            for sequence in 0..<count { rig.exchange(inputs([.add(1)], from: sequence + 1), from: client(1)) }
            let head = rig.machine.head
            for _ in 0..<12 { rig.tick(.seconds(1)) }
            #expect(rig.machine.head - head == min(count, 1), "inputs: \(count)")
        }
    }

    @Test func `A session that was never acknowledged anything is welcomed at 1`() throws {
        let rig = try Self.rig()
        #expect(rig.connectClient(7, witness: 1, epoch: 5).count == 1)
        #expect(rig.exchange(inputs([.add(1)]), from: client(7)).outcomes.map(\.sequence) == [1])
    }

    @Test func `A durable client's session is kept for longer`() throws {
        let rig = try Self.rig {
            $0.sessionIdle = .seconds(10)
            $0.durableSessionIdle = .seconds(30)
        }
        let hello = Hello(role: .client(session: session(2)), schema: shop, isDurable: true)
        rig.exchange(.hello(hello), from: client(2))
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(inputs([.add(1)]), from: client(2))
        for _ in 0..<20 { rig.tick(.seconds(1)) }
        #expect(Array(rig.durable.sessions.sessions.keys) == [session(2)])
        for _ in 0..<12 { rig.tick(.seconds(1)) }
        #expect(rig.durable.sessions.sessions.isEmpty)
    }

    @Test func `A store full of sessions makes room with one that nobody uses`() throws {
        let rig = try Self.rig { $0.sessions = 2 }
        rig.connectClient(2)
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(inputs([.add(1)]), from: client(2))
        for _ in 0..<8 {
            rig.tick(.seconds(1))
            rig.exchange(.ping(1), from: client(2))
        }
        rig.connectClient(3)
        #expect(rig.exchange(inputs([.add(1)]), from: client(3)).outcomes.count == 1)
        #expect(Set(rig.durable.sessions.sessions.keys) == [session(2), session(3)])
    }

    // MARK: Two processes with one session

    @Test func `The newer of two processes with one session wins, and the other is told`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.connectClient(1, epoch: 2, at: client(9))
        let text = "another connection uses this session"
        #expect(rig.take(client(1)) == [.error(PeerError(.superseded, text))])
        #expect(rig.exchange(inputs([.add(5)], from: 2), from: client(1)) == [.error(PeerError(.unknownPeer, "say HELLO first"))])
        #expect(try rig.state().total == 1)
    }

    @Test func `Another input under a known number is no repetition, and its sender is told`() throws {
        let rig = try Self.rig()
        rig.exchange(inputs([.add(1), .add(2)]), from: client(1))
        rig.connectClient(1, epoch: 2, at: client(9))
        let misuse = Frame.error(PeerError(.misuse, "input 2 of this session was another one: do two processes use it?"))
        #expect(rig.exchange(inputs([.add(1), .add(50)]), from: client(9)).contains(misuse))
        #expect(rig.exchange(inputs([.add(1), .add(2)]), from: client(9)).outcomes.map(\.sequence) == [1, 2])
        #expect(try rig.state().total == 3)
    }

    @Test func `A client that a full disk sends away keeps its session`() throws {
        let rig = try Self.rig { $0.sessionIdle = .seconds(10) }
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.machine.journalIsFull(true, now: rig.now)
        for epoch in 2...20 {
            rig.tick(.seconds(1))
            #expect(rig.connectClient(epoch: epoch) == [Self.retryLater("the disk of the store is full")])
        }
        rig.machine.journalIsFull(false, now: rig.now)
        rig.tick(.seconds(1))
        #expect(rig.durable.sessions.sessions.count == 1)
    }

    @Test func `Time while the store is down does not count`() throws {
        let rig = try Self.rig { $0.sessionIdle = .seconds(10) }
        rig.exchange(inputs([.add(1)]), from: client(1))
        let later = try rig.restarted(after: .seconds(1_000))
        for _ in 0..<9 { later.tick(.seconds(1)) }
        #expect(later.durable.sessions.sessions.count == 1)
    }

    @Test func `Silence is counted from the newest start, and as a durable client's until the client has come back`() throws {
        let rig = try Self.rig {
            $0.sessionIdle = .seconds(10)
            $0.durableSessionIdle = .seconds(30)
        }
        rig.exchange(.hello(Hello(role: .client(session: session(2)), schema: shop, isDurable: true)), from: client(2))
        for number in [1, 2] as [UInt8] { rig.exchange(inputs([.add(1)]), from: client(number)) }
        for _ in 0..<9 { rig.tick(.seconds(1)) }
        let later = try rig.restarted()
        for _ in 0..<28 { later.tick(.seconds(1)) }
        #expect(Set(later.durable.sessions.sessions.keys) == [session(1), session(2)])
        for _ in 0..<4 { later.tick(.seconds(1)) }
        #expect(later.durable.sessions.sessions.isEmpty)
    }

    @Test func `Sessions that never sent anything leave no trace`() throws {
        let rig = try Self.rig()
        for _ in 0..<8 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients.count == 0 && rig.machine.clients.connections.isEmpty)
        #expect(rig.machine.head == 1)
    }

    @Test func `A store full of sessions keeps nothing of the next one`() throws {
        let rig = try Self.rig { $0.sessions = 1 }
        let reason = "the store keeps 1 sessions and has no room for another"
        #expect(rig.connectClient(2) == [Self.retryLater(reason)])
        #expect(rig.machine.clients.connections.known == [session(1)])
    }
}
