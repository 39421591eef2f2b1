import MessagePack
import SamovarCore
import Synchronization

/// Whether the messages that a program makes survive being encoded and decoded: those of `accept`, `.then`, `failed`, `operated`
/// and subscriptions. What clients and workers send is looked at where a test gives it.
///
/// It observes the turns of a store, each with its message as the program has made it. What a subscription sends is looked at when
/// it is wanted after a call, because the store has encoded it by the time it is sent. The store calls it on the test's own thread;
/// the lock is for the type system.
final class MessageCheck<P: Program>: Sendable {
    /// A message that does not survive.
    struct Problem {
        /// The message, where it came from, and what becomes of it.
        let text: String
        let source: Source
        let caseName: String
    }

    private struct Findings {
        var problems: [Problem] = []
        /// Each case of a message is told of once for each kind of source: of a clock, there would be a problem at each tick.
        var told: Set<String> = []
        /// What the state has wanted to hear of after the last call.
        var wanted: [Subscription<P>] = []
    }

    /// Where a message came from, for a person.
    struct Source {
        let kind: String
        let text: String
        var isInput = false
    }

    private let findings = Mutex(Findings())
    /// As a store writes messages.
    private let encoder = MessagePackEncoder(recording: .default)
    /// As a store reads its journal.
    private let recorded = MessagePackDecoder(lenient: true, refusingUnknownFields: false)
    /// As a store reads what a subscription sends.
    private let decoder = MessagePackDecoder(lenient: true)

    /// Looks at each turn at once: after a group that cannot be encoded nothing is delivered any more.
    var observer: TurnObserver<P> {
        TurnObserver<P> { [self] (message, _, turn) -> Bool? in
            if let source = Self.source(of: turn) { look(at: message, from: source, recorded) }
            return nil
        } deliver: { _ in
        }
    }

    /// Looks at what a state wants to be sent after a group of turns, unless it was the same after the last call.
    func look(at wanted: [Subscription<P>]) {
        let isKnown = findings.withLock { findings in
            defer { findings.wanted = wanted }
            return findings.wanted == wanted
        }
        guard !isKnown else { return }
        var labels: Set<String> = []
        // Of two with one label only the first counts.
        for subscription in wanted where labels.insert("\(subscription.id)").inserted {
            switch subscription.event {
            case .timer(_, let message), .lifecycle(_, let message):
                let source = Source(
                    kind: "subscription \(subscription.id)", text: "which the subscription “\(subscription.id)” sends")
                look(at: message, from: source, decoder)
            case .source: break
            }
        }
    }

    /// The problems since the last call that were not told of, in words.
    ///
    /// - Parameter ofInputs: whether those are wanted, too, that were made of an input.
    func takeProblems(ofInputs: Bool) -> [String] {
        findings.withLock { findings in
            defer { findings.problems.removeAll() }
            return findings.problems.compactMap { problem in
                guard ofInputs || !problem.source.isInput else { return nil }
                return findings.told.insert("\(problem.source.kind) \(problem.caseName)").inserted ? problem.text : nil
            }
        }
    }

    /// Nil for what is looked at elsewhere.
    private static func source(of turn: Turn) -> Source? {
        switch turn.origin {
        case .client: Source(kind: "accept", text: "which `accept` made in turn \(turn.number)", isInput: true)
        case .followUp(let cause): Source(kind: "then", text: "which turn \(cause) ordered with `.then`")
        case .failure(let effect): Source(kind: "failed", text: "which `failed` made of effect \(effect)")
        case .operator: Source(kind: "operated", text: "which `operated` made in turn \(turn.number)")
        case .effect, .subscription, .store: nil
        }
    }

    private func look(at message: P.Message, from source: Source, _ decoder: MessagePackDecoder) {
        guard let finding = finding(on: message, decoder) else { return }
        let text = "\(ValueText.of(message)), \(source.text), \(finding)"
        let problem = Problem(text: text, source: source, caseName: caseName(of: message) ?? "")
        findings.withLock { $0.problems.append(problem) }
    }

    /// Nil for a message that survives.
    private func finding(on message: P.Message, _ decoder: MessagePackDecoder) -> String? {
        do {
            let bytes = try encoder.encode(message)
            let loss = try Difference.loss(of: message, named: "message") { try decoder.decode(P.Message.self, from: bytes) }
            guard let loss else { return nil }
            let lines = loss.lines.map { "  \($0)" }
            return (["does not survive being encoded and decoded"] + lines).joined(separator: "\n")
        } catch {
            return "cannot be encoded and decoded: \(error)"
        }
    }
}
