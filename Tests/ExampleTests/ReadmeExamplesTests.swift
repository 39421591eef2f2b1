import Foundation
import ProcessSupport
import Testing

/// The blocks of Examples/README.md, as somebody would paste them into a shell.
@Suite struct ReadmeExamplesTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private var readme: String {
        get throws { try String(contentsOf: root.appending(path: "Examples/README.md"), encoding: .utf8) }
    }

    /// That of Uptime is tested in the package of Uptime.
    @Test(arguments: ["Counter", "Tally", "Stopwatch", "Twice", "Buttons", "Quotes", "Webhooks"])
    func `What the README says to type prints what it says`(name: String) async throws {
        let scratch = try Scratch()
        try FileManager.default.createSymbolicLink(
            atPath: scratch.folder("Examples"), withDestinationPath: root.appending(path: "Examples").path)
        let transcript = try #require(try ShellTranscript(below: "## \(name)", of: readme))
        let differences = try await transcript.differences(in: scratch)
        #expect(differences == [])
    }

    @Test(arguments: ["production", "deploy"])
    func `What a guide has to be rehearsed goes as it says`(guide: String) async throws {
        let guide = try String(contentsOf: root.appending(path: "docs/\(guide).md"), encoding: .utf8)
        let transcript = try #require(ShellTranscript(below: "## Rehearsal", of: guide))
        let differences = try await transcript.differences(in: Scratch())
        #expect(differences == [])
    }

    @Test func `A transcript that is not so is found out`() async throws {
        let text = "\n# T\n```sh\necho one two\n#> one …\necho three\n#> …four\necho\n#> \necho five\n#> five\n#> six\nfalse\n```\n"
        let transcript = try #require(ShellTranscript(below: "# T", of: text))
        let differences = try await transcript.differences(in: Scratch())
        #expect(differences.count == 3, "\(differences)")
        #expect(differences.first == "exit code 1 after 4 commands: \n")
        #expect(differences.dropFirst().first == "echo three has printed\nthree\nand not\n…four")
        #expect(ShellTranscript(below: "# U", of: text) == nil)
    }

    @Test func `Every example is in the README, and is short`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: root.appending(path: "Examples").path)
            .filter { !["Conform", "Dupes", "README.md", "python"].contains($0) }
        let readme = try readme
        for folder in folders {
            #expect(readme.contains("\n## \(folder)\n"), "\(folder)")
            let section = readme.components(separatedBy: "\n## ").first { $0.hasPrefix("\(folder)\n") } ?? ""
            #expect(section.split(separator: "\n", omittingEmptySubsequences: false).count <= 30, "\(section)")
            let path = root.appending(path: "Examples/\(folder)")
            let files = try #require(FileManager.default.enumerator(atPath: path.path)).compactMap { $0 as? String }
            let sources = files.filter { file in
                // Nobody writes or reads a codec.
                file.hasSuffix(".swift") && !["Package.swift", "Codec.swift"].contains(file) && !file.hasPrefix("Tests/")
                    && !file.hasPrefix(".")
            }
            let texts = try sources.map { try String(contentsOf: path.appending(path: $0), encoding: .utf8) }
            let lines = texts.reduce(0) { $0 + $1.count { $0 == "\n" } }
            #expect((1..<(folder == "Webhooks" ? 300 : 150)).contains(lines), "\(folder) has \(lines) lines")
        }
    }
}
