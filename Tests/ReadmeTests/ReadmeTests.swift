import Foundation
import Testing

/// What the README promises about itself; for the code in it, see `CodeInDocumentsTests`.
@Suite struct ReadmeTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `The readme is short and its links lead somewhere`() throws {
        let readme = try String(contentsOf: root.appending(path: "README.md"), encoding: .utf8)
        #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 200)
        for link in readme.matches(of: /\]\(([^)]+)\)/).map(\.1) where !link.hasPrefix("http") {
            #expect(FileManager.default.fileExists(atPath: root.appending(path: String(link)).path), "\(link)")
        }
    }
}
