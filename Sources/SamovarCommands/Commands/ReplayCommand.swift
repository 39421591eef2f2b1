import ArgumentParser
import MessagePack
import SamovarCore
import SamovarHost
import SamovarText

struct ReplayCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "replay",
            abstract: "Prints the state or the view as of a turn, from the journal, also beside its store.",
            discussion: "Example: \(executableName) replay --state --turn 100")
    }

    @OptionGroup var options: StoreOptions
    @Flag(name: .long, help: "Print the whole state instead of the view.") var state = false
    @Option(name: .long, help: "text or json.") var format = OutputFormat.json
    @Option(name: .long, parsing: .unconditional, help: "As of this turn. Default: the last.") var turn: Int?
    /// For `monitor`: what the view was, for each turn that standard input names.
    @Flag(name: .long, help: .hidden) var serve = false

    func validate() throws {
        if let turn, turn < 1 { throw ValidationError("--turn \(turn) is no turn: they are numbered from 1") }
    }

    func run() async throws {
        let settings = try options.settings()
        if serve { return try await PastServing<App>.run(settings) }
        let journal = try settings.servedJournal(for: AppTypes<App>.self)
        let logger = settings.logger("replay")
        let replayed = try await Replay<App.Program>.run(of: journal, through: turn, logger: logger) {
            App.engine(secret: $0, limits: .default)
        }
        if state {
            let value = try MessagePackValue(encoded: replayed.state)
            printData(format == .json ? JSONTranscoder.text(of: value) : ViewText.screen(of: value))
        } else {
            let view = StoreClient.View(timeline: replayed.timeline, turn: replayed.turn, bytes: replayed.view)
            printData(format == .json ? try viewJSON(view) : try AppTypes<App>.screen(of: view.bytes))
        }
    }
}
