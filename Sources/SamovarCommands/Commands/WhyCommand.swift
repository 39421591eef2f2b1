import ArgumentParser
import MessagePack
import SamovarCore
import SamovarText
import SamovarWire

struct WhyCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "why", abstract: "Says which turn made a part of the state what it is, and what that followed from.",
            discussion: """
                Example: \(executableName) why state
                         \(executableName) why 'state.counts["odd key"]' --turn 100
                         \(executableName) why 'view.rows[0].name' --all
                The turn is the last one that changed the value at the path. Behind `←` is what it came from: the turn that ordered it, and \
                so on, up to a client, an operator, a timer or the start; with --all, up to the twentieth. Works beside a running store, too.
                """)
    }

    @OptionGroup var options: StoreOptions
    @Argument(help: "A path into the state or the view: state.a.b[3], view[\"odd key\"].") var path: String
    @Option(name: .long, parsing: .unconditional, help: "As of this turn. Default: the newest.") var turn: Int?
    @Flag(name: .long, help: "Print every change up to there, oldest first.") var all = false
    @Option(name: .long, help: "text, or json; for --all one object per line.") var format = OutputFormat.text

    func validate() throws {
        if let turn, turn < 1 { throw ValidationError("--turn \(turn) is no turn: they are numbered from 1") }
    }

    func run() async throws {
        let path: ValuePath
        do throws(ExpressionError) {
            path = try ValuePath(parsing: self.path)
        } catch {
            throw CommandFailure(.usage, "the path cannot be read: \(error)")
        }
        let search = ChangeSearch(path: path, turn: turn)
        let format = format
        let settings = try options.settings()
        if all {
            let missing = try await StorePast<App>.read(settings, "why") { past in
                try search.all(in: past) { printData(try Self.line(of: $0, path, format, isOneOfMany: true)) }
            }
            if let missing { throw CommandFailure(.badData, missing) }
            return
        }
        switch try await StorePast<App>.read(settings, "why", { try search.last(in: $0) }) {
        case .never(let words): throw CommandFailure(.badData, words)
        case .since(let change): printData(try Self.line(of: change, path, format, isOneOfMany: false))
        case .unchanged(let turn, let part):
            switch format {
            case .json:
                let value = try part.decoded()
                printData(JSONTranscoder.text(of: ["path": .string("\(path)"), "knownSince": .int(Int64(turn)), "after": value]))
            case .text:
                printData("\(path) = \(ValueChanges.text(of: part)), since \(turn) or before, where the journal was trimmed")
            }
        }
    }

    private static func line(
        of change: ChangeSearch.Change, _ path: ValuePath, _ format: OutputFormat, isOneOfMany: Bool
    ) throws -> String {
        let record = change.record
        switch format {
        case .json:
            var value = record.value
            value["path"] = .string("\(path)")
            value["before"] = try change.before?.decoded()
            value["after"] = try change.after?.decoded()
            value["causes"] = change.causes.value
            return JSONTranscoder.text(of: value)
        case .text:
            let since = "since \(record.turn) (\(record.messageName)) \(change.causes.line)"
            let (before, after) = (ValueChanges.text(of: change.before), ValueChanges.text(of: change.after))
            if isOneOfMany { return "\(path): \(before) → \(after), \(since)" }
            return "\(path) = \(after), \(since)\n  before: \(before)"
        }
    }
}
