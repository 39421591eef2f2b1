import Foundation
import Testing

/// Whoever imports one of these modules finds a sentence beside each name.
@Suite struct PublicDocumentationTests {
    /// The modules that programs, tests and tools import.
    private static let modules = [
        "SamovarCore", "MessagePack", "SamovarWorker", "SamovarHost", "SamovarTesting", "SamovarText", "SamovarCommands",
    ]

    /// What a declaration is of; before it stand attributes and modifiers.
    private static let kinds: Set<Substring> = [
        "let", "var", "func", "init", "struct", "enum", "class", "protocol", "typealias", "subscript", "actor",
    ]

    /// Public declarations without a comment above them, as `path:line`.
    static func undocumented(in source: String, at path: String) -> [String] {
        let lines = source.split(separator: "\n", omittingEmptySubsequences: false)
        return lines.indices.filter { index in
            guard isPublic(lines[index]) else { return false }
            var above = index - 1
            while above >= 0, isAttribute(lines[above]) { above -= 1 }
            return above < 0 || !text(lines[above]).hasPrefix("///")
        }.map { "\(path):\($0 + 1)" }
    }

    private static func isPublic(_ line: Substring) -> Bool {
        // Most lines are none, and this is a quick way to know it.
        guard line.utf8.contains(UInt8(ascii: "p")), line.contains("public ") else { return false }
        let words = text(line).split { $0 == " " || $0 == "(" || $0 == ":" }
        let start = words.firstIndex { !$0.hasPrefix("@") } ?? words.endIndex
        guard start < words.endIndex, words[start] == "public" else { return false }
        return words[start...].contains { kinds.contains($0) }
    }

    private static func isAttribute(_ line: Substring) -> Bool {
        let text = text(line)
        return text.hasPrefix("@") && !text.contains("public ")
    }

    private static func text(_ line: Substring) -> Substring { line.drop { $0 == " " } }

    @Test(arguments: modules) func `Each public declaration has a comment`(_ module: String) throws {
        for path in try Checkout.files(below: "Sources/\(module)", ending: ".swift") {
            let missing = Self.undocumented(in: try Checkout.text(path), at: path)
            #expect(missing.isEmpty, "public and without a comment: \(missing.joined(separator: ", "))")
        }
    }

    @Test func `A declaration without a comment is found, whatever stands before it`() {
        let source = """
            /// Here is one.
            @inlinable
            public func a() {}
            @inlinable
            public func b() {}
            @inlinable public static var c: Int { 0 }
            public private(set) var d = 0
            // This is none.
            public indirect enum E {}
            func f() {}
            /// Here is one, too.
            public init() {}
            """
        #expect(Self.undocumented(in: source, at: "x") == ["x:5", "x:6", "x:7", "x:9"])
    }
}
