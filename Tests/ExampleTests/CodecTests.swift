import Foundation
import ProcessSupport
import Testing

/// The source that `schema --codec` writes stands beside each example.
@Suite struct CodecTests {
    private static let examples = [
        "buttons": "Buttons", "counter": "Counter", "quotes": "Quotes", "stopwatch": "Stopwatch", "tally": "Tally",
        "twice": "Twice",
    ]

    @Test(arguments: examples.keys.sorted()) func `The code of an example is what its program writes`(name: String) async throws {
        let scratch = try Scratch()
        let folder = try #require(Self.examples[name])
        let kept = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
            path: "../../Examples/\(folder)/Codec.swift")
        let written = scratch.folder("Codec.swift")
        let child = try Child(Executable.path(name), ["schema", "--codec", "--write", written], in: scratch)
        try await child.wait()
        #expect(child.end == .exited(0))
        let source = try String(contentsOfFile: written, encoding: .utf8)
        #expect(try String(contentsOf: kept, encoding: .utf8) == source, "write it anew")
    }
}
