import ArgumentParser
import Foundation
import SamovarCore
import SamovarProtocol

struct SchemaCommand<App: SamovarApp>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema", abstract: "Writes down the encoded form of the program's types, and checks a build against it.",
            discussion: """
                Example: \(executableName) schema --write schema.json
                Keep the file with the source. After a change, `schema --check schema.json` says which journals could not be read any
                more, and why. Without options the form is printed.
                """)
    }

    @Option(name: .long, help: "The file to write.")
    var write: String?

    @Option(name: .long, help: "The file of an older build to compare with.")
    var check: String?

    func run() throws {
        if let check { return try compare(with: check) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(ProgramSchema(App.Program.self)), as: UTF8.self)
        guard let write else { return printData(text) }
        do {
            try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: write), options: .atomic)
        } catch {
            throw CommandFailure(
                .inputOutput, "cannot write \(escapeForTerminal(write)): \(escapeForTerminal(error.localizedDescription))")
        }
    }

    private func compare(with file: String) throws {
        let shown = escapeForTerminal(file)
        let older: ProgramSchema
        do {
            older = try JSONDecoder().decode(ProgramSchema.self, from: try Data(contentsOf: URL(fileURLWithPath: file)))
        } catch is DecodingError {
            throw CommandFailure(.badData, "\(shown) is no schema file: write one with --write")
        } catch {
            throw CommandFailure(.inputOutput, "cannot read \(shown): \(escapeForTerminal(error.localizedDescription))")
        }
        let problems = ProgramSchema.problems(of: App.Program.self, reading: older)
        for problem in problems { printData(escapeForTerminal(problem)) }
        guard problems.isEmpty else {
            throw CommandFailure(.badData, "\(problems.count) things stand between this build and journals of \(shown)")
        }
    }
}
