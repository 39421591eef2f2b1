import SamovarCore
import Testing

@testable import SamovarProtocol

/// One test per row of the table of `ClientMachine`.
@Suite struct ClientMachineTests {
    private static let session = SessionID(high: 5, low: 5)

    private func machine(_ limits: (inout ClientMachine.Settings) -> Void = { _ in }) -> ClientMachine {
        var settings = ClientMachine.Settings(
            connection: ConnectionSettings(firstPause: .zero, longestPause: .zero))
        limits(&settings)
        return ClientMachine(session: Self.session, schema: counter, settings: settings, random: Random(seed: 1))
    }

    private func welcomed(
        credit: Int = 100, _ limits: (inout ClientMachine.Settings) -> Void = { _ in }
    ) -> ClientMachine {
        var machine = machine(limits)
        _ = machine.ticked(now: at(0))
        _ = machine.received(welcome(credit: credit), now: at(0))
        return machine
    }

    private func welcome(expected: Int = 1, credit: Int = 100, head: Int = 9, of timeline: Timeline = home) -> Envelope {
        let welcome = Welcome(schema: counter, expected: expected, credit: credit, head: head, silence: .seconds(6))
        return Envelope(.welcome(welcome), timeline: timeline)
    }

    private func receipt(_ sequences: [Int], turn: Int = 10, credit: Int = 100, of timeline: Timeline = home) -> Envelope {
        Envelope(.receipt(sequences.map { outcome($0, turn: turn) }, credit: credit), timeline: timeline)
    }

    private func outcome(_ sequence: Int, turn: Int = 10) -> Outcome {
        Outcome(sequence: sequence, turn: turn, verdict: .applied)
    }

    private func hello(
        witness: Int, proof: UInt64? = nil, attempt: Int, of timeline: Timeline = home
    ) -> ClientMachine.Action {
        let hello = Hello(
            role: .client(session: Self.session), schema: counter, witness: witness, proof: proof, takesProofs: true,
            attempt: attempt)
        return .send(Envelope(.hello(hello), timeline: timeline))
    }

    private func sent(_ sequences: [Int], confirmed: Int, of timeline: Timeline = home) -> ClientMachine.Action {
        let submissions = sequences.map { Submission(sequence: $0, input: [UInt8($0)]) }
        return .send(Envelope(.send(submissions, confirmed: confirmed), timeline: timeline))
    }

    private func send(_ frame: Frame) -> ClientMachine.Action { .send(Envelope(frame, timeline: home)) }

    /// Submits inputs 1, 2, … whose bytes are their numbers.
    private func submit(_ count: Int, to machine: inout ClientMachine) throws {
        for _ in 0..<count {
            let next = machine.submitted + 1
            #expect(try machine.submit([UInt8(next)]) == next)
        }
    }

    private func reconnect(_ machine: inout ClientMachine) -> [ClientMachine.Action] {
        _ = machine.disconnected(now: at(0))
        return machine.ticked(now: at(0))
    }

    // MARK: submit and flush

    @Test func itConnectsAndSaysHello() {
        var machine = machine()
        let opened = machine.ticked(now: at(0))
        let welcomed = machine.received(welcome(), now: at(0))
        #expect(opened == [.connect, hello(witness: 0, attempt: 1, of: .zero)])
        #expect(welcomed == [.welcomed(head: 9, timeline: home)])
    }

    @Test func inputsAreNumberedAndSentTogether() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        let flushed = machine.flush(now: at(0))
        let again = machine.flush(now: at(0))
        #expect(flushed == [sent([1, 2, 3], confirmed: 0)])
        #expect(again == [])
    }

    @Test func inputsWaitForAConnection() throws {
        var machine = machine()
        try submit(1, to: &machine)
        let before = machine.flush(now: at(0))
        _ = machine.ticked(now: at(0))
        let greeting = machine.flush(now: at(0))
        _ = machine.received(welcome(), now: at(0))
        let welcomed = machine.flush(now: at(0))
        #expect(before == [])
        #expect(greeting == [])
        #expect(welcomed == [sent([1], confirmed: 0)])
    }

    @Test func creditIsKept() throws {
        var machine = welcomed(credit: 2)
        try submit(4, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1], credit: 3), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1, 2], confirmed: 0)])
        #expect(second == [sent([3], confirmed: 1)])
    }

    @Test func withoutCreditItConfirmsByPing() throws {
        var machine = welcomed(credit: 2)
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1, 2], credit: 2), now: at(0))
        let confirmed = machine.flush(now: at(0))
        let again = machine.flush(now: at(0))
        _ = machine.received(Envelope(.pong(4), timeline: home), now: at(0))
        let after = machine.flush(now: at(0))
        #expect(confirmed == [send(.ping(2))])
        #expect(again == [])
        #expect(after == [sent([3], confirmed: 2)])
    }

    @Test func theWindowIsKept() throws {
        var machine = welcomed { $0.window = 2 }
        try submit(3, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1, 2], confirmed: 0)])
        #expect(second == [sent([3], confirmed: 1)])
    }

    @Test func theWindowOfBytesIsKeptButOneInputAlwaysFits() throws {
        var machine = welcomed { $0.windowBytes = 10 }
        try submit(2, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1], confirmed: 0)])
        #expect(second == [sent([2], confirmed: 1)])
    }

    @Test func aFrameHasALimit() throws {
        var machine = welcomed { $0.frameBytes = 70 }
        try submit(3, to: &machine)
        let flushed = machine.flush(now: at(0))
        #expect(flushed == [sent([1, 2], confirmed: 0), sent([3], confirmed: 0)])
    }

    @Test func aFullBacklogRefuses() throws {
        var machine = machine { $0.backlog = 2 }
        try submit(2, to: &machine)
        #expect(refusal { () throws(ClientMachine.SubmitError) in try machine.submit([1]) } == .backlogFull)
        var bytes = self.machine { $0.backlogBytes = 40 }
        _ = try bytes.submit([1])
        #expect(refusal { () throws(ClientMachine.SubmitError) in try bytes.submit([1, 2, 3, 4, 5, 6, 7, 8]) } == .backlogFull)
    }

    @Test func anInputThatIsTooLargeIsRefused() {
        var machine = machine { $0.inputBytes = 2 }
        let error = refusal { () throws(ClientMachine.SubmitError) in try machine.submit([1, 2, 3]) }
        #expect(error == .tooLarge(bytes: 3, limit: 2))
    }

    private func refusal(
        _ submit: () throws(ClientMachine.SubmitError) -> Int
    ) -> ClientMachine.SubmitError? {
        do {
            _ = try submit()
            return nil
        } catch {
            return error
        }
    }

    // MARK: RECEIPT

    @Test func eachOutcomeIsToldOnce() throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let first = machine.received(receipt([1, 2]), now: at(0))
        let again = machine.received(receipt([1, 2]), now: at(0))
        let unanswered = machine.unanswered
        #expect(first == [.answered(outcome(1)), .answered(outcome(2))])
        #expect(again == [])
        #expect(unanswered == 0)
    }

    @Test func outcomesAreConfirmedWithoutHoles() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        let late = machine.received(receipt([3, 2]), now: at(0))
        let hole = machine.ticked(now: at(1))
        _ = machine.received(receipt([1]), now: at(1))
        let whole = machine.ticked(now: at(2))
        #expect(late == [.answered(outcome(3)), .answered(outcome(2))])
        #expect(hole == [send(.ping(0))])
        #expect(whole == [send(.ping(3))])
    }

    @Test(arguments: [Int.min, -1, 0, 2, Int.max])
    func theOutcomeOfNoInputIsIgnored(_ sequence: Int) throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        let actions = machine.received(receipt([sequence], turn: .max, credit: .min), now: at(0))
        #expect(actions == [])
    }

    // MARK: Proofs

    @Test func `hello shows the newest proof, and what it does not cover is left out`() throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let told = Envelope(.receipt([outcome(1, turn: 12)], credit: 100), timeline: home, proof: TurnProof(turn: 12, code: 7))
        _ = machine.received(told, now: at(0))
        _ = machine.received(receipt([2], turn: 13), now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 11, code: 6)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 12, proof: 7, attempt: 2)])
    }

    @Test func `a pong brings the proof of what a quiet client was told`() {
        var machine = welcomed()
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 40, code: 9)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 40, proof: 9, attempt: 2)])
    }

    /// The answers of requests have no proof.
    @Test func `a client that only asks says PING as well`() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 3, now: at(0.9))
        #expect(machine.ticked(now: at(1)) == [send(.ping(0))])
    }

    @Test func `a proof of another timeline is forgotten with it`() {
        var machine = welcomed()
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 40, code: 9)), now: at(0))
        _ = reconnect(&machine)
        let welcome = Welcome(schema: counter, expected: 1, credit: 100, head: 3, silence: .seconds(6))
        _ = machine.received(
            Envelope(.welcome(welcome), timeline: abroad, proof: TurnProof(turn: 3, code: 5)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 3, proof: 5, attempt: 3, of: abroad)])
    }

    // MARK: Sending again

    @Test func afterWelcomeItGoesBackToTheOldestUnanswered() throws {
        var machine = welcomed()
        try submit(4, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1, 3], turn: 12), now: at(0))
        let opened = reconnect(&machine)
        _ = machine.received(welcome(expected: 4), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(opened == [.connect, hello(witness: 12, attempt: 2)])
        // 2 was taken, and its outcome lost: the store repeats it.
        #expect(flushed == [sent([2, 4], confirmed: 1)])
    }

    @Test func resyncGoesBackOnce() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        let error = Envelope(.error(PeerError(.resync, "2 is next", expected: 2)), timeline: home)
        let first = machine.received(error, now: at(0))
        let flushed = machine.flush(now: at(0))
        _ = machine.received(error, now: at(0))
        let again = machine.flush(now: at(0))
        #expect(first == [])
        #expect(flushed == [sent([2, 3], confirmed: 0)])
        #expect(again == [])
    }

    @Test func withoutAnyOutcomeItGoesBackAfterTheSilence() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(5))
        _ = machine.ticked(now: at(5))
        let early = machine.flush(now: at(5))
        _ = machine.ticked(now: at(6))
        let due = machine.flush(now: at(6))
        #expect(early == [])
        #expect(due == [sent([1], confirmed: 0)])
    }

    @Test func `An outcome that was lost is asked for again after the silence, though later ones keep coming`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        var again: [ClientMachine.Action] = []
        for number in 2...8 {
            let now = at(Double(number))
            _ = machine.ticked(now: now)
            again += machine.flush(now: now)
            try submit(1, to: &machine)
            _ = machine.flush(now: now)
            _ = machine.received(receipt([number]), now: now)
        }
        #expect(again == [sent([1], confirmed: 0)])
    }

    @Test func `A request without an answer is repeated after the silence, though others are asked and answered`() throws {
        var machine = welcomed()
        var again = 0
        _ = try machine.settle(turn: 5, now: at(0))
        for second in 1...8 {
            let now = at(Double(second))
            again += machine.ticked(now: now).filter { $0 == send(.settle(turn: 5)) }.count
            _ = try machine.settle(turn: 5 + second, now: now)
            _ = machine.received(Envelope(.settled(turn: 5 + second, dead: []), timeline: home), now: now)
        }
        #expect(again == 1)
    }

    @Test func aStoreThatForgotTheSessionEndsIt() throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        _ = reconnect(&machine)
        let actions = machine.received(welcome(expected: 1), now: at(0))
        let text = "the store expects input 1 of this session, which is at 2"
        #expect(
            actions == [
                .welcomed(head: 9, timeline: home), .unknown(sequence: 2, .refused(text)), .disconnect,
                .refused(PeerError(.sessionExpired, text)),
            ])
    }

    @Test(arguments: [Int.min, 0, 4, Int.max])
    func anImpossibleNumberEndsTheSession(_ expected: Int) throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let error = Envelope(.error(PeerError(.resync, "", expected: expected)), timeline: home)
        let actions = machine.received(error, now: at(0))
        let state = machine.state
        #expect(actions.count == 4)
        #expect(state == .closed)
    }

    @Test func `A RESYNC that a slow network brings late, for what is answered by then, changes nothing`() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1, 2]), now: at(0))
        let error = Envelope(.error(PeerError(.resync, "", expected: 2)), timeline: home)
        let actions = machine.received(error, now: at(0))
        let flushed = machine.flush(now: at(0))
        let state = machine.state
        #expect(actions == [.note("dropped a RESYNC to input 2, which is answered")])
        #expect(flushed == [])
        #expect(state == .open)
    }

    // MARK: Another timeline

    @Test func anotherTimelineLeavesTheUnansweredUnknown() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        _ = try machine.settle(turn: 10, now: at(0))
        _ = reconnect(&machine)
        let actions = machine.received(welcome(head: 2, of: abroad), now: at(0))
        #expect(
            actions == [
                .welcomed(head: 2, timeline: abroad), .note("the timeline is \(abroad) and no more \(home)"),
                .unknown(sequence: 2, .timelineChanged), .unknown(sequence: 3, .timelineChanged),
                .unsettled(turn: 10, .timelineChanged),
            ])
    }

    @Test func numbersOnTheWireBeginAgainAndTheCallersGoOn() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = reconnect(&machine)
        _ = machine.received(welcome(of: abroad), now: at(0))
        let number = try machine.submit([1])
        let flushed = machine.flush(now: at(0))
        let answered = machine.received(receipt([1], of: abroad), now: at(0))
        #expect(number == 4)
        #expect(flushed == [sent([1], confirmed: 0, of: abroad)])
        #expect(answered == [.answered(outcome(4))])
    }

    // MARK: Refusal and end

    @Test(arguments: [PeerError.Code.schema, .misuse, .sessionExpired, .superseded])
    func aRefusalLeavesTheUnansweredUnknown(_ code: PeerError.Code) throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        let error = PeerError(code, "because")
        let actions = machine.received(Envelope(.error(error), timeline: home), now: at(0))
        let ticked = machine.ticked(now: at(100))
        #expect(actions == [.unknown(sequence: 1, .refused("because")), .disconnect, .refused(error)])
        #expect(ticked == [])
        #expect(refusal { () throws(ClientMachine.SubmitError) in try machine.submit([1]) } == .closed)
    }

    @Test func closeSaysGoodbye() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        let closed = machine.close(now: at(0))
        let again = machine.close(now: at(0))
        let deadline = machine.deadline
        #expect(closed == [.unknown(sequence: 1, .closed), send(.goodbye), .stop])
        #expect(again == [])
        #expect(deadline == nil)
    }

    @Test func closeWithoutConnectionJustStops() {
        var machine = machine()
        let closed = machine.close(now: at(0))
        #expect(closed == [.stop])
    }

    // MARK: settle and views

    @Test func aSettleRequestIsAnsweredOnce() throws {
        var machine = welcomed()
        let asked = try machine.settle(turn: 10, now: at(0))
        let waiting = machine.received(Envelope(.waiting(turn: 10, on: "1 effect"), timeline: home), now: at(0))
        let settled = machine.received(Envelope(.settled(turn: 10, dead: ["10/0"]), timeline: home), now: at(0))
        let again = machine.received(Envelope(.settled(turn: 10, dead: ["10/0"]), timeline: home), now: at(0))
        let late = machine.received(Envelope(.waiting(turn: 10, on: "1 effect"), timeline: home), now: at(0))
        #expect(asked == [send(.settle(turn: 10))])
        #expect(waiting == [.waiting(turn: 10, on: "1 effect")])
        #expect(settled == [.settled(turn: 10, dead: ["10/0"])])
        #expect(again == [])
        #expect(late == [])
    }

    @Test func aViewIsAskedForAndShown() throws {
        var machine = welcomed()
        let asked = try machine.requestView(atLeast: 12, now: at(0))
        let older = machine.received(Envelope(.view(instance: .main, turn: 11, bytes: [1]), timeline: home), now: at(0))
        let newer = machine.received(Envelope(.view(instance: .main, turn: 12, bytes: [2]), timeline: home), now: at(0))
        let other = machine.received(Envelope(.view(instance: .main, turn: 13, bytes: [3]), timeline: home), now: at(0))
        #expect(asked == [send(.viewRequest(instance: .main, atLeast: 12))])
        #expect(older == [.view(instance: .main, turn: 11, bytes: [1])])
        #expect(newer == [.view(instance: .main, turn: 12, bytes: [2])])
        #expect(other == [])
    }

    @Test func `a turn of another timeline would never come, so any view answers its request`() throws {
        var machine = welcomed()
        let asked = try machine.requestView(atLeast: 411, in: abroad, now: at(0))
        let ours = try machine.requestView(atLeast: 12, in: home, now: at(0))
        #expect(asked == [send(.viewRequest(instance: .main, atLeast: 0))])
        #expect(ours == [send(.viewRequest(instance: .main, atLeast: 12))])
    }

    @Test func requestsWaitForAConnectionAndAreRepeated() throws {
        var machine = machine()
        let early = try machine.requestView(now: at(0))
        _ = machine.ticked(now: at(0))
        let welcomed = machine.received(welcome(), now: at(0))
        _ = try machine.settle(turn: 5, now: at(0))
        _ = reconnect(&machine)
        let again = machine.received(welcome(), now: at(0))
        let requests = [send(.settle(turn: 5)), send(.viewRequest(instance: .main, atLeast: 0))]
        #expect(early == [])
        #expect(welcomed == [.welcomed(head: 9, timeline: home), send(.viewRequest(instance: .main, atLeast: 0))])
        #expect(again == [.welcomed(head: 9, timeline: home)] + requests)
    }

    @Test func aRequestWithoutAnswerIsRepeatedAfterTheSilence() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 5, now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(5.5))
        let pinged = machine.ticked(now: at(5.5))
        let due = machine.ticked(now: at(6))
        #expect(pinged == [send(.ping(0))])
        #expect(due == [send(.settle(turn: 5))])
    }

    @Test func requestsHaveALimit() throws {
        var machine = welcomed { $0.requests = 1 }
        _ = try machine.settle(turn: 5, now: at(0))
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.settle(turn: 6, now: at(0)) }
    }

    // MARK: Frames of others

    @Test func aFrameForOthersIsDropped() {
        var machine = welcomed()
        let actions = machine.received(Envelope(.credit(1), timeline: home), now: at(0))
        #expect(actions == [.note("dropped a credit, which is not for clients")])
    }

    @Test(arguments: FrameExample.all)
    func everyFrameHasItsAnswerInEveryState(_ example: FrameExample) throws {
        let frame = Envelope(example.envelope.frame, timeline: home)
        var idle = machine()
        let ignored = idle.received(frame, now: at(0))
        var busy = welcomed()
        try submit(5, to: &busy)
        _ = busy.flush(now: at(0))
        _ = try busy.settle(turn: 43, now: at(0))
        _ = busy.received(frame, now: at(0))
        var closed = welcomed()
        _ = closed.close(now: at(0))
        let late = closed.received(frame, now: at(0))
        #expect(ignored == [])
        #expect(late == [])
    }
}
