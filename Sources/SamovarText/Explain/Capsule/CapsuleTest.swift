import Foundation
import MessagePack
import SamovarCore
package import SamovarStore
import SamovarWire

/// The source of a test that lets a capsule happen again, and expects that what failed does not fail.
package struct CapsuleTest {
    /// Bytes of a capsule that a source holds: above them it is a file beside it.
    package static let maximumInSource = 64 << 10
    /// Inputs that are told.
    private static let maximumTold = 20
    /// Characters of a line of base64.
    private static let width = 120

    let content: CapsuleContent
    /// What shall not be so.
    let goal: Bisection.Goal
    /// The expression, or the name of the invariant.
    let text: String
    /// The name of the file with the capsule; nil if the source holds it.
    let file: String?
    let module: String
    let type: String

    /// - Parameter program: as the runtime names it, such as `TallyExample.Tally`.
    /// - Throws: `CommandFailure` for a type that no test can name.
    package init(
        _ content: CapsuleContent, _ goal: Bisection.Goal, text: String, file: String?, program: String
    ) throws(CommandFailure) {
        guard let dot = program.firstIndex(of: "."), !program.contains("("), !program.contains("$") else {
            throw CommandFailure(.badData, "no test can name the program \(program): it must not be private, nor in a function")
        }
        (self.content, self.goal, self.text, self.file) = (content, goal, text, file)
        module = String(program[..<dot])
        type = String(program[program.index(after: dot)...])
    }

    private var turns: String { "\(content.turn + 1) to \(content.last)" }

    package var source: String {
        """
        \(imports)import SamovarTesting
        import Testing

        @testable import \(module)

        \(told)
        @Test func `Turns \(turns) do no harm`() throws {
            let capsule = try Capsule(\(file.map { "beside: #filePath, \"\($0)\"" } ?? "base64: \(literal)"))
            let end = try capsule.replay(\(type).self)
            \(expectation)
        }

        """
    }

    /// Expressions come from there.
    private var imports: String { if case .expression = goal { "import Samovar\n" } else { "" } }

    private var expectation: String {
        switch goal {
        case .broken: "#expect(!end.broken.contains(\(swiftLiteral(text))))"
        case .expression: "#expect(try !\(type).isTrue(\(swiftLiteral(text)), of: end.state))"
        }
    }

    /// What happened, for a person, as comments.
    private var told: String {
        let begin = content.turn > 0 ? "With the state after turn \(content.turn):" : "From the start:"
        let items = content.items.prefix(Self.maximumTold).map { item in
            "/// - \(item.record.turn) \(Self.words(for: item.record)) ← \(item.record.originText)"
        }
        let left = content.items.count - Self.maximumTold
        return (["/// \(begin)"] + items + (left > 0 ? ["/// - … and \(left) more"] : [])).joined(separator: "\n")
    }

    private static func words(for record: Record) -> String {
        if case .started = record.event { return "start" }
        return record.detail == .nil ? record.kind : ViewText.line(of: record.detail)
    }

    private var literal: String {
        let text = Array(Data(content.bytes).base64EncodedString())
        let lines = stride(from: 0, to: text.count, by: Self.width).map { start in
            "        " + String(text[start..<min(text.count, start + Self.width)])
        }
        return "\"\"\"\n\(lines.joined(separator: "\n"))\n        \"\"\""
    }
}
