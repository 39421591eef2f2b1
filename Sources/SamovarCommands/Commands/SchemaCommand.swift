import ArgumentParser
import Foundation
import SamovarCore
import SamovarStore
import SamovarText

struct SchemaCommand<App: SamovarApp>: ParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "schema", abstract: "Writes down the encoded form of the program's types, and checks a build against it.",
            discussion: """
                Example: \(executableName) schema --write schema.json
                Keep the file with the source. After a change, `schema --check schema.json` says which journals could not be read any \
                more, and why. Without options the form is printed.

                `schema --codec --write Codec.swift` writes Swift source for the target of the program. With it, types encode and decode \
                several times as fast, as the same bytes. Which stay with Codable is said, and why. After a change of the types write it \
                again: until then the store warns, and what has changed is only slower.
                If that file does not compile any more, delete it first. If a property cannot be set outside of its own file, or an \
                init(from:) checks what it reads, leave the type out with --leave TYPE.
                """)
    }

    @Option(name: .long, help: "The file to write.")
    var write: String?

    @Option(name: .long, help: "The file of an older build to compare with.")
    var check: String?

    @Flag(name: .long, help: "Write Swift source with which the types encode and decode faster, in place of their form.")
    var codec = false

    @Option(name: .long, help: "A type that shall stay with Codable, as it stands in source. May be given several times.")
    var leave: [String] = []

    func run() throws {
        if !codec { warnOfGaps() }
        if let check { return try compare(with: check) }
        let text = codec ? try codecSource() : try schemaText()
        guard let write else { return printData(text) }
        do {
            try Data((text + "\n").utf8).write(to: URL(fileURLWithPath: write), options: .atomic)
        } catch {
            throw CommandFailure(
                .inputOutput, "cannot write \(escapeForTerminal(write)): \(escapeForTerminal(error.localizedDescription))")
        }
    }

    func validate() throws {
        guard check == nil || !codec else {
            throw ValidationError("--check is of the form: write the codec, and compare the files")
        }
        guard check == nil || write == nil else { throw ValidationError("--check compares and writes nothing: leave out --write") }
        guard codec || leave.isEmpty else { throw ValidationError("--leave goes with --codec") }
    }

    private func schemaText() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(ProgramSchema(App.Program.self)), as: UTF8.self)
    }

    private func warnOfGaps() {
        let gaps = ProgramSchema(App.Program.self).uncompared
        for gap in gaps { printError(escapeForTerminal("warning: \(gap)")) }
        guard !gaps.isEmpty else { return }
        printError("to have them compared, let init(from:) take what it reads, and check values in accept")
    }

    private func codecSource() throws -> String {
        let source = CodecSource(of: App.Program.self, leaving: leave)
        if let name = source.unknown.first {
            throw CommandFailure(.usage, "the program encodes no type \(escapeForTerminal(name)): name it as it stands in source")
        }
        for reason in source.left { printError(escapeForTerminal("left to Codable: \(reason)")) }
        let advice = "; name one with --leave if its init(from:) checks or changes what it reads"
        let types = source.types.isEmpty ? "no type" : source.types.joined(separator: ", ") + advice
        printError(escapeForTerminal("code for \(types)"))
        return source.text
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
