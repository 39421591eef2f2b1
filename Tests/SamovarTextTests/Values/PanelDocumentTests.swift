import Foundation
import MessagePack
import SamovarText
import SamovarCore
import Testing

/// `docs/panel.md` is what renderers and programs in other languages are written after.
@Suite struct PanelDocumentTests {
    private enum Input: Portable {
        case pick(tree: Int)
        case rest
        case plant(String)
    }

    private let panel = Panel<Input>(
        "Orchard",
        [
            .text("3 trees", .strong), .gauge("water", 30, in: 0...40, unit: "l"),
            .columns([.button("pick", send: .pick(tree: 7)), .button("rest", send: .rest)]),
            .field("plant") { .plant($0) },
        ])

    private func block(_ language: String) throws -> String {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../../../docs/panel.md")
        let document = try String(contentsOf: file, encoding: .utf8)
        let start = try #require(document.range(of: "```\(language)\n"))
        let end = try #require(document[start.upperBound...].range(of: "\n```"))
        return String(document[start.upperBound..<end.lowerBound])
    }

    @Test func `The example of the document is drawn as the document shows`() throws {
        #expect(ViewText.lines(of: try JSONTranscoder.parse(try block("json"))).joined(separator: "\n") == (try block("text")))
    }

    @Test func `The example is what a program's panel is encoded as`() throws {
        var writer = MessagePackWriter()
        try JSONTranscoder.parse(try block("json")).write(to: &writer)
        let decoder = MessagePackDecoder(lenient: true)
        #expect(try decoder.decode(Panel<Input>.self, from: writer.bytes) == panel)
        var reader = MessagePackReader(try MessagePackEncoder().encode(panel))
        #expect(ViewText.lines(of: try reader.readValue()).joined(separator: "\n") == (try block("text")))
    }

    @Test func `What may be left out is`() throws {
        let text = """
            {"panel": 1, "of": [
              {"kind": "text", "text": "3 trees"}, {"kind": "gauge", "label": "water", "value": 30, "from": 0, "to": 40},
              {"kind": "progress", "label": "picked", "done": 3}, {"kind": "table", "columns": [{"title": "tree"}], "rows": []}
            ]}
            """
        let panel = try MessagePackDecoder(lenient: true).decode(Panel<Input>.self, from: JSONTranscoder.parse(text).encoded)
        let nodes: [PanelNode<Input>] = [
            .text("3 trees", .plain), .gauge("water", 30, in: 0...40), .progress("picked", done: 3), .table(["tree"], rows: []),
        ]
        #expect(panel == Panel("", nodes))
    }

    @Test func `A panel in one line is its words`() throws {
        #expect(
            ViewText.line(of: try JSONTranscoder.parse(try block("json")))
                == "Orchard · 3 trees · water ███████████████░░░░░ 30 l · [pick] [rest] · plant")
    }
}
