import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarStore
@testable import SamovarWire

/// Inputs with which a session ends: one record says both, and whoever has not heard the outcome can still ask.
@Suite struct EndingInputTests {
    private static let closed = Frame.error(
        PeerError(.sessionExpired, "this session was ended by its client; what it sends now is not taken"))

    private static func last(_ input: Shop.Input, _ sequence: Int = 1) -> Frame {
        .send([Submission(sequence: sequence, input: packed(input), endsSession: true)], confirmed: sequence - 1)
    }

    /// Client 1 comes again, as one that has sent an input which ends its session.
    private static func comeBack(_ rig: Rig, epoch: Int = 2, witness: Int = 1) -> [Frame] {
        let hello = Hello(role: .client(session: session(1)), schema: shop, witness: witness, epoch: epoch, mayHaveEnded: true)
        return rig.exchange(.hello(hello), from: client(1))
    }

    private static func events(_ rig: Rig) throws -> [Record] {
        var records: [Record] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { records.append($0) }
        }
        return Array(records.dropFirst())
    }

    // MARK: One record

    @Test func `An input and the end of its session are one record, and goodbye adds none`() throws {
        let rig = try Rig()
        rig.connectClient()
        #expect(rig.exchange(Self.last(.add(1)), from: client(1)).outcomes == [applied(1, 2)])
        rig.exchange(.goodbye, from: client(1))
        let records = try Self.events(rig)
        #expect(records.count == 1)
        #expect(records.first?.originText == "client \(session(1)) #1, its last")
        #expect(rig.machine.turns.state.sessions.sessions.isEmpty)
    }

    @Test func `Who comes back to it is told that it has ended, also after a restart and by a snapshot`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.add(1)), from: client(1))
        rig.exchange(.goodbye, from: client(1))
        let snapshot = try rig.machine.turns.state.snapshot()
        let restored = try Rig(journal: rig.committedBatches, snapshot: snapshot, now: rig.now)
        for rig in [rig, try rig.restarted(), restored] {
            #expect(rig.connectClient(1, witness: 2, epoch: 2) == [Self.closed])
            #expect(try rig.state().total == 1)
        }
    }

    @Test func `A refused input ends nothing, and the session goes on`() throws {
        let rig = try Rig()
        rig.connectClient()
        #expect(rig.exchange(Self.last(.forbidden), from: client(1)).outcomes.map(\.sequence) == [1])
        #expect(rig.exchange(Self.last(.add(1), 2), from: client(1)).outcomes == [applied(2, 3)])
        #expect(try Self.events(rig).map(\.kind) == ["refused", "applied"])
    }

    @Test func `The follow-ups of such an input end nothing more`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.chain(2)), from: client(1))
        var closing: [Bool] = []
        for record in try Self.events(rig) { if case .applied(_, _, let closes) = record.event { closing.append(closes) } }
        #expect(closing.first == true && closing.count > 1 && !closing.dropFirst().contains(true))
    }

    // MARK: A receipt that was lost

    @Test func `Whose receipt was lost is welcomed to its ended session and hears the same outcome`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.add(1)), from: client(1))
        for rig in [rig, try rig.restarted(), try Rig(snapshot: rig.machine.turns.state.snapshot(), now: rig.now)] {
            #expect(Self.comeBack(rig).welcome?.expected == 2)
            #expect(rig.exchange(Self.last(.add(1)), from: client(1)).outcomes == [applied(1, 2)])
            #expect(try rig.state().total == 1)
        }
    }

    @Test func `An input that is sent again on the same connection gets the same outcome`() throws {
        let rig = try Rig()
        rig.connectClient()
        for _ in 1...2 { #expect(rig.exchange(Self.last(.add(1)), from: client(1)).outcomes == [applied(1, 2)]) }
        #expect(try rig.state().total == 1)
    }

    @Test func `What a store that was killed had not on disk is taken anew`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        #expect(rig.exchange(Self.last(.add(1)), from: client(1)).isEmpty)
        let later = try rig.restarted()
        #expect(Self.comeBack(later).welcome?.expected == 1)
        #expect(later.exchange(Self.last(.add(1)), from: client(1)).outcomes.map(\.sequence) == [1])
        #expect(try later.state().total == 1)
    }

    @Test func `A machine whose connection breaks before the receipt comes back and tells the outcome`() throws {
        let rig = try Rig()
        var machine = ClientMachine(session: session(1), schema: shop, random: Random(seed: 1))
        var answers: [ClientMachine.Action] = []
        func carry(_ actions: [ClientMachine.Action], _ machine: inout ClientMachine, isHeard: Bool = true) {
            var frames: [Frame] = []
            for action in actions {
                switch action {
                case .send(let envelope): frames += rig.exchange(envelope.frame, from: client(1), of: envelope.timeline)
                case .answered, .unknown, .refused: answers.append(action)
                default: break
                }
            }
            guard isHeard, !frames.isEmpty else { return }
            for frame in frames {
                carry(machine.received(Envelope(frame, timeline: home), now: rig.now), &machine)
            }
        }
        carry(machine.ticked(now: rig.now), &machine)
        _ = try machine.submit(packed(Shop.Input.add(1)), endsSession: true)
        carry(machine.flush(now: rig.now), &machine, isHeard: false)
        #expect(answers.isEmpty)
        carry(machine.disconnected(now: rig.now), &machine)
        rig.tick(.seconds(1))
        carry(machine.ticked(now: rig.now), &machine)
        carry(machine.flush(now: rig.now), &machine)
        #expect(answers == [.answered(applied(1, 2))])
        #expect(try rig.state().total == 1)
    }

    // MARK: What comes after it

    @Test func `It still answers what is asked of it`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.add(1)), from: client(1))
        #expect(rig.exchange(.settle(turn: 2), from: client(1)).contains(.settled(turn: 2, dead: [])))
        rig.tick(.seconds(1))
        #expect(Self.comeBack(rig).welcome?.expected == 2)
        #expect(rig.exchange(.settle(turn: 2), from: client(1)).contains(.settled(turn: 2, dead: [])))
    }

    @Test func `A further input is not taken`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.add(1)), from: client(1))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [Self.closed])
        _ = Self.comeBack(rig)
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [Self.closed])
        #expect(try rig.state().total == 1)
    }

    /// Until then the end may be lost yet, and the session goes on.
    @Test func `That a further input is not taken is told when the end is on disk`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.commits = false
        rig.exchange(Self.last(.add(1)), from: client(1))
        #expect(rig.exchange(inputs([.add(1)], from: 2), from: client(1)) == [])
        rig.commit()
        #expect(rig.take(client(1)).last == Self.closed)
    }

    @Test func `A further input that does not wait for the outcome is misuse`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.deliver(Self.last(.add(1)), from: client(1))
        rig.deliver(inputs([.add(1)], from: 2), from: client(1))
        rig.round()
        let text = "input 2 comes after one that ends the session and has no outcome yet"
        #expect(rig.take(client(1)).contains(.error(PeerError(.misuse, text))))
        #expect(try rig.state().total == 1)
    }

    @Test func `A client that stays silent afterwards is forgotten without a record`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(Self.last(.add(1)), from: client(1))
        for _ in 0..<10 { rig.tick(.seconds(1)) }
        #expect(rig.machine.clients.count == 0)
        #expect(try Self.events(rig).count == 1)
    }

    // MARK: The book

    @Test func `Who may have ended a forgotten session is not welcomed to a new one`() {
        var book = SessionTable(window: 10)
        let count = EndedSessions.limit + 5
        for number in 1...count { book.answer(Self.id(number), applied(3, number * 10), by: nil, endsSession: true) }
        #expect(book.outcome(of: 3, in: Self.id(count)) == applied(3, count * 10) && book.last(of: Self.id(count)) == 3)
        #expect(book.end(of: Self.id(count), witness: 0, mayHaveEnded: true) == nil)
        #expect(book.end(of: Self.id(3), witness: 29, mayHaveEnded: true) == .forgotten)
        #expect(book.end(of: Self.id(3), witness: 1, mayHaveEnded: true) == .forgotten)
        #expect(book.end(of: Self.id(3), witness: 0, mayHaveEnded: true) == nil, "of this timeline it was told nothing")
        #expect(book.end(of: Self.id(3), witness: 29) == nil, "it has sent nothing that ends it")
        #expect(book.end(of: Self.id(3), witness: 49, mayHaveEnded: true) == .forgotten)
        #expect(book.end(of: Self.id(3), witness: 50, mayHaveEnded: true) == nil, "none of them has ended later")
        #expect(book.end(of: Self.id(3), witness: 51, mayHaveEnded: true) == nil, "it was told of a later turn")
    }

    @Test func `Of a session that has ended with an input, the outcome of that one is known, and of no other`() {
        var book = SessionTable(window: 10)
        book.answer(Self.id(1), applied(1, 5), by: nil)
        book.answer(Self.id(1), applied(2, 6), by: nil, endsSession: true)
        let outcomes = (0...3).map { book.outcome(of: $0, in: Self.id(1)) }
        #expect(outcomes == [nil, nil, applied(2, 6), nil])
    }

    private static func id(_ number: Int) -> SessionID { SessionID(high: 9, low: UInt64(number)) }
}

extension [Frame] {
    fileprivate var welcome: Welcome? {
        for case .welcome(let welcome) in self { return welcome }
        return nil
    }
}
