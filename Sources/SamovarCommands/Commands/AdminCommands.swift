import ArgumentParser
import MessagePack
import SamovarHost
import SamovarText

struct StatusCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Shows how the store is doing: turns, workers, queues, effects.",
            discussion: "Example: \(executableName) status --json")
    }

    @OptionGroup var options: PeerOptions
    @Flag(name: .long, help: "One line of JSON.") var json = false

    func run() async throws {
        let status = try await options.admin(for: Types.self).ask("status")
        printData(json ? JSONTranscoder.text(of: status) : StatusText.lines(of: status))
    }
}

struct InspectCommand<Types: ProgramTypes>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "inspect", abstract: "Prints the whole state of a running store, for operators.",
            discussion: "Example: \(executableName) inspect")
    }

    @OptionGroup var options: PeerOptions
    @Flag(name: .long, help: "Indent the JSON.") var pretty = false

    func run() async throws {
        let state = try await options.admin(for: Types.self).ask("inspect")
        printData(JSONTranscoder.text(of: state, pretty: pretty))
    }
}
