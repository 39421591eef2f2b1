import Foundation
import MachineSupport
import Testing

@testable import SamovarWire

/// The bytes of each kind, as `docs/protocol.md` shows them to who writes a peer in another language.
@Suite struct GoldenTests {
    @Test(arguments: FrameExample.all)
    func `The document shows the bytes`(_ example: FrameExample) throws {
        let documented = try #require(try Self.documented()[example.name], "docs/protocol.md has no bytes of \(example.name)")
        #expect(documented == example.envelope.parts.map(hexadecimal))
    }

    @Test func `The document shows nothing else`() throws {
        #expect(try Set(Self.documented().keys) == Set(FrameExample.all.map(\.name)))
    }

    private func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }

    /// The blocks marked `golden`: a name, and below it the hexadecimal digits of each part, one part in a line.
    private static func documented() throws -> [String: [String]] {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let document = try String(contentsOf: root.appending(path: "docs/protocol.md"), encoding: .utf8)
        var examples: [String: [String]] = [:]
        var name: String?
        var isGolden = false
        for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isGolden = line == "```golden"
                name = nil
            } else if isGolden, line.hasPrefix("  "), let name {
                examples[name, default: []].append(line.filter { $0 != " " })
            } else if isGolden, !line.isEmpty {
                name = String(line)
                examples[String(line)] = []
            }
        }
        return examples
    }
}
