import Foundation
import Testing

/// docs/seeds.md names a test for each concept that Samovar took from other designs. Here each row must be there, and each test.
@Suite struct SeedsTableTests {
    struct Row {
        let id: String
        let cells: [String]

        /// `Suite` and the name of the test.
        var proofs: [(suite: String, name: String)] {
            guard let last = cells.last else { return [] }
            return last.matches(of: /`([^`\/]+)\/([^`]+)`/).map { (String($0.1), String($0.2)) }
        }

        var isNotWanted: Bool { cells.contains { $0.hasPrefix("not wanted: ") && $0.count > 40 } }
    }

    /// Concepts that are left out on purpose.
    private static let mostNotWanted = 5

    private static func rows() throws -> [Row] {
        try Checkout.text("docs/seeds.md").split(separator: "\n").compactMap { line in
            guard line.wholeMatch(of: /\| [A-Z][0-9]+ \|.*\|/) != nil else { return nil }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            return Row(id: cells[0], cells: Array(cells.dropFirst()))
        }
    }

    /// The source of each suite: its type and the extensions of it.
    private static func sources() throws -> [String: String] {
        var sources: [String: String] = [:]
        for path in try Checkout.files(below: "Tests", ending: ".swift") {
            let source = try Checkout.text(path)
            for line in source.split(separator: "\n") where line.utf8.first != UInt8(ascii: " ") {
                let words = line.split { $0 == " " || $0 == ":" }
                guard let kind = words.firstIndex(where: { ["struct", "class", "extension"].contains($0) }),
                    kind + 1 < words.count
                else { continue }
                sources[String(words[kind + 1]), default: ""] += source
            }
        }
        return sources
    }

    private static let ids: [String] =
        [("K", 49), ("E", 25), ("T", 23), ("S", 26), ("W", 32), ("C", 20)].flatMap { letter, count in
            (1...count).map { "\(letter)\($0)" }
        }

    @Test func `Each concept has its row, and what proves it exists`() throws {
        let rows = try Self.rows()
        #expect(rows.map(\.id) == Self.ids)
        let sources = try Self.sources()
        for row in rows {
            if row.isNotWanted { continue }
            #expect(!row.proofs.isEmpty, "\(row.id) names no test as `Suite/name`")
            for (suite, name) in row.proofs {
                guard let source = sources[suite] else {
                    Issue.record("\(row.id): there is no suite \(suite)")
                    continue
                }
                #expect(
                    source.contains("func `\(name)`(") || source.contains("func \(name)("),
                    "\(row.id): \(suite) has no test “\(name)”")
            }
        }
    }

    @Test func `Few concepts are not wanted, each with its reason`() throws {
        let rows = try Self.rows().filter(\.isNotWanted)
        #expect(rows.count <= Self.mostNotWanted)
        #expect(rows.allSatisfy { $0.proofs.isEmpty })
    }

    @Test func `A contract is a test that is named after it`() throws {
        for row in try Self.rows() where row.id.hasPrefix("C") {
            #expect(row.proofs.allSatisfy { $0.name.hasPrefix("\(row.id): ") }, "\(row.id)")
        }
    }

    @Test(arguments: ["keemun", "elementary", "swift-elm-sample", "static-program", "swiftea"])
    func `Each design that somebody may come from has a page of names, of a port and of what differs`(_ page: String) throws {
        #expect(try Checkout.text("docs/seeds.md").contains("(coming-from/\(page).md)"))
        let text = try Checkout.text("docs/coming-from/\(page).md")
        for heading in ["## Names", "## A port", "## What differs"] {
            #expect(text.contains("\n\(heading)\n"), "\(page): \(heading)")
        }
        let blocks = CodeBlock.all(in: text)
        #expect(blocks.contains { $0.isTheirs } && blocks.contains { !$0.isTheirs })
    }
}
