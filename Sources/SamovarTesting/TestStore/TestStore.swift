import MessagePack
public import SamovarCore
import SamovarPeers
import SamovarStore
import SamovarWire
public import Testing

/// A program in a test: the store of production with a clock that the test moves, and with the test in place of workers, clients
/// and watchers.
///
/// ```swift
/// @Test func `A slow step is counted when it is finished`() throws {
///     let store = try TestStore(Counter.self)
///     store.send(.incrementAsync) { $0.isBusy = true }
///     store.expectEffects([.addOne(to: 0)])
///     store.complete(.addOne(to: 0), with: .finished(count: 1)) {
///         $0.isBusy = false
///         $0.async = 1
///     }
///     store.expectView(Counter.ViewState(sync: "0", async: "1", status: "idle"))
///     store.finish()
/// }
/// ```
///
/// It *is* the production engine: inputs, messages, effects and the state pass the codec and a journal; labels, policies, retries,
/// limits and timers are those of the store; a worker takes each effect as soon as the store hands it out. Everything happens
/// at once, in the order in which the calls are made, on one thread. It is one worker, and a worker may offer 1,024 queues
/// and 64 capabilities: that open effects want more together is reported. A message that does not survive being encoded and decoded is
/// reported with where it came from: `accept`, `.then`, `failed`, `operated`, a subscription, or the call of the test. Of what the
/// program makes itself, each case is told of once.
///
/// **Exhaustive** by default: each call that may change the state says how, with a closure that gets the state before and makes
/// of it what is expected. At the end nothing may be left: no open effect, no dead one, no output that was not expected. Call
/// ``finish(at:)`` at the end; a store that is released without it is finished then. With `exhaustive: false` only what a closure
/// changes is compared, and leftovers are no matter. Either way, what the closure changes must be so.
///
/// What differs is reported part by part, such as `state.sites[2].up: expected true, is nil`, as an issue of the running test. Where
/// none is running it ends the process, because nobody would hear of it; see ``TestReporter``, also for XCTest.
public final class TestStore<P: Program> {
    let bench: TestBench<P>
    let isExhaustive: Bool
    let reporter: TestReporter
    let encoder = MessagePackEncoder()
    /// As the store reads what is sent to it.
    let decoder = MessagePackDecoder(lenient: true)
    /// As stores, workers and clients read what a store has written.
    let recorded = MessagePackDecoder(lenient: true, refusingUnknownFields: false)
    private let made: SourceLocation
    /// The view after each turn since the last call, in order, the same ones in a row only once.
    let seen = Recorder<P.ViewState>()
    private typealias Breach = (name: String, turn: String)
    private let breaches = Recorder<Breach>()
    private let messages = MessageCheck<P>()
    /// Whether the input of this call survives being encoded and decoded. Of one that does not, no more is told.
    private var inputIsSound = true
    /// The newest output that was expected.
    var expectedOutputs = EffectID(turn: 0, ordinal: 0)
    /// Dead effects that were expected.
    var expectedDead: Set<EffectID> = []
    var isFinished = false
    /// What is told of once, and not again at each call after it.
    private var toldProblems: Set<String> = []

    /// Starts the program on an empty journal.
    ///
    /// - Parameters:
    ///   - program: the program to test.
    ///   - seed: what it starts from.
    ///   - now: the time of the first turn.
    ///   - exhaustive: whether every change of the state must be expected, and leftovers are reported.
    ///   - limits: as in the store; a group that passes one stops it.
    ///   - gates: as in the store; `rejected` inputs are expected with ``expectRejection(of:_:at:)``.
    ///   - observers: told of each turn at once, because here each turn is on disk at once.
    ///   - reporter: where differences go.
    ///   - location: where leftovers are reported if the store is released without `finish`.
    /// - Throws: what `start` throws, in words, if the program refuses the seed.
    public init(
        _ program: P.Type = P.self, seed: P.Seed, now: Timestamp = Timestamp(microseconds: 1_000_000_000_000_000),
        exhaustive: Bool = true, limits: GroupLimits = .default, gates: [InputGate<P>] = [], observers: [TurnObserver<P>] = [],
        reporter: TestReporter = .swiftTesting, at location: SourceLocation = #_sourceLocation
    ) throws {
        let seen = seen
        let watcher = TurnObserver<P> { _, state, _ in
            P.view(state)
        } deliver: {
            TestStore.note($0, in: seen)
        }
        bench = try TestBench(
            seed: try MessagePackEncoder(canonical: true).encode(seed), now: now, limits: limits, gates: gates,
            observers: [watcher, messages.observer] + Self.guardians(breaches) + observers)
        isExhaustive = exhaustive
        self.reporter = reporter
        made = location
        Self.note(view, in: seen)
        reportMessages("the start", at: location)
        for rule in P.invariants where !rule.holds(state) { Self.note((rule.name, "the start, turn 1"), in: breaches) }
        reportBreaches("the start", at: location)
        reportOffer("the start", at: location)
        checkCodec(at: location)
    }

    /// Looks at the program's invariants after each turn.
    private static func guardians(_ breaches: Recorder<Breach>) -> [TurnObserver<P>] {
        P.invariants.map { rule in
            TurnObserver<P> { message, state, turn in
                rule.holds(state) ? nil : "turn \(turn.number), by \(ValueText.of(message))"
            } deliver: {
                TestStore.note((rule.name, $0), in: breaches)
            }
        }
    }

    /// The first turn that breaks an invariant.
    private static func note(_ breach: Breach, in breaches: Recorder<Breach>) {
        breaches.update { breaches in
            if !breaches.contains(where: { $0.name == breach.name }) { breaches.append(breach) }
        }
    }

    /// Equal ones in a row once, and the newest 10,000.
    private static func note(_ view: P.ViewState, in views: Recorder<P.ViewState>) {
        views.update { views in
            guard views.last != view else { return }
            views.append(view)
            if views.count > 10_000 { views.removeFirst() }
        }
    }

    /// Each invariant once, with the first turn that breaks it.
    private func reportBreaches(_ call: String, at location: SourceLocation) {
        for breach in breaches.takeAll() where toldProblems.insert("invariant \(breach.name)").inserted {
            report("\(call): “\(breach.name)” is broken after \(breach.turn)", at: location)
        }
    }

    /// Messages of the program that do not survive.
    private func reportMessages(_ call: String, at location: SourceLocation) {
        if bench.stop == nil { messages.look(at: P.subscriptions(state)) }
        for problem in messages.takeProblems(ofInputs: inputIsSound) { report("\(call): \(problem)", at: location) }
    }

    /// That effects wait which a worker should have. Once, though it may be so at each call after it.
    private func reportOffer(_ call: String, at location: SourceLocation) {
        guard let objection = bench.objection, toldProblems.insert("offer").inserted else { return }
        report("\(call): \(objection)", at: location)
    }

    deinit {
        if !isFinished { finish(at: made) }
    }

    // MARK: Reading

    /// The state after the newest turn.
    public var state: P.State {
        guard let state = bench.engine.current else { preconditionFailure("a store that is made has a state") }
        return state
    }

    /// What outsiders see of it.
    public var view: P.ViewState { P.view(state) }
    /// The open effects, as ``expectEffects(_:at:)`` compares them: for one that holds what a test cannot know, such as a random number.
    public var openEffects: [P.Effect] { ordered(at: made) }
    /// The time; moved by ``advance(by:expect:at:)``.
    public var now: Timestamp { bench.now }
    /// The number of the newest turn. Some turns are the store's own: turn 2 is that of the worker that joins.
    public var head: Int { bench.machine.head }

    // MARK: Sending

    /// Sends an input, which must be applied.
    ///
    /// - Parameters:
    ///   - input: what is sent.
    ///   - expect: makes of the state before what is expected after; nothing, if the state stays the same.
    ///   - location: where a difference is reported.
    public func send(
        _ input: P.Input, expect: (inout P.State) -> Void = { _ in }, at location: SourceLocation = #_sourceLocation
    ) {
        let call = "send(\(ValueText.of(input)))"
        run(call, expect, at: location) {
            guard let verdict = outcome(of: input, call, at: location), verdict != .applied else { return }
            report("\(call): \(words(for: verdict))", at: location)
        }
    }

    /// Sends what `body` sends as if it came over the network, with a key of this name: `turn.sender` has it.
    ///
    /// ```swift
    /// store.expectRefusal(of: .close, .notYours)
    /// store.sending(as: "back-office") { store.send(.close) { $0.isClosed = true } }
    /// ```
    ///
    /// The name has 1 to 32 letters, digits, `.`, `_` and `-`.
    public func sending<Failure: Error>(
        as name: String, at location: SourceLocation = #_sourceLocation, _ body: () throws(Failure) -> Void
    ) throws(Failure) {
        guard let key = KeyName(name) else { return report("sending(as:): “\(name)” is no name of a key", at: location) }
        let former = bench.sender
        bench.sit(as: key)
        defer { bench.sit(as: former) }
        try body()
    }

    /// Sends an input that the program must refuse, for this reason.
    public func expectRefusal(of input: P.Input, _ expected: P.Refusal, at location: SourceLocation = #_sourceLocation) {
        let call = "expectRefusal(of: \(ValueText.of(input)))"
        run(call, { _ in }, at: location) {
            guard let verdict = outcome(of: input, call, at: location) else { return }
            guard case .refused(let bytes) = verdict else {
                return report("\(call): expected the refusal \(ValueText.of(expected)), \(words(for: verdict))", at: location)
            }
            guard let actual = try? recorded.decode(P.Refusal.self, from: bytes) else {
                return report("\(call): \(refusal(bytes))", at: location)
            }
            let difference = Difference(expected: expected, actual: actual, named: "refusal")
            report(call, "another refusal", difference, at: location)
        }
    }

    /// Sends an input that a gate must reject, with this text: the gate's name, a colon, and its reason.
    public func expectRejection(of input: P.Input, _ expected: String, at location: SourceLocation = #_sourceLocation) {
        let call = "expectRejection(of: \(ValueText.of(input)))"
        run(call, { _ in }, at: location) {
            guard let verdict = outcome(of: input, call, at: location) else { return }
            guard case .rejected(let text) = verdict else {
                let hint = bench.gates.isEmpty ? "; this test store has no gates, see `gates:`" : ""
                return report("\(call): expected “\(expected)”, \(words(for: verdict))\(hint)", at: location)
            }
            if text != expected { report("\(call): expected “\(expected)”, is “\(text)”", at: location) }
        }
    }

    private func outcome(of input: P.Input, _ call: String, at location: SourceLocation) -> Outcome.Verdict? {
        guard let bytes = encoded(input, call, at: location) else { return nil }
        let limit = ClientMachine.Settings.standard.inputBytes
        guard bytes.count <= limit else {
            report("\(call): \(ClientMachine.SubmitError.tooLarge(bytes: bytes.count, limit: limit))", at: location)
            return nil
        }
        let outcome = bench.send(bytes)
        if outcome == nil, bench.stop == nil {
            report("\(call): was not taken: \(bench.complaint ?? "the store gave no answer")", at: location)
        }
        return outcome?.verdict
    }

    private func words(for verdict: Outcome.Verdict) -> String {
        switch verdict {
        case .applied: "was applied"
        case .refused(let bytes): "was refused: \(refusal(bytes))"
        case .rejected(let text): "was rejected: \(text)"
        }
    }

    private func refusal(_ bytes: [UInt8]) -> String {
        do {
            return ValueText.of(try recorded.decode(P.Refusal.self, from: bytes))
        } catch {
            return "a refusal that cannot be read again: \(error)"
        }
    }

    // MARK: Comparing

    /// Does something that may change the state, and compares it with what was expected.
    func run(
        _ call: String, _ expect: (inout P.State) -> Void, at location: SourceLocation, _ body: () -> Void
    ) {
        if let stop = bench.stop { return report("\(call): the store has stopped: \(stop)", at: location) }
        let before = state
        var expected = before
        expect(&expected)
        inputIsSound = true
        body()
        // One that was requeued may die again, which is to be expected anew.
        if !expectedDead.isEmpty { expectedDead.formIntersection(bench.machine.deadEffects.map(\.effect.id)) }
        reportMessages(call, at: location)
        reportBreaches(call, at: location)
        reportOffer(call, at: location)
        if let stop = bench.stop { return report("\(call): the store stops: \(stop)", at: location) }
        let change = isExhaustive ? nil : Difference(expected: before, actual: expected, named: "state")
        let difference = Difference(expected: expected, actual: state, named: "state", within: change)
        report(call, "the state is not as expected", difference, at: location)
        checkCodec(at: location)
    }

    /// The state that would come back from a snapshot.
    private func checkCodec(at location: SourceLocation) {
        do {
            let bytes = try bench.machine.stateBytes()
            let loss = try Difference.loss(of: state, named: "state") { try recorded.decode(P.State.self, from: bytes) }
            guard let loss, toldProblems.insert("state").inserted else { return }
            report("the codec", "the state does not survive being encoded and decoded", loss, at: location)
        } catch {
            guard toldProblems.insert("state").inserted else { return }
            report("the codec: the state cannot be encoded and decoded: \(error)", at: location)
        }
    }

    /// A value as it goes over the wire; nil, with a report, if it does not.
    func encoded<Value: Portable>(_ value: Value, _ call: String, at location: SourceLocation) -> [UInt8]? {
        do {
            let bytes = try encoder.encode(value)
            let loss = try Difference.loss(of: value, named: "value") { try decoder.decode(Value.self, from: bytes) }
            guard let loss else { return bytes }
            inputIsSound = false
            report(call, "\(ValueText.of(value)) does not survive being encoded and decoded", loss, at: location)
            return bytes
        } catch {
            report("\(call): \(ValueText.of(value)) cannot be encoded and decoded: \(error)", at: location)
            return nil
        }
    }

    /// A value that the store has; nil, with a report, if it cannot be read again.
    func decoded<Value: Decodable>(
        _ bytes: some Collection<UInt8>, _ name: @autoclosure () -> String, at location: SourceLocation
    ) -> Value? {
        do {
            return try recorded.decode(Value.self, from: bytes)
        } catch {
            report("\(name()) does not survive being encoded and decoded: \(error)", at: location)
            return nil
        }
    }

    func report(_ call: String, _ what: String, _ difference: Difference, at location: SourceLocation) {
        guard !difference.isEmpty else { return }
        report((["\(call): \(what)"] + difference.lines.map { "  \($0)" }).joined(separator: "\n"), at: location)
    }

    func report(_ text: String, at location: SourceLocation) {
        reporter.report(text, location)
    }
}

extension TestStore where P.Seed == NoSeed {
    /// Starts a program that needs no seed.
    public convenience init(
        _ program: P.Type = P.self, now: Timestamp = Timestamp(microseconds: 1_000_000_000_000_000), exhaustive: Bool = true,
        limits: GroupLimits = .default, gates: [InputGate<P>] = [], observers: [TurnObserver<P>] = [],
        reporter: TestReporter = .swiftTesting, at location: SourceLocation = #_sourceLocation
    ) throws {
        try self.init(
            program, seed: NoSeed(), now: now, exhaustive: exhaustive, limits: limits, gates: gates, observers: observers,
            reporter: reporter, at: location)
    }
}
