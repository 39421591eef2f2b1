import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Sessions as far as they are only in memory.
@Suite struct ClientSessionsTests {
    private var sessions = ClientSessions(Self.settings)

    /// With a silence of 5 s, and of sessions of 10 s, durable ones 20 s.
    private static var settings: StoreSettings {
        var settings = StoreSettings()
        (settings.window, settings.fingerprints, settings.silence) = (10, 8, .seconds(5))
        (settings.sessionIdle, settings.durableSessionIdle) = (.seconds(10), .seconds(20))
        return settings
    }

    private mutating func join(_ number: UInt8, last: Int = 0, isDurable: Bool = false, at seconds: Double = 0) -> ClientSession {
        let hello = Hello(role: .client(session: session(number)), schema: shop, isDurable: isDurable)
        return sessions.join(session(number), hello, by: nil, last: last, at: client(number), now: at(seconds))
    }

    private func input(_ sequence: Int) -> Submission { Submission(sequence: sequence, input: [UInt8(sequence)]) }

    @Test mutating func `Who says HELLO again begins with an empty inbox behind its newest outcome`() {
        let one = join(1)
        for sequence in 1...3 { sessions.enqueue(input(sequence), of: one) }
        #expect(one.received == 3 && sessions.inbox.count == 3)
        _ = sessions.popFirst()
        #expect(join(1, last: 1) === one)
        #expect(one.received == 1 && sessions.inbox.count == 0 && one.route == client(1))
        #expect(!one.fingerprints.differs(Submission(sequence: 2, input: [9])), "number 2 is free for any input")
        #expect(one.fingerprints.differs(Submission(sequence: 1, input: [9])))
    }

    @Test mutating func `Outcomes of a round are told once, to those who are there, the first first`() throws {
        let (one, other) = (join(1), join(2))
        sessions.answer(other, applied(1, 5))
        sessions.answer(one, applied(1, 6))
        sessions.answer(other, applied(2, 7))
        #expect(sessions.answered.map(\.id) == [session(2), session(1)])
        sessions.disconnect(session(1), from: client(1))
        #expect(one.outcomes.isEmpty && one.route == nil)
        sessions.answer(one, applied(2, 8))
        var bench = try PartBench()
        for _ in 1...2 {
            sessions.sendReceipts(bench.turns.state.sessions, head: bench.turns.head, &bench.out)
            #expect(sessions.answered.isEmpty && one.outcomes.isEmpty && other.outcomes.isEmpty)
        }
        bench.commit()
        #expect(bench.takeFrames() == [.receipt([applied(1, 5), applied(2, 7)], credit: 10)])
    }

    @Test mutating func `A connection that was replaced takes nothing with it`() {
        let one = join(1)
        sessions.answer(one, applied(1, 5))
        sessions.disconnect(session(1), from: client(9))
        #expect(one.route == client(1) && one.outcomes == [applied(1, 5)])
    }

    @Test mutating func `Who is removed leaves nothing in the inbox`() {
        sessions.enqueue(input(1), of: join(1))
        sessions.enqueue(input(1), of: join(2))
        sessions.remove(session(1))
        #expect(sessions.count == 1 && sessions[session(1)] == nil && sessions.inbox.count == 1)
    }

    @Test mutating func `A client may send a window beyond what it has confirmed, or has an outcome less than a window ago`() {
        let one = join(1)
        var table = SessionTable(window: 10)
        #expect(sessions.credit(of: one, table) == 10)
        table.restore(session(1), owner: nil, last: 25, outcomes: [])
        #expect(sessions.credit(of: one, table) == 25)
        #expect(one.confirm(20) && !one.confirm(20) && !one.confirm(19))
        #expect(sessions.credit(of: one, table) == 30)
    }

    // MARK: Time

    @Test mutating func `Silence is counted from the last word, and begins anew for all after the store was away`() {
        _ = (join(1), join(2))
        sessions.heard(session(2), now: at(1))
        #expect(sessions.silent(now: at(5)).isEmpty)
        #expect(sessions.silent(now: at(5.5)).map(\.id) == [session(1)])
        sessions.forgiveSilence(now: at(6))
        #expect(sessions.silent(now: at(11)).isEmpty)
    }

    @Test mutating func `A durable session is kept for longer, and none while its inputs wait`() {
        _ = (join(3), join(2), join(1, isDurable: true))
        var table = SessionTable(window: 10)
        table.restore(session(4), owner: nil, last: 1, outcomes: [])
        sessions.restore(table, now: at(0))
        #expect(sessions.expired(now: at(10)) == [])
        sessions.enqueue(input(1), of: join(3))
        #expect(sessions.expired(now: at(11)) == [session(2)])
        #expect(sessions.expired(now: at(21)) == [session(1), session(2), session(4)])
    }

    @Test mutating func `Room is made at the cost of the one that was away for longest`() {
        for (number, moment) in [(1, 0), (2, 2), (3, 1)] as [(UInt8, Double)] { _ = join(number, at: moment) }
        for number in [2, 3] as [UInt8] { sessions.disconnect(session(number), from: client(number)) }
        #expect(sessions.idlest(now: at(5)) == nil, "each was heard of within the silence that is allowed")
        #expect(sessions.idlest(now: at(9)) == session(3), "the first is connected")
        if let third = sessions[session(3)] { sessions.enqueue(input(1), of: third) }
        #expect(sessions.idlest(now: at(9)) == session(2), "what waits in the inbox is taken")
    }

    @Test mutating func `Many sessions share the hashes that may be kept, and one alone has them all`() {
        let one = join(1)
        for sequence in 1...6 { sessions.enqueue(input(sequence), of: one) }
        sessions.limitFingerprints()
        #expect(one.fingerprints.count == 6)
        let other = join(2)
        sessions.limitFingerprints()
        #expect(one.fingerprints.count == 4)
        for sequence in 1...6 { sessions.enqueue(input(sequence), of: other) }
        #expect(other.fingerprints.count == 4, "also of what comes before the next look")
    }
}
