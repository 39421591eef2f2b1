import Foundation
import Testing

/// What the README promises about itself; for the code in it, see `CodeInDocumentsTests`.
@Suite struct ReadmeTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func theReadmeIsShortAndItsLinksLeadSomewhere() throws {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        // The examples are to be tried one at a time, and each of them is short.
        let examples = try #require(readme.range(of: "\n## Examples\n")).lowerBound
        let rest = try #require(readme.range(of: "\n## ", range: readme.index(after: examples)..<readme.endIndex)).lowerBound
        #expect((readme[..<examples] + readme[rest...]).split(separator: "\n", omittingEmptySubsequences: false).count <= 200)
        for example in readme[examples..<rest].components(separatedBy: "\n### ") {
            #expect(example.split(separator: "\n", omittingEmptySubsequences: false).count <= 30, "\(example)")
        }
        for link in readme.matches(of: /\]\(([^)]+)\)/).map(\.1) where !link.hasPrefix("http") {
            #expect(FileManager.default.fileExists(atPath: root.appending(path: String(link)).path), "\(link)")
        }
    }
}
