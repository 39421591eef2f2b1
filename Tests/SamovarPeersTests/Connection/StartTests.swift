import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// Of two stores with one timeline, a peer believes the one with the greater start number.
@Suite struct StartTests {
    private let me = UniqueID(high: 1, low: 2)

    private func connection(places: Int = 1, start: Int = 0) -> Connection {
        let settings = ConnectionSettings(firstPause: .zero, longestPause: .zero)
        var connection = Connection(settings, random: Random(seed: 1), timeline: start == 0 ? .zero : home, start: start)
        connection.places = places
        return connection
    }

    private func welcome(start: Int, head: Int = 9, silence: Duration = .seconds(9), of timeline: Timeline = home) -> Envelope {
        let welcome = Welcome(schema: counter, start: start, credit: 9, head: head, silence: silence)
        return Envelope(.welcome(welcome), timeline: timeline, proof: TurnProof(turn: head, code: UInt64(head)))
    }

    /// Opens, and is welcomed or not.
    private func greet(_ connection: inout Connection, _ welcome: Envelope) -> Connection.Action {
        _ = connection.disconnected(now: at(0))
        #expect(connection.ticked(now: at(0)) == .open)
        return connection.received(welcome, now: at(0))
    }

    private func hello(_ connection: borrowing Connection) -> Hello? {
        if case .hello(let hello) = connection.hello(.client(session: me), schema: counter) { hello } else { nil }
    }

    @Test func `A store of an earlier start than is known is not believed, and nothing of its WELCOME is taken over`() {
        var connection = connection()
        _ = greet(&connection, welcome(start: 4))
        let reason = "a store of an earlier start (3) answers; start 4 is known"
        #expect(greet(&connection, welcome(start: 3, head: 50, silence: .seconds(20))) == .lost(reason))
        #expect(connection.state == .lost(until: at(0)))
        #expect(
            connection.start == 4 && connection.witness == 9 && connection.proof?.turn == 9 && connection.silence == .seconds(9))
    }

    @Test func `A store that names no start is of an earlier one, too`() {
        var connection = connection(start: 1)
        let reason = "a store of an earlier start (0) answers; start 1 is known"
        #expect(greet(&connection, welcome(start: 0)) == .lost(reason))
    }

    @Test(arguments: [4, 5]) func `A store of the same or a later start is welcome, and the greatest is kept and told`(start: Int) {
        var connection = connection(start: 4)
        #expect(hello(connection)?.start == 4)
        guard case .welcomed(let welcome, left: nil) = greet(&connection, welcome(start: start)) else {
            Issue.record("not believed")
            return
        }
        #expect(welcome.start == start && connection.start == start && hello(connection)?.start == start)
    }

    @Test func `Another timeline counts its own starts`() {
        var connection = connection(start: 4)
        guard case .welcomed(_, left: home) = greet(&connection, welcome(start: 2, of: abroad)) else {
            Issue.record("not believed")
            return
        }
        #expect(connection.start == 2 && hello(connection)?.start == 2)
        #expect(greet(&connection, welcome(start: 1, of: abroad)).isLost)
    }

    @Test func `After an earlier store the next place is tried at once, and after the last one comes a pause`() {
        var connection = Connection(
            ConnectionSettings(firstPause: .seconds(8), longestPause: .seconds(8)), random: Random(seed: 1), timeline: home,
            start: 4)
        connection.places = 2
        #expect(connection.ticked(now: at(0)) == .open)
        #expect(connection.received(welcome(start: 3), now: at(0)).isLost)
        #expect(connection.ticked(now: at(0)) == .open, "the other place, at once")
        #expect(connection.received(welcome(start: 3), now: at(0)) == .lost(nil), "told before")
        #expect(connection.deadline.map { $0 > at(0) } == true)
    }

    @Test func `A client of an earlier store sends nothing there, and all of it to the next`() throws {
        var machine = ClientMachine(session: me, schema: counter, random: Random(seed: 1))
        machine.places = 2
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(start: 4), now: at(0))
        _ = try machine.submit([1])
        _ = machine.disconnected(now: at(0))
        let deadline = machine.deadline
        let due = try #require(deadline)
        _ = machine.ticked(now: due)
        let actions = machine.received(welcome(start: 3), now: due) + machine.flush(now: due)
        #expect(actions.contains(.disconnect) && !actions.contains { if case .send = $0 { true } else { false } })
        _ = machine.ticked(now: due)
        _ = machine.received(welcome(start: 5), now: due)
        let sent = machine.flush(now: due).compactMap { if case .send(let envelope) = $0 { envelope.kind } else { nil } }
        #expect(sent == [.send])
    }

    @Test func `A worker keeps its jobs while an earlier store answers`() throws {
        let offer = WorkerOffer(id: me, slots: 1, queues: [.default])
        var machine = WorkerMachine(offer, schema: counter, random: Random(seed: 1))
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(start: 4), now: at(0))
        _ = machine.flush(now: at(0))
        let effect = EffectID(turn: 9, ordinal: 0)
        let task = JobTask(
            effect: effect, lease: Lease(start: 4, counter: 1), token: 7, attempt: 1, instance: .main, queue: .default,
            timeout: nil,
            payload: [1])
        _ = machine.received(Envelope(.task([task], number: 1), timeline: home), now: at(0))
        #expect(machine.jobs == 1)
        _ = machine.disconnected(now: at(0))
        let deadline = machine.deadline
        let due = try #require(deadline)
        _ = machine.ticked(now: due)
        let actions = machine.received(welcome(start: 3), now: due)
        #expect(actions.contains(.disconnect) && machine.jobs == 1 && !machine.isConnected)
    }
}

extension Connection.Action {
    fileprivate var isLost: Bool { if case .lost = self { true } else { false } }
}
