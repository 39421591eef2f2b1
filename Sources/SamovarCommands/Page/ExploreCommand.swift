import ArgumentParser
import SamovarHost
import SamovarText

/// Started by `web`, and by nobody else.
struct ExploreCommand<App: SamovarApp>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "explore", abstract: "Computes the past of a store for its page; `web` starts it.", shouldDisplay: false)
    }

    @OptionGroup var options: StoreOptions
    @Option(name: .long, help: "A folder of its own.") var folder: String
    @Option(name: .long, parsing: .upToNextOption, help: "Turns that are not computed, as TURN=REASON.") var blocked: [String] = []

    func run() async throws {
        guard let page = App.page else { throw CommandFailure(.usage, WebCommand<AppTypes<App>>.withoutPage) }
        let settings = try options.settings()
        var blocked: [Int: String] = [:]
        for text in self.blocked {
            let parts = text.split(separator: "=", maxSplits: 1)
            guard parts.count == 2, let turn = Int(parts[0]) else { throw CommandFailure(.usage, "--blocked takes TURN=REASON") }
            blocked[turn] = String(parts[1])
        }
        let request = ExploreRequest(folder: folder, blocked: blocked) { body in
            try await StorePast<App>.read(settings, "explore", body)
        }
        try await page.explore(request)
    }
}
