import MessagePack
import SamovarCore
import Testing

@testable import SamovarTerminal

@Suite struct PanelReaderTests {
    @Test func `Every kind of node is read as it was written, without knowing the program's types`() throws {
        let panel = Panel<Order>(
            "Orchard",
            [
                "plain", .text("strong", .strong), .button("pick", send: .increment), .rows(["a"]), .columns(["b"]),
                .section("more", ["c"]),
                .table(["x", PanelColumn("y", .right)], rows: [["1", .button("z", send: .remove(id: 7))]]),
                .gauge("load", 42, in: 0...100, unit: "%"), .progress("done", done: 1, of: 2), .progress("seen", done: 3),
                .field("name", holds: "ada") { .rename(to: $0) }, .integerField("count") { .add(count: $0) },
                .numberField("scale") { .scale(by: $0) }, .space,
            ])
        let expected = AnyPanel(
            "Orchard",
            [
                "plain", .text("strong", .strong), .button("pick", send: try value(.increment)), .rows(["a"]), .columns(["b"]),
                .section("more", ["c"]),
                .table(["x", PanelColumn("y", .right)], rows: [["1", .button("z", send: try value(.remove(id: 7)))]]),
                .gauge("load", 42, in: 0...100, unit: "%"), .progress("done", done: 1, of: 2), .progress("seen", done: 3),
                try field(.text, "name", holds: "ada", .rename(to: "a"), .rename(to: "b")),
                try field(.integer, "count", .add(count: 1), .add(count: 2)),
                try field(.number, "scale", .scale(by: 0.5), .scale(by: 1.5)), .space,
            ])
        #expect(try read(panel) == expected)
        let bytes = try MessagePackEncoder().encode(panel)
        #expect(try MessagePackDecoder().decode(Panel<Order>.self, from: bytes) == panel)
    }

    private func field(
        _ kind: PanelFieldKind, _ label: String, holds: String = "", _ first: Order, _ second: Order
    ) throws -> AnyPanelNode {
        .field(PanelField(label: label, kind: kind, holds: holds, first: try value(first), second: try value(second)))
    }

    @Test func `A view is a panel, has one under the key panel, or has none`() {
        let panel: MessagePackValue = ["panel": 1, "title": "t", "of": [["kind": "space"]]]
        let expected = AnyPanel("t", [.space])
        #expect(PanelReader.panel(in: panel) == expected)
        #expect(PanelReader.panel(in: ["count": 3, "panel": panel]) == expected)
        let others: [MessagePackValue] = [
            nil, 1, "panel", ["panel": nil], ["panel": "x"], ["panel": ["panel": ["panel": 1]]], [panel], ["kind": "text"],
        ]
        for other in others { #expect(PanelReader.panel(in: other) == nil) }
    }

    @Test func `A panel of another version is not guessed at`() {
        #expect(
            PanelReader.panel(in: ["panel": 2, "of": []])
                == AnyPanel("", [.text("a panel of version 2; this renderer draws version 1", .bad)]))
    }

    @Test(
        arguments: [
            (nil, "a node without a kind"),
            (["kind": "graph"], "an unknown kind of node: graph"),
            (["kind": "button", "label": "x"], "a button that sends nothing"),
            (["kind": "rows"], "a list of nodes is missing"),
            (["kind": "table", "columns": []], "a table without columns or rows"),
            (["kind": "field", "type": "text", "send": ["a"]], "a field without its two inputs"),
            (["kind": "field", "type": "date", "send": ["a", "b"]], "a field of no known type"),
            (
                ["kind": "field", "label": "n", "type": "text", "send": ["a", "c"]],
                "the inputs of the field n differ by more than the typed value"
            ),
        ] as [(MessagePackValue, String)])
    func `A node that cannot be understood says why in its place`(node: MessagePackValue, reason: String) {
        let panel = PanelReader.panel(in: ["panel": 1, "of": [node, ["kind": "text", "text": "after"]]])
        #expect(panel.map { draw($0, width: 100) } == [reason, "after"])
    }

    @Test func `What exceeds the limits is left out, and a text says so`() throws {
        var limits = PanelLimits()
        limits.nodes = 3
        #expect(draw(try read(Panel("", ["1", "2", "3", "4", "5"]), limits)) == ["1", "2", "3", "… and more"])
        limits = PanelLimits()
        limits.depth = 2
        #expect(draw(try read(Panel("", [.rows([.rows(["deep"])])]), limits)) == ["… nested too deep"])
        limits = PanelLimits()
        limits.scalars = 5
        #expect(draw(try read(Panel("", ["abc", "defg", "h"]), limits)) == ["abc", "de…", "… and more"])
        limits = PanelLimits()
        limits.tableColumns = 1
        #expect(draw(try read(Panel("", [.table(["a", "b"], rows: [["1", "2"]])]), limits)) == ["a", "1"])
        limits = PanelLimits()
        limits.nodes = 2
        // There is no column for it.
        #expect(draw(try read(Panel("", [.table([], rows: [[], [], []])]), limits)).allSatisfy(\.isEmpty))
    }
}
