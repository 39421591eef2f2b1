import ArgumentParser
import SamovarText

/// The command `load` of a program that names no load tests: it says how to have them.
struct MissingLoadCommand: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "load", abstract: "Says how to have load tests: this program is built without them.", discussion: remedy)
    }

    /// In lines that are short enough for any terminal, for they are to be copied.
    private static var remedy: String {
        """
        \(executableName) is built without load tests. To have them, add
          .product(name: "SamovarLoadTest", package: "samovar")
        to the dependencies of its target, and to the file of its SamovarApp
          import SamovarLoadTest
          static var loadTest: LoadTestKind? { .agents }
        `samovar load --data FOLDER` needs nothing of that, for a store that runs.
        """
    }

    @Argument(parsing: .allUnrecognized, help: .hidden) var arguments: [String] = []

    func run() throws {
        throw CommandFailure(.usage, Self.remedy)
    }
}
