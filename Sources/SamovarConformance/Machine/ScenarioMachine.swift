public import MessagePack
public import SamovarCore

/// Plays one scenario to one peer, without a socket and a clock: what the peer does and the time go in, what the store does comes out, and
/// in the end a verdict.
///
/// Each frame goes three ways. It is held against what is demanded of all frames, whatever the scenario; the store deals with it as a
/// store does, but for what the scenario has told it to leave; and the step that waits looks at it. The first fault ends the scenario.
public struct ScenarioMachine {
    public enum Action: Equatable, Sendable {
        /// To the peer behind this route, at its listener.
        case send([[UInt8]], to: Route)
        /// By the view listener; the topic is the first part.
        case publish([[UInt8]])
        /// A line for the standard input of the peer.
        case write(String)
        /// There will be no more lines.
        case closeInput
        /// SIGTERM.
        case terminate
    }

    public let scenario: Scenario
    public private(set) var verdict: Verdict?
    private let slack: Duration
    private var stage: Stage
    /// The step that waits, and since when.
    private var place = 0
    private var since: Timestamp

    /// How long a peer may take to start, to which no rule sets a time: many that start at once take long on a small machine.
    private static let start = Duration.seconds(30)

    /// - Parameter slack: what a busy machine may be late.
    public init(_ scenario: Scenario, as role: Subject, slack: Duration = .seconds(2), now: Timestamp) {
        self.scenario = scenario
        self.slack = slack
        stage = Stage(role, now: now)
        since = now
        advance()
    }

    /// When `ticked` has to be called at the latest; nil when it is over.
    public var deadline: Timestamp? {
        guard verdict == nil else { return nil }
        switch scenario.steps[place].action {
        case .act: return since
        case .expect(_, let within, _), .until(let within, _): return since + within + allowance
        case .quiet(let time, _): return since + time
        }
    }

    private var allowance: Duration { slack + (stage.hasMet ? .zero : Self.start) }

    /// What is to be done since the last call.
    public mutating func takeActions() -> [Action] {
        defer { stage.actions.removeAll() }
        return stage.actions
    }

    /// A message came to a listener.
    public mutating func received(_ parts: [[UInt8]], from route: Route, now: Timestamp) {
        guard verdict == nil else { return }
        meet(now)
        let frame: RawFrame
        do throws(Malformed) {
            frame = try RawFrame(parts: parts)
            if let reason = frame.malformation { throw Malformed(reason) }
        } catch {
            return fail(Fault(rule: "Malformed", expected: "a well-formed frame", seen: error.reason, parts: parts))
        }
        do {
            try stage.take(frame, from: route)
        } catch {
            return fail(Fault(rule: error.rule, expected: error.expected, seen: error.seen, parts: parts))
        }
        happened(.frame(frame, route))
    }

    /// The peer has written a line; nil if it is no JSON.
    public mutating func printed(_ line: Value?, now: Timestamp) {
        guard verdict == nil else { return }
        stage.now = now
        guard let line else {
            return fail(Fault(rule: "Output", expected: "lines of JSON on standard output", seen: "a line that is none"))
        }
        stage.lines.append(line)
        happened(.printed(line))
    }

    /// The peer has ended: its exit code, or the signal that ended it as a negative number.
    public mutating func exited(_ code: Int32, now: Timestamp) {
        guard verdict == nil else { return }
        stage.now = now
        guard stage.mayExit, code >= 0 else {
            let how = code < 0 ? "was ended by signal \(-code)" : "ended with exit code \(code)"
            let expected = stage.mayExit ? "an end in order" : what.isEmpty ? "that it goes on" : what
            return fail(Fault(rule: scenario.rule, expected: expected, seen: "the process \(how)"))
        }
        stage.exitCode = code
        happened(.exited(code))
    }

    /// A topic was asked for at the view listener.
    public mutating func subscribed(_ topic: [UInt8], now: Timestamp) {
        guard verdict == nil else { return }
        meet(now)
        happened(.subscribed(topic))
    }

    /// Something is heard of the peer. With the first of it the peer has started, and the step that waits begins: what else that demands has
    /// its whole time from here on, however long the start took.
    private mutating func meet(_ now: Timestamp) {
        stage.now = now
        if !stage.hasMet { since = now }
        stage.hasMet = true
    }

    public mutating func ticked(now: Timestamp) {
        guard let deadline, now >= deadline else { return }
        stage.now = now
        switch scenario.steps[place].action {
        case .act: break
        case .quiet: next()
        case .expect, .until:
            let time = seconds(now - since)
            fail(Fault(rule: scenario.rule, expected: what, seen: "nothing of that for \(time); last came \(stage.last)"))
        }
        advance()
    }

    // MARK: Steps

    private var what: String { scenario.steps[place].what }

    private mutating func happened(_ event: Event) {
        stage.last = event.text
        switch scenario.steps[place].action {
        case .act, .until: break
        case .expect(let after, _, let judge):
            judged(judge(&stage, event), event)
            if verdict == nil, hasMetStep {
                let time = stage.now - since
                if time < after {
                    let seen = "\(event.text), after \(seconds(time))"
                    fail(
                        Fault(
                            rule: scenario.rule, expected: "\(what), not before \(seconds(after))", seen: seen, parts: parts(event))
                    )
                } else {
                    next()
                }
            }
        case .quiet(_, let judge): judged(judge(&stage, event), event)
        }
        hasMetStep = false
        advance()
    }

    private var hasMetStep = false

    private mutating func judged(_ answer: Step.Answer, _ event: Event) {
        switch answer {
        case .other: break
        case .met: hasMetStep = true
        case .broken(let expected):
            fail(Fault(rule: scenario.rule, expected: expected, seen: event.text, parts: parts(event)))
        }
    }

    private func parts(_ event: Event) -> [[UInt8]] { event.frame?.parts ?? [] }

    /// Does what needs no waiting.
    private mutating func advance() {
        while verdict == nil {
            guard place < scenario.steps.count else {
                verdict = .held
                return
            }
            switch scenario.steps[place].action {
            case .act(let body):
                body(&stage)
                next()
                if let fault = stage.fault { fail(fault) }
            case .until(_, let isTrue):
                guard isTrue(stage) else { return }
                next()
            case .expect, .quiet: return
            }
        }
    }

    private mutating func next() {
        place += 1
        since = stage.now
    }

    private mutating func fail(_ fault: Fault) {
        verdict = .broken(fault)
    }
}

func seconds(_ duration: Duration) -> String {
    let tenths = (duration.microseconds + 50_000) / 100_000
    return duration < .milliseconds(100) ? "\(duration.microseconds / 1_000) ms" : "\(tenths / 10).\(tenths % 10) s"
}
