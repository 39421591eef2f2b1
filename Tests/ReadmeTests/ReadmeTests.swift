import Foundation
import Testing

/// The README's program is a target of this package, so it compiles; here it is kept the same.
@Suite struct ReadmeTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func theProgramInTheReadmeIsTheOneThatIsCompiled() throws {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        let program = try String(contentsOf: root.appending(path: "Tests/ReadmeProgram/Greeter.swift"), encoding: .utf8)
        #expect(readme.contains("```swift\n\(program)```\n"))
    }

    @Test func `The example of docs/composition.md is the one that is compiled and tested`() throws {
        let article = try String(contentsOf: root.appending(path: "docs/composition.md"), encoding: .utf8)
        let example = try String(
            contentsOf: root.appending(path: "Tests/SamovarCoreTests/CompositionExample.swift"), encoding: .utf8)
        #expect(article.contains("```swift\n\(example)```\n"))
    }

    @Test func `The example of docs/testing.md is the one that is compiled and tested`() throws {
        let article = try String(contentsOf: root.appending(path: "docs/testing.md"), encoding: .utf8)
        let tests = try String(
            contentsOf: root.appending(path: "Tests/CounterExampleTests/CounterStoreTests.swift"), encoding: .utf8)
        let start = try #require(article.range(of: "```swift\n")).upperBound
        let end = try #require(article.range(of: "```\n", range: start..<article.endIndex)).lowerBound
        let example = article[start..<end].split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
        #expect(example.contains("TestStore(Counter.self)") && tests.contains(example))
    }

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
