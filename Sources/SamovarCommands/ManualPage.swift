import ArgumentParser
import Foundation

/// A manual page in roff, made of what `--help` shows of all commands, so that neither tells something else.
///
/// ```sh
/// samovar --generate-manual >samovar.1
/// ```
struct ManualPage {
    /// What the argument parser tells of a command in JSON, as far as it is shown.
    private struct Command: Decodable {
        var superCommands: [String]?
        var commandName: String
        var abstract: String?
        var discussion: String?
        var shouldDisplay: Bool?
        var subcommands: [Command]?
        var arguments: [Argument]?

        var path: String { ((superCommands ?? []) + [commandName]).joined(separator: " ") }

        /// It and all below it that have no others below them, in the order of the help. `help` is left out there, too.
        var leaves: [Command] {
            guard shouldDisplay ?? true, commandName != "help" else { return [] }
            let below = (subcommands ?? []).flatMap(\.leaves)
            return below.isEmpty ? [self] : below
        }
    }

    private struct Argument: Decodable {
        struct Name: Decodable {
            var kind: String
            var name: String
            var text: String { kind == "long" ? "--\(name)" : "-\(name)" }
        }

        var kind: String
        var isOptional: Bool
        var isRepeating: Bool
        var shouldDisplay: Bool
        var names: [Name]?
        var valueName: String?
        var defaultValue: String?
        var allValues: [String]?
        var abstract: String?

        var isPositional: Bool { kind == "positional" }

        /// The same for all commands, and told once.
        var isHelp: Bool { names?.contains { $0.name == "help" } ?? false }

        /// What is in brackets behind the description, as in the help.
        var values: String? {
            let parts = [allValues.map { "values: \($0.joined(separator: ", "))" }, defaultValue.map { "default: \($0)" }]
            let known = parts.compactMap { $0 }
            return known.isEmpty ? nil : "(\(known.joined(separator: "; ")))"
        }
    }

    private struct Tool: Decodable {
        var command: Command
    }

    private let root: Command
    private(set) var text = ""

    /// - Parameter help: what `--experimental-dump-help` prints.
    init(of help: String) throws {
        root = try JSONDecoder().decode(Tool.self, from: Data(help.utf8)).command
        writeHead()
        for command in root.leaves { write(command) }
    }

    private mutating func writeHead() {
        // Without a date: the same sources make the same page.
        text += ".TH \"\(Self.escaped(root.commandName.uppercased()))\" \"1\" \"\" \"Samovar\" \"User Commands\"\n"
        // Words that are typed are not divided.
        text += ".nh\n.ad l\n"
        macro("SH", "NAME")
        line("\(root.commandName) - \(root.abstract ?? "")")
        macro("SH", "SYNOPSIS")
        text += "\\fB\(Self.escaped(root.commandName))\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]...\n"
        if let discussion = root.discussion {
            macro("SH", "DESCRIPTION")
            paragraph(discussion)
        }
        macro("SH", "COMMANDS")
    }

    private mutating func write(_ command: Command) {
        let arguments = (command.arguments ?? []).filter { $0.shouldDisplay && !$0.isHelp }
        let operands = arguments.filter(\.isPositional).map { argument in
            let name = "<\(argument.valueName ?? "")>" + (argument.isRepeating ? "..." : "")
            return argument.isOptional ? "[\(name)]" : name
        }
        macro("SS", ([command.path] + operands).joined(separator: " "))
        if let abstract = command.abstract { paragraph(abstract) }
        if let discussion = command.discussion {
            text += ".PP\n"
            paragraph(discussion)
        }
        for argument in arguments { write(argument) }
    }

    private mutating func write(_ argument: Argument) {
        text += ".TP\n"
        let value = argument.valueName.map { "\\fI\(Self.escaped($0))\\fR" } ?? ""
        if argument.isPositional {
            text += "\(value)\n"
        } else {
            // The short one first, as in the help; in the JSON they are in any order.
            let sorted = (argument.names ?? []).map(\.text).sorted { ($0.count, $0) < ($1.count, $1) }
            let names = sorted.map { "\\fB\(Self.escaped($0))\\fR" }.joined(separator: ", ")
            text += argument.kind == "option" ? "\(names) \(value)\n" : "\(names)\n"
        }
        let description = [argument.abstract, argument.values].compactMap { $0 }
        if !description.isEmpty { line(description.joined(separator: " ")) }
    }

    // MARK: roff

    private mutating func macro(_ name: String, _ title: String) { text += ".\(name) \"\(Self.escaped(title))\"\n" }

    /// Lines stay lines, as in the help, and an empty one begins a paragraph.
    private mutating func paragraph(_ lines: String) {
        var separator = ""
        for part in lines.split(separator: "\n", omittingEmptySubsequences: false) {
            if part.isEmpty {
                separator = ".PP\n"
            } else {
                text += separator
                line(String(part))
                separator = ".br\n"
            }
        }
    }

    private mutating func line(_ line: String) { text += "\(Self.escaped(line))\n" }

    /// Text that roff prints as it is: nothing in it is a request, a quotation mark of a macro, a typographic sign, or a space that goes away.
    private static func escaped(_ line: String) -> String {
        var result = ""
        var isIndentation = true
        for scalar in line.unicodeScalars {
            if isIndentation, scalar != " " {
                isIndentation = false
                if scalar == "." || scalar == "'" { result += "\\&" }
            }
            switch scalar {
            case " " where isIndentation: result += "\\ "
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "\"": result += "\\(dq"
            case "`": result += "\\(ga"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case _ where scalar.isASCII: result.unicodeScalars.append(scalar)
            default:
                let digits = String(scalar.value, radix: 16, uppercase: true)
                result += "\\[u\(String(repeating: "0", count: max(0, 4 - digits.count)))\(digits)]"
            }
        }
        return result
    }
}
