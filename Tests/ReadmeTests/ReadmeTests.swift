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

    @Test func theReadmeIsShortAndItsLinksLeadSomewhere() throws {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 200)
        for link in readme.matches(of: /\]\(([^)]+)\)/).map(\.1) where !link.hasPrefix("http") {
            #expect(FileManager.default.fileExists(atPath: root.appending(path: String(link)).path), "\(link)")
        }
    }
}
