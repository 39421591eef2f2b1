import Foundation
import ProcessSupport
import Testing

/// The manual page that `make install` puts beside the tool.
@Suite struct ManualTests {
    private static let macros = [".TH", ".SH", ".SS", ".TP", ".PP", ".br", ".nh", ".ad"]

    private func page(of executable: String) async throws -> String {
        let child = try await Child.run(executable, ["--generate-manual"])
        #expect(child.end == .exited(0) && child.errors.isEmpty, "\(child.errors)")
        return child.output
    }

    @Test(arguments: [Executable.samovar, Executable.counter])
    func `A page is made of macros of man, and has every command of the help`(executable: String) async throws {
        let page = try await page(of: executable)
        let lines = page.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(lines.first?.hasPrefix(".TH ") == true && lines.allSatisfy { !$0.isEmpty && $0.utf8.allSatisfy { $0 < 128 } })
        for line in lines where line.hasPrefix(".") || line.hasPrefix("'") {
            let macro = line.prefix { $0 != " " }
            #expect(Self.macros.contains(String(macro)), "\(line)")
        }
        let help = try await Child.run(executable, ["--help"]).output
        let name = URL(filePath: executable).lastPathComponent
        let commands = help.split(separator: "\n").drop { $0 != "SUBCOMMANDS:" }.dropFirst().prefix { $0.hasPrefix("  ") }
            .filter { !$0.hasPrefix("   ") && !$0.hasPrefix("  See ") }.compactMap { $0.split(separator: " ").first }
        #expect(commands.count >= 8, "\(help)")
        for command in commands { #expect(page.contains(".SS \"\(name) \(command)"), "\(command)") }
    }

    @Test func `A formatter finds nothing wrong in a page`() async throws {
        let scratch = try Scratch()
        let file = try scratch.write(try await page(of: Executable.samovar), to: "samovar.1")
        let known = try await Child.run("/usr/bin/env", ["sh", "-c", "command -v groff"])
        // It is no part of what the tests need; the macros are checked without it.
        guard known.end == .exited(0) else { return }
        let rendered = try await Child.run("/usr/bin/env", ["groff", "-man", "-Tutf8", "-ww", "-P-c", "-P-b", "-P-u", file])
        #expect(rendered.end == .exited(0) && rendered.errors.isEmpty, "\(rendered.errors)")
        #expect(rendered.output.contains(#"samovar send '{"increment":{}}' --wait settled"#))
    }

    @Test func `The tool is installed with its page`() throws {
        let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Makefile").standardized
        let makefile = try String(contentsOf: path, encoding: .utf8)
        #expect(makefile.contains(#""$$bin" --generate-manual >"$$share/man/man1/samovar.1""#))
    }
}
