import Foundation
import Testing

import ArgumentParser
@testable import SamovarCommands

/// The manual page is the help of all commands in roff.
@Suite struct ManualPageTests {
    struct Tool: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "kettle", abstract: "Boils water.", discussion: "Hot.\n\nExample:\n  kettle boil '\\n' --cups 2",
            subcommands: [Boil.self, Secret.self])
    }

    struct Boil: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "boil", abstract: "Boils it.", discussion: "..and whistles…")

        @Argument(help: "What to boil.") var what: String?
        @Option(name: .shortAndLong, help: "How many.") var cups = 1
        @Flag(help: "Without a whistle.") var quiet = false

        func run() {}
    }

    struct Secret: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "secret", shouldDisplay: false)
    }

    @Test func `A page has the commands that the help shows, with their arguments`() throws {
        let page = #"""
            .TH "KETTLE" "1" "" "Samovar" "User Commands"
            .nh
            .ad l
            .SH "NAME"
            kettle \- Boils water.
            .SH "SYNOPSIS"
            \fBkettle\fR \fICOMMAND\fR [\fIOPTION\fR]...
            .SH "DESCRIPTION"
            Hot.
            .PP
            Example:
            .br
            \ \ kettle boil \(aq\en\(aq \-\-cups 2
            .SH "COMMANDS"
            .SS "kettle boil [<what>]"
            Boils it.
            .PP
            \&..and whistles\[u2026]
            .TP
            \fIwhat\fR
            What to boil.
            .TP
            \fB\-c\fR, \fB\-\-cups\fR \fIcups\fR
            How many. (default: 1)
            .TP
            \fB\-\-quiet\fR
            Without a whistle.

            """#
        let lines = try ManualPage(of: Tool._dumpHelp()).text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines == page.split(separator: "\n", omittingEmptySubsequences: false))
    }
}
