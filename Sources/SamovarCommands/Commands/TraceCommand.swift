import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarStore
import SamovarText

struct TraceCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "trace", abstract: "Prints chains of turns as traces in OTLP/JSON, for OpenTelemetry.",
            discussion: """
                Example: \(executableName) trace > traces.jsonl
                         \(executableName) trace --from 100000 --redact '*.password' --redact failure
                A chain of turns is a trace. Its spans are the turns, and the effects from their order to their end. Each line is a \
                request of at most \(TraceLines.maximumSpans) spans, as the OpenTelemetry collector reads them from files. The same turns give \
                the same bytes. Messages and effects are shown, but for what is redacted: message.PATH, effect.PATH, refusal.PATH, failure, \
                or *.NAME for all parts with a name; `.*` and `[*]` are any part. Works beside a running store, too. With --attempts \
                that is asked which attempts it remembers, so it must run; over the network an operator's --key is needed.
                """)
    }

    @OptionGroup var options: PeerOptions
    @Option(name: .long, parsing: .unconditional, help: "The first turn. Default: the first that is known.") var from: Int?
    @Option(name: .long, parsing: .unconditional, help: "The last turn. Default: the newest.") var to: Int?
    @Option(name: .long, help: "What not to show: message.signUp.password, *.password. May be given again.") var redact: [String] =
        []

    @Flag(name: .long, help: "A span for each attempt that the running store remembers, too: its worker, and how it ended.")
    var attempts = false

    func validate() throws {
        if let from, from < 1 { throw ValidationError("--from \(from) is no turn: they are numbered from 1") }
        if let to, to < from ?? 1 { throw ValidationError("--to \(to) is before --from \(from ?? 1)") }
    }

    func run() async throws {
        let (redactions, from, to, settings) = (try redactions(), from, to, try options.settings())
        let attempts = attempts ? try await remembered(settings) : []
        try await StorePast<App>.read(settings, "trace") { past in
            let known = past.span.known
            let (first, last) = (from ?? known.lowerBound, to ?? known.upperBound)
            if last < known.lowerBound { try past.move(to: last) }
            guard first <= last else {
                throw CommandFailure(.configuration, "turn \(first) is not there yet: the newest is \(last)")
            }
            var lines = TraceLines(of: App.Program.schema.name, timeline: past.timeline, redactions: redactions, attempts: attempts)
            let open = try past.trace(first...last) { span in
                for line in lines.add(span) { printData(line) }
            }
            if let line = lines.end() { printData(line) }
            if open > 0 { printError("\(open) effect\(open == 1 ? " is" : "s are") still open, and no span yet") }
            for redaction in lines.missed { printError("nothing was redacted at \(escapeForTerminal(redaction.description))") }
        }
    }

    /// The newest first.
    private func remembered(_ settings: ProcessSettings) async throws -> [RememberedAttempt] {
        let admin = try settings.admin(for: AppTypes<App>.self)
        var attempts: [RememberedAttempt] = []
        var next = MessagePackValue.nil
        repeat {
            let answer = try await admin.ask("attempts", next == .nil ? .nil : ["before": next])
            guard case .array(let rows)? = answer["attempts"] else { throw Self.misfit(answer) }
            for row in rows {
                guard let attempt = RememberedAttempt(row) else { throw Self.misfit(row) }
                attempts.append(attempt)
            }
            next = answer["next"] ?? .nil
        } while next != .nil
        return attempts
    }

    private static func misfit(_ answer: MessagePackValue) -> CommandFailure {
        CommandFailure(.internal, "the store's answer cannot be read: \(answer)")
    }

    private func redactions() throws(CommandFailure) -> [Redaction] {
        var redactions: [Redaction] = []
        for text in redact {
            do throws(ExpressionError) {
                redactions.append(try Redaction(parsing: text))
            } catch {
                throw CommandFailure(.usage, "--redact \(escapeForTerminal(text)) cannot be read: \(error)")
            }
        }
        return redactions
    }
}
