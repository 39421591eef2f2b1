import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

/// A client whose session ends with an input.
@Suite struct EndingClientTests {
    private static let session = SessionID(high: 5, low: 5)

    private func welcomed() -> ClientMachine {
        let settings = ClientMachine.Settings(connection: ConnectionSettings(firstPause: .zero, longestPause: .zero))
        var machine = ClientMachine(session: Self.session, schema: counter, settings: settings, random: Random(seed: 1))
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(), now: at(0))
        return machine
    }

    private func welcome(expected: Int = 1, of timeline: Timeline = home) -> Envelope {
        Envelope(
            .welcome(Welcome(schema: counter, expected: expected, credit: 100, head: 9, silence: .seconds(6))),
            timeline: timeline)
    }

    private func receipt(_ sequence: Int, _ verdict: Outcome.Verdict = .applied) -> Envelope {
        Envelope(.receipt([Outcome(sequence: sequence, turn: 10, verdict: verdict)], credit: 100), timeline: home)
    }

    private func sent(_ submission: Submission, confirmed: Int = 0) -> [ClientMachine.Action] {
        [.send(Envelope(.send([submission], confirmed: confirmed), timeline: home))]
    }

    /// Whether the next HELLO says that the session may have ended.
    private func greeting(_ machine: inout ClientMachine) -> Bool? {
        _ = machine.disconnected(now: at(0))
        for case .send(let envelope) in machine.ticked(now: at(0)) {
            if case .hello(let hello) = envelope.frame { return hello.mayHaveEnded }
        }
        return nil
    }

    @Test func `It waits for the outcomes of those before it, and none comes after it`() throws {
        var machine = welcomed()
        _ = try machine.submit([1])
        _ = try machine.submit([2], endsSession: true)
        #expect(throws: ClientMachine.SubmitError.closed) { _ = try machine.submit([3]) }
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt(1), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == sent(Submission(sequence: 1, input: [1])))
        #expect(second == sent(Submission(sequence: 2, input: [2], endsSession: true), confirmed: 1))
    }

    @Test func `Once it is sent, HELLO says that the session may have ended, and the input is sent again`() throws {
        var machine = welcomed()
        _ = try machine.submit([1], endsSession: true)
        let before = greeting(&machine)
        _ = machine.received(welcome(), now: at(0))
        _ = machine.flush(now: at(0))
        let after = greeting(&machine)
        _ = machine.received(welcome(expected: 2), now: at(0))
        let again = machine.flush(now: at(0))
        let answered = machine.received(receipt(1), now: at(0))
        let later = greeting(&machine)
        #expect(before == false && after == true && later == true)
        #expect(again == sent(Submission(sequence: 1, input: [1], endsSession: true)))
        #expect(answered == [.answered(Outcome(sequence: 1, turn: 10, verdict: .applied))])
    }

    @Test func `If it is refused, the session goes on`() throws {
        var machine = welcomed()
        _ = try machine.submit([1], endsSession: true)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt(1, .rejected("no")), now: at(0))
        #expect(try machine.submit([2]) == 2)
        let next = machine.flush(now: at(0))
        #expect(next == sent(Submission(sequence: 2, input: [2]), confirmed: 1))
        #expect(greeting(&machine) == false)
    }

    @Test func `In another timeline the session has not ended`() throws {
        var machine = welcomed()
        _ = try machine.submit([1], endsSession: true)
        _ = machine.flush(now: at(0))
        _ = greeting(&machine)
        _ = machine.received(welcome(of: Timeline(high: 1, low: 2)), now: at(0))
        #expect(try machine.submit([2]) == 2)
        #expect(greeting(&machine) == false)
    }

    @Test func `The session of a durable client ends with its goodbye alone`() throws {
        let outbox = ClientOutbox(session: Self.session)
        var machine = ClientMachine(outbox: outbox, schema: counter, random: Random(seed: 1))
        _ = try machine.submit([1], endsSession: true)
        #expect(try machine.submit([2]) == 2)
    }
}
