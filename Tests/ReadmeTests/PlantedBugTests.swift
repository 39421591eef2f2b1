import Foundation
import ProcessSupport
import Testing

/// The patches that `make planted` applies to a copy of the machines; see docs/simulator.md.
@Suite struct PlantedBugTests {
    private static func names() throws -> [String] {
        let files = try FileManager.default.contentsOfDirectory(atPath: Checkout.root.appending(path: "Mutants/Planted").path)
        return files.filter { $0.hasSuffix(".patch") }.map { String($0.dropLast(6)) }.sorted()
    }

    @Test func `Each planted bug still fits the sources, alone and with all others`() async throws {
        let names = try Self.names()
        #expect(names.count >= 57)
        for name in names {
            let (isFit, text) = try await Self.fits([name])
            #expect(isFit, "Mutants/Planted/\(name).patch does not fit the sources any more: \(text)")
        }
        let (isFit, text) = try await Self.fits(names)
        #expect(isFit, "the patches in Mutants/Planted do not fit together: \(text)")
    }

    @Test func `Each planted bug says what is wrong, and waits for its name`() throws {
        for name in try Self.names() {
            let lines = try Checkout.text("Mutants/Planted/\(name).patch").split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines[0].hasSuffix(".") && lines[1].isEmpty, "\(name) does not begin with a sentence")
            let isNamed = lines.contains { $0.hasPrefix("+") && $0.contains("planted(\"\(name)\")") }
            #expect(isNamed, "\(name) does not wait for its name")
        }
    }

    @Test func `The table of planted bugs has each of them, with its sentence`() throws {
        let table = try Checkout.text("docs/simulator.md")
        let rows = table.split(separator: "\n").filter { $0.contains(/^\| [a-z]\w+ \| .*\. \| I\d+ \| [1-9]\d* \|$/) }
        let names = try Self.names()
        #expect(rows.count == names.count)
        for name in names {
            let sentence = try Checkout.text("Mutants/Planted/\(name).patch").prefix { $0 != "\n" }
            #expect(rows.contains { $0.hasPrefix("| \(name) | \(sentence) | ") }, "docs/simulator.md has no row for \(name)")
        }
    }

    @Test func `No source has a switch for a planted bug`() throws {
        for path in try Checkout.files(below: "Sources", ending: ".swift") {
            let source = try Checkout.text(path)
            #expect(!source.contains("planted(") && !source.contains("SAMOVAR_PLANTED"), "\(path)")
        }
    }

    /// Whether git would apply these patches, and what it says if not.
    private static func fits(_ names: [String]) async throws -> (Bool, String) {
        let root = Checkout.root
        // If a repository lies around a checkout that is none, git would pass over the sources.
        let git = try await Child.run(
            "git", ["-C", root.path, "apply", "--check"] + names.map { "Mutants/Planted/\($0).patch" },
            variables: ["GIT_CEILING_DIRECTORIES": root.deletingLastPathComponent().path])
        return (git.end == .exited(0), git.errors)
    }
}
