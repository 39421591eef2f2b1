import MachineSupport
import SamovarCore
import Testing

@testable import SamovarPeers
@testable import SamovarWire

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
        witness: Int, proof: UInt64? = nil, epoch: Int, of timeline: Timeline = home
    ) -> ClientMachine.Action {
        let hello = Hello(
            role: .client(session: Self.session), schema: counter, witness: witness, proof: proof, takesProofs: true,
            epoch: epoch)
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

    @Test func `It connects and says hello`() {
        var machine = machine()
        let opened = machine.ticked(now: at(0))
        let welcomed = machine.received(welcome(), now: at(0))
        #expect(opened == [.connect, hello(witness: 0, epoch: 1, of: .zero)])
        #expect(welcomed == [.welcomed(head: 9, timeline: home)])
    }

    @Test func `Inputs are numbered and sent together`() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        let flushed = machine.flush(now: at(0))
        let again = machine.flush(now: at(0))
        #expect(flushed == [sent([1, 2, 3], confirmed: 0)])
        #expect(again == [])
    }

    @Test func `Inputs wait for a connection`() throws {
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

    @Test func `Credit is kept`() throws {
        var machine = welcomed(credit: 2)
        try submit(4, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1], credit: 3), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1, 2], confirmed: 0)])
        #expect(second == [sent([3], confirmed: 1)])
    }

    @Test func `Without credit it confirms by ping`() throws {
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

    @Test func `The window is kept`() throws {
        var machine = welcomed { $0.window = 2 }
        try submit(3, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1, 2], confirmed: 0)])
        #expect(second == [sent([3], confirmed: 1)])
    }

    @Test func `The window of bytes is kept but one input always fits`() throws {
        var machine = welcomed { $0.windowBytes = 10 }
        try submit(2, to: &machine)
        let first = machine.flush(now: at(0))
        _ = machine.received(receipt([1]), now: at(0))
        let second = machine.flush(now: at(0))
        #expect(first == [sent([1], confirmed: 0)])
        #expect(second == [sent([2], confirmed: 1)])
    }

    @Test func `A frame has a limit`() throws {
        var machine = welcomed { $0.frameBytes = 70 }
        try submit(3, to: &machine)
        let flushed = machine.flush(now: at(0))
        #expect(flushed == [sent([1, 2], confirmed: 0), sent([3], confirmed: 0)])
    }

    @Test func `A full backlog refuses`() throws {
        var machine = machine { $0.backlog = 2 }
        try submit(2, to: &machine)
        #expect(refusal { () throws(ClientMachine.SubmitError) in try machine.submit([1]) } == .backlogFull)
        var bytes = self.machine { $0.backlogBytes = 40 }
        _ = try bytes.submit([1])
        #expect(refusal { () throws(ClientMachine.SubmitError) in try bytes.submit([1, 2, 3, 4, 5, 6, 7, 8]) } == .backlogFull)
    }

    @Test func `An input that is too large is refused`() {
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

    @Test func `What is as large as its limit is taken`() throws {
        var machine = machine {
            $0.inputBytes = 3
            $0.backlogBytes = 40
        }
        #expect(try machine.submit([1, 2, 3]) == 1)
        #expect(try machine.submit([]) == 2 && machine.unanswered == 2)
        #expect(refusal { () throws(ClientMachine.SubmitError) in try machine.submit([]) } == .backlogFull)
        // 35 bytes are taken.
        var bytes = self.machine { $0.backlogBytes = 40 }
        _ = try bytes.submit([1, 2, 3])
        #expect(try bytes.submit([1, 2, 3, 4, 5]) == 2)
    }

    @Test func `A client that outlives nothing has nothing to write, and needs no word that it is written`() throws {
        var machine = welcomed()
        machine.saved()
        try submit(1, to: &machine)
        #expect(machine.takeEntries() == [])
        #expect(machine.flush(now: at(0)) == [sent([1], confirmed: 0)])
        _ = machine.received(receipt([1]), now: at(0))
        machine.seen(1)
        #expect(machine.takeEntries() == [] && machine.open == [])
        #expect(machine.ticked(now: at(1)) == [send(.ping(1))])
        #expect(machine.close() == [send(.goodbye), .stop])
    }

    @Test func `It says why the store takes nothing, until the store has welcomed it`() {
        var machine = welcomed()
        #expect(machine.obstacle == nil)
        _ = machine.received(Envelope(.error(PeerError(.resync, "1 is next", expected: 1)), timeline: home), now: at(0))
        #expect(machine.obstacle == nil)
        let error = Envelope(.error(PeerError(.retryLater, "too many clients", wait: .seconds(30))), timeline: home)
        _ = machine.received(error, now: at(0))
        #expect(machine.obstacle == "too many clients")
        _ = machine.ticked(now: at(30))
        _ = machine.received(welcome(), now: at(30))
        #expect(machine.obstacle == nil)
    }

    @Test func `Who is sent away at HELLO keeps no connection until it is welcomed, and who was in may hear views`() {
        let error = Envelope(.error(PeerError(.retryLater, "too many clients", wait: .seconds(30))), timeline: home)
        var machine = welcomed()
        _ = machine.received(error, now: at(0))
        #expect(machine.isSentAway == false)
        _ = machine.ticked(now: at(30))
        _ = machine.received(error, now: at(30))
        #expect(machine.isSentAway == true)
        _ = machine.ticked(now: at(60))
        #expect(machine.isSentAway == true)
        _ = machine.received(welcome(), now: at(60))
        #expect(machine.isSentAway == false)
    }

    @Test func `It is to be woken when what it sent or asked has to be repeated`() throws {
        var machine = welcomed()
        #expect(machine.deadline == at(1), "a PING")
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(5.5))
        _ = machine.ticked(now: at(5.5))
        #expect(machine.deadline == at(6), "the input")
        _ = machine.received(receipt([1]), now: at(5.6))
        #expect(machine.deadline == at(6.5), "another PING")
        var asking = welcomed()
        _ = try asking.settle(turn: 5, now: at(0))
        _ = asking.received(Envelope(.pong(100), timeline: home), now: at(5.5))
        _ = asking.ticked(now: at(5.5))
        #expect(asking.deadline == at(6), "the request")
    }

    @Test func `A client without a connection repeats nothing, and wakes for the next attempt alone`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        _ = try machine.settle(turn: 5, now: at(0))
        let error = Envelope(.error(PeerError(.retryLater, "full", wait: .seconds(30))), timeline: home)
        _ = machine.received(error, now: at(1))
        #expect(machine.deadline == at(31))
        #expect(machine.ticked(now: at(20)) == [] && machine.flush(now: at(20)) == [])
    }

    @Test func `A client that has to say HELLO again counts its silence from the next WELCOME`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        _ = try machine.settle(turn: 5, now: at(0))
        let greeted = machine.received(Envelope(.error(PeerError(.unknownPeer, "who?")), timeline: home), now: at(5.5))
        #expect(greeted == [hello(witness: 9, epoch: 2)])
        #expect(machine.deadline == at(6.5), "nothing is to be repeated before")
        #expect(machine.ticked(now: at(6)) == [] && machine.deadline == at(6.5))
        _ = machine.received(welcome(), now: at(6))
        #expect(machine.flush(now: at(6)) == [sent([1], confirmed: 0)])
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(11))
        #expect(machine.ticked(now: at(11)) == [send(.ping(0))] && machine.flush(now: at(11)) == [])
        #expect(machine.ticked(now: at(12)).contains(send(.settle(turn: 5))))
        #expect(machine.flush(now: at(12)) == [sent([1], confirmed: 0)])
    }

    @Test func `After each WELCOME the store is told again what is confirmed, if its credit blocks an input`() throws {
        var machine = welcomed(credit: 1)
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1], credit: 1), now: at(0))
        #expect(machine.flush(now: at(0)) == [send(.ping(1))])
        _ = reconnect(&machine)
        _ = machine.received(welcome(expected: 2, credit: 1), now: at(0))
        #expect(machine.flush(now: at(0)) == [send(.ping(1))])
        #expect(machine.flush(now: at(0)) == [])
    }

    @Test func `The credit of a new connection counts, though it is less than before`() throws {
        var machine = welcomed(credit: 100)
        _ = machine.received(Envelope(.pong(50), timeline: home), now: at(0))
        try submit(2, to: &machine)
        #expect(machine.flush(now: at(0)) == [sent([1, 2], confirmed: 0)], "a late PONG takes nothing back")
        _ = reconnect(&machine)
        _ = machine.received(welcome(credit: 1), now: at(0))
        #expect(machine.flush(now: at(0)) == [sent([1], confirmed: 0)])
    }

    @Test func `HELLO witnesses the newest turn of a view, a page and WELCOME`() throws {
        var machine = welcomed()
        _ = try machine.requestView(now: at(0))
        _ = machine.received(Envelope(.view(instance: .main, turn: 30, bytes: [1]), timeline: home), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 30, epoch: 2)])
        _ = machine.received(welcome(head: 29), now: at(0))
        let views = ViewPage(after: 3, views: [TurnView(turn: 31, bytes: [0xc0]), TurnView(turn: 33, bytes: [0xc0])])
        _ = machine.received(Envelope(.views(views), timeline: home), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 33, epoch: 3)])
        _ = machine.received(welcome(head: 34), now: at(0))
        let outputs = [EmittedOutput(id: EffectID(turn: 35, ordinal: 0), bytes: [0xc0])]
        _ = machine.received(
            Envelope(.outputs(OutputPage(after: EffectID(turn: 1, ordinal: 0), outputs: outputs)), timeline: home), now: at(0))
        _ = machine.received(Envelope(.views(ViewPage(after: 3, views: [])), timeline: home), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 35, epoch: 4)])
        _ = machine.received(welcome(head: 36), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 36, epoch: 5)])
    }

    // MARK: RECEIPT

    @Test func `Each outcome is told once`() throws {
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

    @Test func `Outcomes are confirmed without holes`() throws {
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
    func `The outcome of no input is ignored`(_ sequence: Int) throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0))
        let actions = machine.received(receipt([sequence], turn: .max, credit: .min), now: at(0))
        #expect(actions == [])
    }

    // MARK: Proofs

    @Test func `Hello shows the newest proof, and what it does not cover is left out`() throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let told = Envelope(.receipt([outcome(1, turn: 12)], credit: 100), timeline: home, proof: TurnProof(turn: 12, code: 7))
        _ = machine.received(told, now: at(0))
        _ = machine.received(receipt([2], turn: 13), now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 11, code: 6)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 12, proof: 7, epoch: 2)])
    }

    @Test func `A pong brings the proof of what a quiet client was told`() {
        var machine = welcomed()
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 40, code: 9)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 40, proof: 9, epoch: 2)])
    }

    @Test func `It answers PING`() {
        var machine = welcomed()
        #expect(machine.received(Envelope(.ping(3), timeline: home), now: at(0.1)) == [send(.pong(3))])
    }

    /// The answers of requests have no proof, and an input may wait for its outcome.
    @Test func `A client says PING each second, whatever else it says`() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 3, now: at(0.9))
        try submit(1, to: &machine)
        _ = machine.flush(now: at(0.9))
        #expect(machine.ticked(now: at(1)) == [send(.ping(0))])
    }

    @Test func `A proof of another timeline is forgotten with it`() {
        var machine = welcomed()
        _ = machine.received(Envelope(.pong(100), timeline: home, proof: TurnProof(turn: 40, code: 9)), now: at(0))
        _ = reconnect(&machine)
        let welcome = Welcome(schema: counter, expected: 1, credit: 100, head: 3, silence: .seconds(6))
        _ = machine.received(
            Envelope(.welcome(welcome), timeline: abroad, proof: TurnProof(turn: 3, code: 5)), now: at(0))
        #expect(reconnect(&machine) == [.connect, hello(witness: 3, proof: 5, epoch: 3, of: abroad)])
    }

    // MARK: Sending again

    @Test func `After welcome it goes back to the oldest unanswered`() throws {
        var machine = welcomed()
        try submit(4, to: &machine)
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1, 3], turn: 12), now: at(0))
        let opened = reconnect(&machine)
        _ = machine.received(welcome(expected: 4), now: at(0))
        let flushed = machine.flush(now: at(0))
        #expect(opened == [.connect, hello(witness: 12, epoch: 2)])
        // 2 was taken, and its outcome lost: the store repeats it.
        #expect(flushed == [sent([2, 4], confirmed: 1)])
    }

    @Test func `Resync goes back once`() throws {
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

    @Test func `Another RESYNC to the same number counts once an outcome has come, or the silence is over`() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        _ = machine.flush(now: at(0))
        let error = Envelope(.error(PeerError(.resync, "2 is next", expected: 2)), timeline: home)
        _ = machine.received(error, now: at(0))
        #expect(machine.flush(now: at(0)) == [sent([2, 3], confirmed: 0)])
        _ = machine.received(receipt([1]), now: at(0))
        _ = machine.received(error, now: at(0))
        #expect(machine.flush(now: at(0)) == [sent([2, 3], confirmed: 1)])
        // What is known already is no outcome.
        _ = machine.received(receipt([1]), now: at(0))
        _ = machine.received(error, now: at(0))
        #expect(machine.flush(now: at(0)) == [])
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(5))
        _ = machine.ticked(now: at(6))
        #expect(machine.flush(now: at(6)) == [sent([2, 3], confirmed: 1)])
        _ = machine.received(error, now: at(6))
        #expect(machine.flush(now: at(6)) == [sent([2, 3], confirmed: 1)])
    }

    @Test func `A store that expects the next new input has taken all others`() throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let error = Envelope(.error(PeerError(.resync, "3 is next", expected: 3)), timeline: home)
        #expect(machine.received(error, now: at(0)) == [] && machine.flush(now: at(0)) == [])
        _ = reconnect(&machine)
        #expect(machine.received(welcome(expected: 3), now: at(0)) == [.welcomed(head: 9, timeline: home)])
        #expect(machine.flush(now: at(0)) == [sent([1, 2], confirmed: 0)], "and repeats their outcomes")
    }

    @Test func `Without any outcome it goes back after the silence`() throws {
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

    @Test func `A store that forgot the session ends it`() throws {
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
    func `An impossible number ends the session`(_ expected: Int) throws {
        var machine = welcomed()
        try submit(2, to: &machine)
        _ = machine.flush(now: at(0))
        let error = Envelope(.error(PeerError(.resync, "", expected: expected)), timeline: home)
        let actions = machine.received(error, now: at(0))
        let state = machine.state
        #expect(actions.count == 4)
        #expect(state == .closed)
        #expect(machine.ticked(now: at(60)) == [], "it does not connect again")
        #expect(machine.received(welcome(), now: at(60)).allSatisfy { if case .note = $0 { true } else { false } })
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

    @Test func `Another timeline leaves the unanswered unknown`() throws {
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

    @Test func `Numbers on the wire begin again and the callers go on`() throws {
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

    @Test func `Where a journal goes on from another one, so do the numbers of the wire`() throws {
        for expected in [.min, 0, 1, 2, 3, 4, 5] {
            var machine = welcomed()
            try submit(3, to: &machine)
            _ = machine.flush(now: at(0))
            _ = machine.received(receipt([1, 2]), now: at(0))
            _ = reconnect(&machine)
            let actions = machine.received(welcome(expected: expected, of: abroad), now: at(0))
            guard (1...4).contains(expected) else {
                let text = "the store expects input \(expected) of this session, which is at \(expected > 4 ? 4 : 1)"
                #expect(actions.last == .refused(PeerError(.sessionExpired, text)), "somebody else has used its session")
                continue
            }
            #expect(actions.last == .unknown(sequence: 3, .timelineChanged))
            #expect(try machine.submit([9]) == 4)
            let submission = Submission(sequence: expected, input: [9])
            #expect(
                machine.flush(now: at(0)) == [
                    .send(Envelope(.send([submission], confirmed: expected - 1), timeline: abroad))
                ])
            #expect(machine.received(receipt([expected], of: abroad), now: at(0)) == [.answered(outcome(4))])
            #expect(machine.isOfEarlierTimeline(3) == true && machine.isOfEarlierTimeline(4) == false)
        }
    }

    @Test func `Who is sent away for its inputs asks for the rest all the same`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = try machine.settle(turn: 5, now: at(0))
        _ = machine.flush(now: at(0))
        let full = Envelope(.error(PeerError(.retryLater, "4 effects are open", wait: .seconds(1))), timeline: home)
        var asked: [Double] = []
        for second in stride(from: 0.0, through: 12, by: 2) {
            _ = machine.received(full, now: at(second))
            _ = machine.ticked(now: at(second + 1))
            let actions = machine.received(welcome(), now: at(second + 1))
            if actions.contains(send(.settle(turn: 5))) { asked.append(second) }
            #expect(machine.flush(now: at(second + 1)) == [sent([1], confirmed: 0)])
        }
        #expect(asked == [2, 6, 10])
    }

    @Test func `What the store says of a turn that nobody waits for any more is said of no view`() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 5, now: at(0))
        _ = try machine.requestView(now: at(0))
        machine.forget(settlementOf: 5)
        let waiting = Envelope(.waiting(turn: 5, on: "1 effect running"), timeline: home)
        #expect(machine.received(waiting, now: at(1)) == [])
        let off = Envelope(.waiting(turn: 9, on: "`view` has trapped"), timeline: home)
        #expect(machine.received(off, now: at(1)) == [.noView("`view` has trapped")])
        _ = try machine.settle(turn: 5, now: at(2))
        #expect(machine.received(waiting, now: at(3)) == [.waiting(turn: 5, on: "1 effect running")])
    }

    @Test func `A turn that was given up before it was asked for takes no answer from a view`() throws {
        var machine = welcomed()
        _ = machine.disconnected(now: at(1))
        _ = machine.ticked(now: at(2))
        _ = try machine.settle(turn: 9, now: at(2))
        machine.forget(settlementOf: 9)
        _ = machine.received(welcome(), now: at(2))
        _ = try machine.requestView(now: at(2))
        let off = Envelope(.waiting(turn: 9, on: "`view` has trapped"), timeline: home)
        #expect(machine.received(off, now: at(3)) == [.noView("`view` has trapped")])
    }

    @Test func `On another connection the store knows nothing of that turn, and what it says then is said of the view`() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 9, now: at(0))
        machine.forget(settlementOf: 9)
        _ = reconnect(&machine)
        _ = machine.received(welcome(), now: at(0))
        _ = try machine.requestView(now: at(0))
        let off = Envelope(.waiting(turn: 9, on: "`view` has trapped"), timeline: home)
        #expect(machine.received(off, now: at(0)) == [.noView("`view` has trapped")])
    }

    @Test func `Who was sent away for a request hears of its inputs before it asks again`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        _ = try machine.settle(turn: 5, now: at(0))
        _ = machine.flush(now: at(0))
        let full = Envelope(.error(PeerError(.retryLater, "too many requests wait", wait: .seconds(1))), timeline: home)
        for second in [0.0, 3, 6] {
            #expect(machine.received(full, now: at(second)).contains(.disconnect))
            #expect(machine.ticked(now: at(second + 1)).contains(.connect))
            _ = machine.received(welcome(), now: at(second + 1))
            #expect(machine.flush(now: at(second + 1)) == [sent([1], confirmed: 0)])
            #expect(machine.ticked(now: at(second + 1.9)) == [], "the store has time to answer")
            #expect(machine.ticked(now: at(second + 2)).contains(send(.settle(turn: 5))))
        }
        #expect(machine.received(receipt([1]), now: at(8)) == [.answered(outcome(1))])
        _ = machine.received(full, now: at(9))
        _ = machine.ticked(now: at(10))
        #expect(machine.received(welcome(expected: 2), now: at(10)).contains(send(.settle(turn: 5))), "nothing else waits")
    }

    @Test func `What was confirmed and asked in one timeline is nothing in the next`() throws {
        var machine = welcomed()
        try submit(3, to: &machine)
        #expect(machine.isOfEarlierTimeline(1) == false, "there was none")
        _ = machine.flush(now: at(0))
        _ = machine.received(receipt([1, 2], turn: 40), now: at(0))
        _ = reconnect(&machine)
        _ = machine.received(welcome(credit: 1, head: 2, of: abroad), now: at(0))
        #expect(machine.open == [] && machine.submitted == 3 && machine.unanswered == 0)
        let first = try machine.submit([1])
        let second = try machine.submit([2])
        #expect(first == 4 && second == 5 && machine.open == [4, 5])
        #expect(machine.isOfEarlierTimeline(3) == true && machine.isOfEarlierTimeline(4) == false)
        #expect(machine.flush(now: at(0)) == [sent([1], confirmed: 0, of: abroad)])
        _ = machine.received(receipt([1], turn: 3, credit: 1, of: abroad), now: at(0))
        #expect(machine.flush(now: at(0)) == [.send(Envelope(.ping(1), timeline: abroad))])
        #expect(reconnect(&machine) == [.connect, hello(witness: 3, epoch: 3, of: abroad)])
        _ = machine.close()
        #expect(machine.isOfEarlierTimeline(3) == true && machine.isOfEarlierTimeline(5) == false, "the end changes no timeline")
    }

    // MARK: Refusal and end

    @Test func `Whoever has ended has no more to do, and its numbers stay`() throws {
        for isRefused in [false, true] {
            var machine = welcomed()
            try submit(2, to: &machine)
            _ = machine.flush(now: at(0))
            _ = try machine.settle(turn: 5, now: at(0))
            _ = try machine.requestView(now: at(0))
            let error = Envelope(.error(PeerError(.superseded, "two")), timeline: home)
            let end = isRefused ? machine.received(error, now: at(1)) : machine.close()
            #expect(end.contains(.unsettled(turn: 5, isRefused ? .refused("two") : .closed)))
            #expect(machine.deadline == nil && machine.unanswered == 0 && machine.open == [] && machine.submitted == 2)
            #expect(machine.ticked(now: at(100)) == [] && machine.flush(now: at(100)) == [])
            #expect(machine.isOfEarlierTimeline(2) == false)
            #expect(throws: ClientMachine.SubmitError.closed) { try machine.settle(turn: 6, now: at(2)) }
            #expect(throws: ClientMachine.SubmitError.closed) { try machine.requestView(now: at(2)) }
        }
    }

    @Test(arguments: [PeerError.Code.schema, .misuse, .sessionExpired, .superseded])
    func `A refusal leaves the unanswered unknown`(_ code: PeerError.Code) throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        let error = PeerError(code, "because")
        let actions = machine.received(Envelope(.error(error), timeline: home), now: at(0))
        let ticked = machine.ticked(now: at(100))
        #expect(actions == [.unknown(sequence: 1, .refused("because")), .disconnect, .refused(error)])
        #expect(ticked == [])
        #expect(refusal { () throws(ClientMachine.SubmitError) in try machine.submit([1]) } == .closed)
    }

    @Test func `Close says goodbye`() throws {
        var machine = welcomed()
        try submit(1, to: &machine)
        let closed = machine.close()
        let again = machine.close()
        let deadline = machine.deadline
        #expect(closed == [.unknown(sequence: 1, .closed), send(.goodbye), .stop])
        #expect(again == [])
        #expect(deadline == nil)
    }

    @Test func `Close without connection just stops`() {
        var machine = machine()
        let closed = machine.close()
        #expect(closed == [.stop])
    }

    // MARK: settle and views

    @Test func `A settle request is answered once`() throws {
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

    @Test func `A view is asked for and shown`() throws {
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

    @Test func `A turn of another timeline would never come, so any view answers its request`() throws {
        var machine = welcomed()
        let asked = try machine.requestView(atLeast: 411, in: abroad, now: at(0))
        let any = machine.received(Envelope(.view(instance: .main, turn: 9, bytes: [1]), timeline: home), now: at(0))
        let ours = try machine.requestView(atLeast: 12, in: home, now: at(0))
        #expect(asked == [send(.viewRequest(instance: .main, atLeast: 0))])
        #expect(any == [.view(instance: .main, turn: 9, bytes: [1])])
        #expect(ours == [send(.viewRequest(instance: .main, atLeast: 12))])
    }

    @Test func `A view that is there does not wait for a newer one that is asked for too`() throws {
        func request(_ turn: Int) -> ClientMachine.Action { send(.viewRequest(instance: .main, atLeast: turn)) }
        var machine = welcomed()
        let later = try machine.requestView(atLeast: 900, now: at(0))
        let current = try machine.requestView(now: at(0))
        let middle = try machine.requestView(atLeast: 12, now: at(0))
        #expect(later == [request(900)])
        #expect(current == [request(0)])
        #expect(middle == [request(0)], "the store would take another one in its place")
        _ = reconnect(&machine)
        #expect(machine.received(welcome(), now: at(0)) == [.welcomed(head: 9, timeline: home), request(0)])
        let steps: [(turn: Int, next: [ClientMachine.Action])] = [(9, [request(12)]), (11, []), (12, [request(900)]), (900, [])]
        for (turn, next) in steps {
            let actions = machine.received(Envelope(.view(instance: .main, turn: turn, bytes: [1]), timeline: home), now: at(0))
            #expect(actions == [.view(instance: .main, turn: turn, bytes: [1])] + next)
        }
        let late = machine.received(Envelope(.view(instance: .main, turn: 901, bytes: [1]), timeline: home), now: at(0))
        #expect(late == [])
    }

    @Test func `When nobody waits any more for the view that was asked for, the next one is asked for at once`() throws {
        func request(_ turn: Int) -> ClientMachine.Action { send(.viewRequest(instance: .main, atLeast: turn)) }
        var machine = welcomed()
        for turn in [12, 500, 900] { _ = try machine.requestView(atLeast: turn, now: at(0)) }
        #expect(machine.forget(viewOf: .main, atLeast: 500, now: at(1)) == [], "the store does not know of it yet")
        #expect(machine.forget(viewOf: .main, atLeast: 12, now: at(1)) == [request(900)])
        #expect(machine.forget(viewOf: .main, atLeast: 900, now: at(1)) == [])
        let view = Envelope(.view(instance: .main, turn: 900, bytes: [1]), timeline: home)
        #expect(machine.received(view, now: at(2)) == [])
    }

    @Test func `Requests wait for a connection and are repeated`() throws {
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

    @Test func `A request without answer is repeated after the silence`() throws {
        var machine = welcomed()
        _ = try machine.settle(turn: 5, now: at(0))
        _ = machine.received(Envelope(.pong(100), timeline: home), now: at(5.5))
        let pinged = machine.ticked(now: at(5.5))
        let due = machine.ticked(now: at(6))
        #expect(pinged == [send(.ping(0))])
        #expect(due == [send(.settle(turn: 5))])
    }

    @Test func `Who waits for a view is told why there is none, and nobody else is`() throws {
        var machine = welcomed()
        let waiting = Envelope(.waiting(turn: 0, on: "views are turned off"), timeline: home)
        #expect(machine.received(waiting, now: at(0)) == [])
        _ = try machine.requestView(now: at(0))
        #expect(machine.received(waiting, now: at(0)) == [.noView("views are turned off")])
        _ = try machine.settle(turn: 0, now: at(0))
        #expect(machine.received(waiting, now: at(0)) == [.waiting(turn: 0, on: "views are turned off")])
    }

    @Test func `Requests have a limit`() throws {
        var machine = welcomed { $0.requests = 1 }
        _ = try machine.settle(turn: 5, now: at(0))
        #expect(throws: ClientMachine.SubmitError.backlogFull) { try machine.settle(turn: 6, now: at(0)) }
    }

    // MARK: Frames of others

    @Test func `A frame for others is dropped`() {
        var machine = welcomed()
        let actions = machine.received(Envelope(.credit(1), timeline: home), now: at(0))
        #expect(actions == [.note("dropped a credit, which is not for clients")])
    }

    @Test(arguments: FrameExample.all)
    func `Every frame has its answer in every state`(_ example: FrameExample) throws {
        let frame = Envelope(example.envelope.frame, timeline: home)
        var idle = machine()
        let ignored = idle.received(frame, now: at(0))
        var busy = welcomed()
        try submit(5, to: &busy)
        _ = busy.flush(now: at(0))
        _ = try busy.settle(turn: 43, now: at(0))
        _ = busy.received(frame, now: at(0))
        var closed = welcomed()
        _ = closed.close()
        let late = closed.received(frame, now: at(0))
        #expect(ignored == [])
        #expect(late == [])
    }
}
