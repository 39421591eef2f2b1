import ArgumentParser
import ConformCommand
import NewCommand
import SamovarCommands
import SamovarLoadTest
import SamovarWeb
import SimulateCommand

/// The generic tool: watches and uses any running store, and proves the runtime itself.
@main
enum SamovarCLI {
    static func main() async {
        await SamovarTool.start(SamovarCommand.self)
    }
}

struct SamovarCommand: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "samovar",
            abstract: "Watches and uses any running Samovar store.",
            discussion: """
                Programs built on Samovar have these commands, too, and more. Example:
                  samovar monitor --data .samovar/counter
                """,
            subcommands: SamovarTool.subcommands
                + [SamovarTool.loadCommand, NewCommand.self, SamovarPage.toolCommand, SimulateCommand.self, ConformCommand.self])
    }
}
