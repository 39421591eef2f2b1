import Foundation
import Testing

/// `docs/protocol.md` says which test holds which of its rules.
@Suite struct ProtocolPageTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func page() throws -> String {
        try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
    }

    /// The rows of section 9: a rule, and its tests.
    private func rows() throws -> [String: [GuaranteesTests.Name]] {
        let section = try #require(try page().components(separatedBy: "\n## 9. ").last)
        let rows = section.matches(of: /\n\| ([^|]+) \| ([^|]+) \|/).dropFirst()
        return Dictionary(uniqueKeysWithValues: rows.map { (String($0.1), GuaranteesTests.names(in: String($0.2))) })
    }

    @Test func `The tests of the page are those that there are of foreign peers`() throws {
        var known: Set<GuaranteesTests.Name> = []
        let folder = root.appending(path: "Tests/ForeignPeerTests")
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        where file.pathExtension == "swift" {
            known.formUnion(GuaranteesTests.tests(in: try String(contentsOf: file, encoding: .utf8)))
        }
        let named = Set(try rows().values.joined())
        #expect(known.count > 50, "the sources were not read")
        let differing = named.symmetricDifference(known).map(\.description).sorted()
        #expect(differing.isEmpty, "on one side only:\n\(differing.joined(separator: "\n"))")
    }

    @Test func `Every rule has a row with a test, or is known to be held by the machines alone`() throws {
        let rules = try page().components(separatedBy: "\n## 4. ")[0].matches(of: /(?:^|\n)\*\*([^*]+?)\.?\*\*/).map {
            String($0.1)
        }
        // What a store does over its own death, over hours, or to itself; what a peer does that no store can see; and to whom it hands out what
        // needs something, which no program of these tests orders; what needs thousands of clients.
        let elsewhere: Set = [
            "Durable, then visible", "Timeouts", "Liveness", "Limits", "Limit of clients", "Capabilities",
        ]
        #expect(rules.count > 20, "\(rules)")
        #expect(Set(try rows().keys) == Set(rules).subtracting(elsewhere))
        #expect(try rows().values.allSatisfy { !$0.isEmpty })
    }
}
