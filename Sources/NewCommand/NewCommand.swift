public import ArgumentParser
import Foundation
import SamovarCommands
import SamovarText

/// `samovar new`. A module of its own, so that no program builds what only the tool has.
public struct NewCommand: ParsableCommand {
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "new", abstract: "Writes a package with a program, a worker and tests, to begin with.",
            discussion: """
                Example: samovar new tea-timer --split --distributed --panel
                The program is a counter that has one example of everything that was chosen. It builds and passes its tests, here and on
                every other machine: the sources of Samovar are copied into it, unless --path or --url says where they are.
                """)
    }

    @Argument(help: "The name of the package, its folder and its executable: letters, digits and hyphens.")
    var name: String

    @Flag(name: .long, help: "Inputs of outsiders are another type than messages, and may be refused.")
    var split = false

    @Flag(name: .long, help: "An effect, and a worker that executes it in another process.")
    var distributed = false

    @Flag(name: .customLong("input-events"), help: "Events from outside that the state subscribes to: a timer.")
    var inputEvents = false

    @Flag(name: .customLong("output-events"), help: "Events for other programs.")
    var outputEvents = false

    @Flag(name: .long, help: "The view is a panel, which `monitor` draws, with buttons to press.")
    var panel = false

    @Option(name: .long, help: "The folder in which the package's folder is made. Default: this one.")
    var `in` = "."

    @Option(
        name: .long, help: "A checkout of Samovar to depend on where it is. Default: a copy of its sources in the package.")
    var path: String?

    @Option(name: .long, help: "A repository of Samovar to depend on, instead of a checkout; needs --from.")
    var url: String?

    @Option(name: .long, help: "The least version of that repository.")
    var from: String?

    public init() {}

    public func run() throws {
        let name = try ScaffoldName(self.name)
        let choices = ScaffoldChoices(
            split: split, distributed: distributed, inputEvents: inputEvents, outputEvents: outputEvents, panel: panel)
        let folder = URL(fileURLWithPath: self.in).appending(path: name.package)
        let source = try source(of: folder)
        let files = PackageTemplate(name: name, choices: choices, source: source).files
        try ScaffoldWriting.write(files, with: source, to: folder)
        var written = files.map(\.path)
        if case .copy = source { written.append(SamovarSource.folder) }
        for path in written { printData("\(`in` == "." ? "" : `in` + "/")\(name.package)/\(path)") }
        printError(
            """
            Next:
              cd \(shellWord(folder.relativePath))
              swift test
              swift run \(name.package) up --config config/local.yaml
            README.md says more.
            """)
    }

    private func source(of package: URL) throws(CommandFailure) -> SamovarSource {
        switch (path, url, from) {
        case (let path?, nil, nil):
            let folder = URL(fileURLWithPath: path).standardizedFileURL.path
            guard ScaffoldWriting.isCheckout(folder) else {
                throw CommandFailure(
                    .usage, "\(escapeForTerminal(folder)) is no checkout of Samovar: it has no Package.swift of that name")
            }
            return .path(ScaffoldWriting.path(from: package.path, to: folder))
        case (nil, let url?, let from?): return .repository(try ScaffoldRepository(url: url, from: from))
        case (nil, nil, nil):
            guard let folder = ScaffoldWriting.checkout(of: try ownExecutable()) else {
                throw CommandFailure(
                    .usage, "where is Samovar? name a checkout with --path DIR, or a repository with --url URL and --from VERSION")
            }
            return .copy(of: folder)
        default:
            throw CommandFailure(.usage, "use --path DIR alone, or --url URL and --from VERSION together")
        }
    }
}
