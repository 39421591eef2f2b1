import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText
import SamovarWire

struct BisectCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "bisect", abstract: "Finds the first turn after which something is true, or an invariant broken.",
            discussion: """
                Example: \(executableName) bisect 'state.left < 0'
                         \(executableName) bisect 'count(state.orders) > 10 && view.status != "idle"' --from 1000
                         \(executableName) bisect 'no negative stock'
                An expression has paths (`state.a.b[3]`, `state.counts["odd key"]`, `view.…`), numbers, strings in double quotes, true, false, \
                null, count(PATH), + - * / %, == != < <= > >=, !, &&, || and brackets. What is not there is null. The name of one of the \
                program's invariants finds the turn that breaks it. All turns are looked at, in order. It exits with 0 if it has found \
                one, with 1 if there is none, and with 65 if it is true at the beginning of what is kept already. Works beside a running store, too.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Argument(help: "An expression, or the name of an invariant.") var predicate: String
    @Option(name: .long, parsing: .unconditional, help: "The first turn to look at. Default: the first that is known.") var from:
        Int?
    @Option(name: .long, parsing: .unconditional, help: "The last turn to look at. Default: the newest.") var to: Int?
    @Option(name: .long, help: "text or json.") var format = OutputFormat.text

    func validate() throws {
        if let from, from < 1 { throw ValidationError("--from \(from) is no turn: they are numbered from 1") }
        if let to, to < from ?? 1 { throw ValidationError("--to \(to) is before --from \(from ?? 1)") }
    }

    func run() async throws {
        let bisection = Bisection(goal: try Bisection.Goal(named: predicate, for: App.Program.self), from: from, to: to)
        switch try await StorePast<App>.read(try options.settings(), "bisect", { try bisection.run(on: $0) }) {
        case .found(let finding): show(finding)
        case .never(let turns, let unknown):
            let range = "the turns \(turns.lowerBound) to \(turns.upperBound)"
            switch bisection.goal {
            case .expression: printError("it is true after none of \(range)")
            case .broken: printError("none of \(range) breaks it")
            }
            for words in unknown { printError("  \(words)") }
            if format == .json {
                let range: MessagePackValue = [
                    "turn": .nil, "from": .int(Int64(turns.lowerBound)), "to": .int(Int64(turns.upperBound)),
                ]
                printData(JSONTranscoder.text(of: range))
            }
            throw ExitCode(1)
        }
    }

    private func show(_ finding: Bisection.Finding) {
        let record = finding.record
        switch format {
        case .json:
            var value = record.value
            value["causes"] = finding.causes.value
            value["isFirst"] = .bool(finding.isFirst)
            if let changes = finding.changes { (value["changes"], value["isCut"]) = (changes.value, .bool(changes.isCut)) }
            printData(JSONTranscoder.text(of: value))
        case .text:
            if finding.isFirst, record.turn > 1 {
                printError("it is true after the first turn that was looked at, and perhaps before")
            }
            printData("turn \(record.turn) (\(record.messageName)) \(instantText(of: record.time)) \(finding.causes.line)")
            if record.detail != .nil { printData("  \(ViewText.line(of: record.detail))") }
            for line in finding.changes?.lines ?? [] { printData("  \(line)") }
        }
    }
}
