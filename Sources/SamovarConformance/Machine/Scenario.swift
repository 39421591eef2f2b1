import MessagePack

/// What is tried: the implementation of a worker, of a client, or of a subscriber.
public enum Subject: String, Sendable, CaseIterable {
    case worker, client, subscriber
}

/// One rule or fault: what the store does, and what the peer must do.
public struct Scenario: Sendable {
    public let name: String
    /// The rule of section 3 of `docs/protocol.md`, by the words that it begins with, or another heading of that page.
    public let rule: String
    /// What the store does, and what the peer must do, in a sentence each.
    public let story: String
    let steps: [Step]

    init(_ name: String, _ rule: String, _ story: String, _ steps: [Step]) {
        self.name = name
        self.rule = rule
        self.story = story
        self.steps = steps
    }

    /// Those of a role, in the order of the report.
    public static func all(of role: Subject) -> [Scenario] {
        switch role {
        case .worker: connection(.worker) + worker + streams + leaving
        case .client: connection(.client) + client
        case .subscriber: subscriber
        }
    }
}

/// What happened at the peer.
enum Event {
    case frame(RawFrame, Route)
    /// A line of its standard output.
    case printed(Value)
    case exited(Int32)
    case subscribed([UInt8])

    func isFrame(_ kind: Kind) -> Bool {
        if case .frame(let frame, _) = self { frame.is(kind) } else { false }
    }

    var frame: RawFrame? {
        if case .frame(let frame, _) = self { frame } else { nil }
    }

    var text: String {
        switch self {
        case .frame(let frame, _): frame.text
        case .printed(let line): "the line \(line.text)"
        case .exited(let code): "its end, with exit code \(code)"
        case .subscribed(let topic): "the subscription of <\(hexadecimal(topic))>"
        }
    }
}

/// One step of a scenario.
struct Step: Sendable {
    enum Answer {
        /// It says nothing of this step.
        case other
        case met
        /// What should have been, in place of this.
        case broken(String)
    }

    enum Action: Sendable {
        /// The store does something.
        case act(@Sendable (inout Stage) -> Void)
        /// The peer must do something between these times, counted from the beginning of the step.
        case expect(after: Duration, within: Duration, @Sendable (inout Stage, Event) -> Answer)
        /// Something must become true.
        case until(within: Duration, @Sendable (Stage) -> Bool)
        /// Something must not happen for so long.
        case quiet(Duration, @Sendable (inout Stage, Event) -> Answer)
    }

    /// What is demanded.
    let what: String
    let action: Action

    static func act(_ body: @escaping @Sendable (inout Stage) -> Void) -> Step { Step(what: "", action: .act(body)) }

    static func expect(
        _ what: String, after: Duration = .zero, within: Duration = .zero,
        _ answer: @escaping @Sendable (inout Stage, Event) -> Answer
    ) -> Step {
        Step(what: what, action: .expect(after: after, within: within, answer))
    }

    /// The same for an event that is known by itself.
    static func await(
        _ what: String, after: Duration = .zero, within: Duration = .zero,
        _ isIt: @escaping @Sendable (Stage, Event) -> Bool
    ) -> Step {
        expect(what, after: after, within: within) { isIt($0, $1) ? .met : .other }
    }

    static func until(_ what: String, within: Duration = .zero, _ isTrue: @escaping @Sendable (Stage) -> Bool) -> Step {
        Step(what: what, action: .until(within: within, isTrue))
    }

    static func quiet(_ what: String, for time: Duration, _ isForbidden: @escaping @Sendable (Stage, Event) -> Bool) -> Step {
        Step(what: what, action: .quiet(time) { isForbidden($0, $1) ? .broken(what) : .other })
    }

    /// A time in which the checks of all frames are enough.
    static func pass(_ time: Duration) -> Step { quiet("", for: time) { _, _ in false } }
}

/// How a scenario ended.
public enum Verdict: Equatable, Sendable {
    case held
    case broken(Fault)
}

/// Holds the peer to a rule.
func demand(
    _ isKept: Bool, _ rule: String, expected: @autoclosure () -> String, seen: @autoclosure () -> String
) throws(Fault) {
    if !isKept { throw Fault(rule: rule, expected: expected(), seen: seen()) }
}

/// What a peer did that it must not do, or did not do.
public struct Fault: Error, Equatable, Sendable {
    /// The rule that is broken, which need not be the one that was tried: all frames are looked at.
    public let rule: String
    public let expected: String
    public let seen: String
    /// The parts of the frame that shows it, if one does.
    public var parts: [[UInt8]] = []

    /// The frame in hexadecimal: the header with its fields apart, and the body. Of a long one, the beginning.
    public var dump: [String] {
        parts.enumerated().map { index, part in
            guard index == 0, part.count == 32 else {
                return hexadecimal(part.prefix(256)) + (part.count > 256 ? "… (\(part.count) bytes)" : "")
            }
            return [0..<4, 4..<5, 5..<6, 6..<8, 8..<24, 24..<32].map { hexadecimal(part[$0]) }.joined(separator: " ")
        }
    }
}
