import MessagePack
public import SamovarCore
import SamovarWire
import SamovarWorker
public import Testing

/// What a handler did with a ``TestJob``.
public struct TestRun<P: Program>: Sendable {
    /// How the attempt ended.
    public enum Outcome: Equatable, Sendable {
        /// The handler returned this message, or none.
        case returned(P.Message?)
        /// The handler threw: the text as `failed` and operators hear it, of a long one the beginning. The store tries again, as the
        /// effect's `retry` says.
        case threw(String)
        /// The handler threw `Permanent` with this reason: nothing is tried again.
        case permanent(String)
        /// No handler of the worker takes the effect, the worker cannot read it, or what it answers has more than 4 MiB.
        case unhandled(String)
        /// The handler was told to stop, and threw `CancellationError`.
        case cancelled
    }

    /// A message that was sent at once.
    public struct Streamed: Sendable {
        /// Its number among all of the effect; the first after `resume` has the next one.
        public let index: Int
        /// The message.
        public let message: P.Message
        fileprivate let bytes: [UInt8]?

        /// The checkpoint that came with it, nil if none did.
        ///
        /// - Throws: `DecodingError` if it is of another type.
        public func checkpoint<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value? {
            try bytes.map { try MessagePackDecoder().decode(type, from: $0) }
        }
    }

    /// How far the handler said that it was.
    public struct Progress: Equatable, Sendable {
        /// 0 to 1.
        public let fraction: Double?
        /// At most 200 characters.
        public let text: String?

        /// A report as `job.progress` makes it.
        public init(_ fraction: Double? = nil, _ text: String? = nil) {
            self.fraction = fraction
            self.text = text
        }
    }

    /// How the attempt ended.
    public let outcome: Outcome
    /// What the handler threw, as it threw it.
    public let error: (any Error)?
    /// What the handler sent, and the store applies together with what it returned. An attempt that failed has sent nothing.
    public let sent: [P.Message]
    /// What the handler streamed, in order. The store applies it also if the attempt failed.
    public let streamed: [Streamed]
    /// What the handler said of its progress, in order.
    public let progress: [Progress]
    /// The handler was told to stop before it ended. One that returned all the same did not notice, or had finished its work.
    public let wasCancelled: Bool
    private let effect: P.Effect
    private let reporter: TestReporter

    init(_ account: TestSlot<P>.Account, of effect: P.Effect, _ reporter: TestReporter) throws {
        // As the store reads an answer.
        let decoder = MessagePackDecoder(lenient: true)
        self.effect = effect
        self.reporter = reporter
        error = account.error
        wasCancelled = account.isCancelled
        progress = account.progress.map { Progress($0.fraction, $0.text) }
        streamed = try account.streamed.map {
            Streamed(index: $0.index, message: try decoder.decode(P.Message.self, from: $0.message), bytes: $0.checkpoint)
        }
        switch account.answer {
        case .failed(.unhandled, let text, _): (outcome, sent) = (.unhandled(text), [])
        case .failed(_, let text, permanent: true): (outcome, sent) = (.permanent(text), [])
        case .failed(_, let text, _):
            let isCancelled = account.isCancelled && account.error is CancellationError
            (outcome, sent) = (isCancelled ? .cancelled : .threw(text), [])
        case .done(let messages):
            var messages = try messages.map { try decoder.decode(P.Message.self, from: Array($0)) }
            outcome = .returned(account.hasReturned ? messages.popLast() : nil)
            sent = messages
        case .returned, .streamed, nil: preconditionFailure("a handler that ended has answered or failed")
        }
    }

    /// All that the store applies, in order: what was streamed, and after an attempt that ended well what was sent and returned.
    public var messages: [P.Message] {
        let last: P.Message? = if case .returned(let message) = outcome { message } else { nil }
        return streamed.map(\.message) + sent + (last.map { [$0] } ?? [])
    }

    /// Compares how the attempt ended, and all that it streamed and sent: what is not expected must not be there.
    public func expect(
        _ outcome: Outcome, streamed: [P.Message] = [], sent: [P.Message] = [], at location: SourceLocation = #_sourceLocation
    ) {
        let expected = Deeds(outcome: outcome, streamed: streamed, sent: sent)
        let actual = Deeds(outcome: self.outcome, streamed: self.streamed.map(\.message), sent: self.sent)
        let difference = Difference(expected: expected, actual: actual, named: "run")
        guard !difference.isEmpty else { return }
        let head = "\(ValueText.of(effect)): the handler did not do what is expected"
        reporter.report(([head] + difference.lines.map { "  \($0)" }).joined(separator: "\n"), location)
    }

    private struct Deeds: Equatable {
        var outcome: Outcome
        var streamed: [P.Message]
        var sent: [P.Message]
    }
}
