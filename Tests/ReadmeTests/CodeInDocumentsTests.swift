import Foundation
import Testing

/// Each block of Swift in README.md, docs and the reference is a part of a source that is compiled, and that the tests run.
///
/// A source says which part: from `// snippet: name` to `// end`. What is in a document is compared with that as a whole, but for
/// indentation. Code of other designs is not compiled; the line before it says so, and how much of it there is, is said here.
@Suite struct CodeInDocumentsTests {
    /// Blocks that are not compiled, by document: one of each design that somebody may come from.
    private static let theirs = [
        "docs/coming-from/elementary.md": 1, "docs/coming-from/keemun.md": 1, "docs/coming-from/static-program.md": 1,
        "docs/coming-from/swift-elm-sample.md": 1, "docs/coming-from/swiftea.md": 1,
    ]

    private static func snippets() throws -> [Snippet] {
        try Checkout.files(below: "Tests", "Examples", ending: ".swift").flatMap { path in
            // Here the markers are text.
            path.hasPrefix("Tests/ReadmeTests/") ? [] : try Snippet.all(in: try Checkout.text(path), at: path)
        }
    }

    @Test func `Each block of Swift in a document is compiled`() throws {
        let snippets = Dictionary(grouping: try Self.snippets(), by: \.code)
        var theirs: [String: Int] = [:]
        for document in try Checkout.documents() {
            for block in CodeBlock.all(in: try Checkout.text(document)) {
                if block.isTheirs {
                    theirs[document, default: 0] += 1
                } else {
                    #expect(
                        snippets[block.code] != nil,
                        "the code at \(document):\(block.line) is no snippet: put it between “// snippet: name” and “// end” in a source of Tests"
                    )
                }
            }
        }
        #expect(theirs == Self.theirs)
    }

    @Test func `Each snippet is in a document, and has a name of its own`() throws {
        let blocks = Set(try Checkout.documents().flatMap { CodeBlock.all(in: try Checkout.text($0)).map(\.code) })
        let snippets = try Self.snippets()
        #expect(snippets.count >= 20)
        for snippet in snippets {
            #expect(blocks.contains(snippet.code), "snippet \(snippet.name) of \(snippet.path) is in no document")
        }
        #expect(Set(snippets.map(\.name)).count == snippets.count)
    }

    /// A snippet must be code that a target compiles, not text that looks so.
    @Test func `No snippet is in a source that is not compiled as it stands`() throws {
        let manifest = try Checkout.text("Package.swift")
        for path in Set(try Self.snippets().map(\.path)) {
            let folder = path.split(separator: "/").prefix(2).joined(separator: "/")
            let name = folder.split(separator: "/")[1]
            #expect(
                manifest.contains("path: \"\(folder)\"") || manifest.contains(".testTarget(name: \"\(name)\"")
                    || manifest.contains("            name: \"\(name)\""), "\(path) belongs to no target")
            let source = try Checkout.text(path)
            for word in ["#if", "/*", "\"\"\""] { #expect(!source.contains(word), "\(path) has \(word)") }
        }
    }

    @Test func `Blocks and snippets are found as they are written`() throws {
        let document = """
            a
            ```swift
            let x = 1
            ```
            - b
              ```swift
              if x {
                  y
              }
              ```
            <!-- not compiled -->

            ```swift
            z
            ```
            ```sh
            ls
            ```
            """
        let blocks = CodeBlock.all(in: document)
        #expect(blocks.map(\.code) == ["let x = 1", "if x {\n    y\n}", "z"])
        #expect(blocks.map(\.isTheirs) == [false, false, true])
        let source = "a\n    // snippet: one\n    b {\n\n        c\n    }\n    // end\n// end\n"
        #expect(try Snippet.all(in: source, at: "").map(\.code) == ["b {\n\n    c\n}"])
        #expect(throws: Snippet.Malformed.self) { try Snippet.all(in: "// snippet: one\na\n", at: "") }
        #expect(throws: Snippet.Malformed.self) { try Snippet.all(in: "// snippet: one\n// snippet: two\n// end\n", at: "") }
    }

    @Test func `Links between documents lead somewhere`() throws {
        for document in try Checkout.documents() {
            let folder = Checkout.root.appending(path: document).deletingLastPathComponent()
            for match in try Checkout.text(document).matches(of: /\]\(([^)\s#]+)(#[^)]*)?\)/) {
                let link = String(match.1)
                if link.hasPrefix("http") { continue }
                let target = folder.appending(path: link).standardized
                #expect(FileManager.default.fileExists(atPath: target.path), "\(document) has a link to \(link)")
            }
        }
    }

    /// In shell and in text: `counter send …`, `samovar new …`, `journal export`.
    @Test func `Each command that a document names is there`() throws {
        var commands: Set<Substring> = ["journal", "help"]
        var ofJournals: Set<Substring> = []
        for path in try Checkout.files(
            below: "Sources/SamovarCommands", "Sources/SamovarCLI", "Sources/NewCommand", "Sources/SimulateCommand",
            "Sources/ConformCommand",
            ending: ".swift")
        {
            for match in try Checkout.text(path).matches(of: /commandName: "([a-z]+)"/) {
                let name = match.1
                if path.contains("/Commands/Journal/") { ofJournals.insert(name) } else { commands.insert(name) }
            }
        }
        #expect(commands.isSuperset(of: ["up", "send", "new"]) && ofJournals.isSuperset(of: ["list", "export"]))
        var count = 0
        for document in try Checkout.documents() {
            let text = try Checkout.text(document)
            for match in text.matches(of: /(?m)(?:^|`)(?:counter|dupes|tally|samovar) ([a-z]+)/) {
                count += 1
                #expect(commands.contains(match.1), "\(document) names the command \(match.1)")
            }
            for match in text.matches(of: /(?:`|counter |samovar )journal ([a-z]+)/) {
                count += 1
                #expect(ofJournals.contains(match.1), "\(document) names the command journal \(match.1)")
            }
        }
        #expect(count > 20)
    }
}
