import MachineSupport
import MessagePack
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Sessions that are over: who comes back to one is told, and nothing is applied again.
@Suite struct EndedSessionTests {
    private static let closed = Frame.error(
        PeerError(.sessionExpired, "this session was ended by its client; what it sends now is not taken"))

    /// Client 1 has sent an input and has said goodbye.
    private static func rig(_ settings: StoreSettings = StoreSettings()) throws -> Rig {
        let rig = try Rig(settings)
        rig.connectClient()
        rig.exchange(inputs([.add(1)]), from: client(1))
        rig.exchange(.goodbye, from: client(1))
        return rig
    }

    @Test func `Who comes back after goodbye is told so, and nothing is applied again`() throws {
        let rig = try Self.rig()
        for (epoch, witness) in [(1, 0), (2, 2), (3, 3)] {
            #expect(rig.connectClient(1, witness: witness, epoch: epoch) == [Self.closed])
            rig.exchange(inputs([.add(1)]), from: client(1))
        }
        #expect(try rig.state().total == 1)
    }

    @Test func `Goodbye is remembered over a restart, by the journal and by a snapshot`() throws {
        let rig = try Self.rig()
        #expect(try rig.restarted().connectClient() == [Self.closed])
        let bytes = try rig.machine.turns.state.snapshot()
        let later = try Rig(journal: rig.committedBatches, snapshot: bytes, now: rig.now)
        #expect(later.connectClient() == [Self.closed])
        #expect(later.machine.turns.state.sessions == (try rig.restarted().machine.turns.state.sessions))
    }

    @Test func `Goodbye is recorded as the client's next word`() throws {
        let rig = try Self.rig()
        var origins: [Origin] = []
        for batch in rig.committedBatches {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                if case .sessionExpired = record.event { origins.append(record.origin) }
            }
        }
        #expect(origins == [.client(session: session(1), sequence: 2)])
    }

    /// The refusal tells of a turn that may be lost yet, and then the session goes on.
    @Test func `A goodbye is told of when it is on disk`() throws {
        let rig = try Self.rig()
        rig.connectClient(2)
        rig.exchange(inputs([.add(1)]), from: client(2))
        rig.commits = false
        rig.exchange(.goodbye, from: client(2))
        #expect(rig.connectClient(2, epoch: 2).isEmpty)
        rig.commit()
        #expect(rig.take(client(2)) == [Self.closed])
    }

    @Test func `A session without a record that says goodbye is not remembered`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(.goodbye, from: client(1))
        #expect(rig.machine.durable == 1)
        #expect(rig.connectClient(1).welcome?.expected == 1)
        #expect(rig.exchange(inputs([.add(1)]), from: client(1)).outcomes.map(\.sequence) == [1])
    }

    @Test func `Who says goodbye makes room for another session at once`() throws {
        var settings = StoreSettings()
        settings.sessions = 1
        let rig = try Self.rig(settings)
        #expect(rig.connectClient(2).welcome?.expected == 1)
    }

    @Test func `A goodbye that was followed by another session says nothing of that one`() throws {
        let rig = try Self.rig()
        rig.connectClient(2)
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)).outcomes.map(\.sequence) == [1])
        #expect(try rig.state().total == 2)
    }

    @Test func `The newest 100,000 closed sessions are remembered, and nobody is taken for a forgotten one`() {
        var book = SessionTable(window: 10)
        let count = EndedSessions.limit + 5
        for number in 1...count { book.close(Self.id(number), sequence: 1, at: number * 10) }
        #expect(book.closed.newest.count == EndedSessions.limit)
        #expect(book.end(of: Self.id(6), witness: 0) == .closed)
        #expect(book.end(of: Self.id(count), witness: 0) == .closed)
        #expect(book.end(of: Self.id(5), witness: 0) == nil)
        #expect(book.end(of: Self.id(5), witness: 49) == nil, "it may be one who was quiet and never sent")
    }

    @Test func `Goodbyes do not push out those that have expired`() {
        var book = SessionTable(window: 10)
        book.expire(Self.id(0), at: 1)
        for number in 1...EndedSessions.limit + 5 { book.close(Self.id(number), sequence: 1, at: number * 10) }
        #expect(book.end(of: Self.id(0), witness: 0) == .expired)
        #expect(book.expired.forgottenTurn == 0)
    }

    @Test func `Of expired sessions that are forgotten, nobody who may be one is welcomed`() {
        var book = SessionTable(window: 10)
        let count = EndedSessions.limit + 5
        for number in 1...count { book.expire(Self.id(number), at: number * 10) }
        #expect(book.expired.newest.count == EndedSessions.limit && book.expired.forgottenTurn == 50)
        #expect(book.end(of: Self.id(count), witness: 0) == .expired)
        #expect(book.end(of: Self.id(3), witness: 29) == .expired, "it may have been this one")
        #expect(book.end(of: SessionID(high: 8, low: 3), witness: 51) == nil, "it was told of a later turn")
        #expect(book.end(of: SessionID(high: 8, low: 3), witness: 0) == nil, "it was never welcomed")
    }

    @Test func `What a new client sends is taken, though sessions have expired that nobody remembers`() throws {
        var state = try Self.rig().machine.turns.state
        state.sessions.restore(expired: try Self.forgotten(through: 3), closed: EndedSessions())
        let rig = try Rig(snapshot: state.snapshot())
        #expect(rig.connectClient(2).isWelcome)
        #expect(rig.exchange(inputs([.add(1)]), from: client(2)).outcomes.map(\.sequence) == [1])
    }

    @Test func `The turn that a client has seen tells nothing of forgotten sessions in another timeline`() throws {
        var state = try Self.rig().machine.turns.state
        state.sessions.restore(expired: try Self.forgotten(through: 3), closed: EndedSessions())
        let rig = try Rig(snapshot: state.snapshot())
        let hello = Hello(role: .client(session: session(2)), schema: shop, witness: 2, epoch: 1)
        #expect(rig.exchange(.hello(hello), from: client(2)).errors == [.sessionExpired], "it may be one of them")
        #expect(rig.exchange(.hello(hello), from: client(2), of: abroad).isWelcome)
    }

    @Test func `An ended session with more fields than this build knows is refused`() {
        var writer = MessagePackWriter()
        writer.writeArrayHeader(2)
        writer.write(0)
        writer.writeArrayHeader(1)
        // Its identity, its turn, its last input, its owner, and what no build writes.
        writer.writeArrayHeader(5)
        writer.write(session(1))
        writer.write(7)
        writer.write(2)
        writer.write("shop")
        writer.write(0)
        let bytes = writer.bytes
        #expect(throws: WireError.malformed("an ended session has 2 to 4 fields, not 5")) {
            var reader = MessagePackReader(bytes)
            _ = try EndedSessions(from: &reader)
        }
    }

    @Test func `What a client was told in another timeline says nothing of sessions that have expired in this one`() throws {
        let rig = try Self.rig()
        var state = rig.machine.turns.state
        let closed = state.sessions.closed
        state.sessions.restore(expired: try Self.forgotten(through: 3), closed: closed)
        let later = try Rig(snapshot: state.snapshot(), now: rig.now)
        func greet(_ number: UInt8, of timeline: Timeline) -> [Frame] {
            let hello = Hello(role: .client(session: session(number)), schema: shop, witness: 2)
            return later.exchange(.hello(hello), from: client(number), of: timeline)
        }
        #expect(greet(2, of: home) == [.error(PeerError(.sessionExpired, SessionEnd.expired.text))])
        #expect(greet(3, of: abroad).welcome?.expected == 1)
    }

    // MARK: Earlier builds

    /// A build before this one wrote the number of the last input, and remembered nothing; its snapshots say the same.
    @Test func `A goodbye of an earlier build is forgotten, by a replay as by its snapshots`() throws {
        var state = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 10)
        let outcome = Outcome(sequence: 3, turn: 2, verdict: .applied)
        state.sessions.answer(session(1), outcome, by: nil)
        state.absorb(Self.goodbye(of: 3))
        #expect(state.sessions == SessionTable(window: 10))
        state.sessions.answer(session(1), outcome, by: nil)
        state.absorb(Self.goodbye(of: 4))
        #expect(state.sessions.end(of: session(1), witness: 0) == .closed)
    }

    @Test func `A snapshot of an earlier build is read, and knows no closed sessions`() throws {
        let rig = try Self.rig()
        let former = try Self.former(rig.machine.turns.state.snapshot(), format: 6, fields: 16)
        try StoreSnapshot.check(former, turn: 3)
        var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
        try restored.restore(former)
        #expect(restored.head == 3 && restored.sessions == SessionTable(window: 4_096))
    }

    @Test func `A snapshot of the build after that one is read, with the sessions that were closed`() throws {
        let state = try Self.rig().machine.turns.state
        let former = try Self.former(state.snapshot(), format: 7, fields: 17)
        try StoreSnapshot.check(former, turn: 3)
        var restored = StoreState(engine: TypedEngine(Shop.self, secret: workshopSecret), window: 4_096)
        try restored.restore(former)
        #expect(restored.sessions == state.sessions && restored.sessions.closed.newest.count == 1)
    }

    @Test func `A snapshot with other fields than its format has is refused`() throws {
        let bytes = try Self.rig().machine.turns.state.snapshot()
        var reader = MessagePackReader(bytes)
        _ = try reader.readArrayHeader()
        var writer = MessagePackWriter()
        writer.writeArrayHeader(16)
        for _ in 0..<16 { writer.writeRaw(Array(try reader.readRaw())) }
        #expect(throws: WireError.malformed("a snapshot has 18 fields, not 16")) {
            try StoreSnapshot.check(writer.bytes, turn: 3)
        }
    }

    // MARK: Helpers

    private static func id(_ number: Int) -> SessionID { SessionID(high: 9, low: UInt64(number)) }

    /// Sessions have ended up to this turn, and none of them is remembered by itself.
    private static func forgotten(through turn: Int) throws -> EndedSessions {
        var writer = MessagePackWriter()
        writer.writeArrayHeader(2)
        writer.write(turn)
        writer.writeArrayHeader(0)
        var reader = MessagePackReader(writer.bytes)
        return try EndedSessions(from: &reader)
    }

    private static func goodbye(of sequence: Int) -> Record {
        Record(
            turn: 5, time: at(0), origin: .client(session: session(1), sequence: sequence), root: 5,
            event: .sessionExpired(session(1)))
    }

    /// What a build would have written whose format ended with fewer fields.
    private static func former(_ bytes: [UInt8], format: Int, fields: Int) throws -> [UInt8] {
        var reader = MessagePackReader(bytes)
        _ = try reader.readArrayHeader()
        _ = try reader.readInt()
        var writer = MessagePackWriter()
        writer.writeArrayHeader(fields)
        writer.write(format)
        for _ in 1..<fields { writer.writeRaw(Array(try reader.readRaw())) }
        return writer.bytes
    }
}

extension [Frame] {
    fileprivate var welcome: Welcome? {
        for case .welcome(let welcome) in self { return welcome }
        return nil
    }
}
