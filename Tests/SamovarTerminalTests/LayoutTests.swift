import MessagePack
import SamovarCore
import Testing

@testable import SamovarTerminal

@Suite struct LayoutTests {
    @Test func `A panel is drawn from its title to its last node`() throws {
        let panel = Panel<Order>(
            "Orchard",
            [
                .text("3 apples", .strong), .columns([.button("pick", send: .increment), .button("drop", send: .remove(id: 1))]),
                .space,
                .section("More", ["inside", .field("Name", holds: "ada") { .rename(to: $0) }]),
            ])
        #expect(
            draw(try read(panel)) == [
                "Orchard", "", "3 apples", "[pick]  [drop]", "",
                "╭─ More ─────────────────────────╮",
                "│ inside                         │",
                "│ Name  ada                      │",
                "╰────────────────────────────────╯",
            ])
    }

    @Test func `Columns that do not fit go below one another`() throws {
        let node = PanelNode<Order>.columns([.text("aaaa"), .text("bbbb"), .text("cccc")])
        #expect(try draw(node, width: 16) == ["aaaa  bbbb  cccc"])
        #expect(try draw(node, width: 15) == ["aaaa  bbbb", "cccc"])
        #expect(try draw(node, width: 5) == ["aaaa", "bbbb", "cccc"])
    }

    @Test func `Columns of different heights stand side by side`() throws {
        let node = PanelNode<Order>.columns([.rows(["a", "bb", "c"]), .section("s", ["x"])])
        #expect(try draw(node) == ["a   ╭─ s ─╮", "bb  │ x   │", "c   ╰─────╯"])
    }

    @Test func `A table aligns its columns, and narrows the widest first`() throws {
        let node = PanelNode<Order>.table(
            ["name", PanelColumn("size", .right), ""],
            rows: [["ada", "7", .button("x", send: .increment)], ["grace hopper", "12345"], ["世界", "1"]])
        #expect(
            try draw(node) == [
                "name           size", "ada               7  [x]", "grace hopper  12345", "世界              1",
            ])
        #expect(
            try draw(node, width: 19) == [
                "name      size", "ada          7  [x]", "grace …  12345", "世界         1",
            ])
    }

    @Test func `What is narrowed keeps its order and fills the room`() {
        #expect(PanelLayout.narrowed([5, 20, 3], to: 40) == [5, 20, 3])
        #expect(PanelLayout.narrowed([5, 20, 3], to: 18) == [5, 10, 3])
        #expect(PanelLayout.narrowed([10, 10], to: 7) == [3, 4])
        #expect(PanelLayout.narrowed([4, 4], to: -3) == [0, 0])
        #expect(PanelLayout.narrowed([], to: 3) == [])
    }

    @Test func `Labels that stand below one another leave their values at one column`() throws {
        let nodes: [PanelNode<Order>] = [
            .gauge("cpu", 0.5), .gauge("memory", 3, in: 0...4, unit: "GiB"), .progress("files", done: 1, of: 4),
        ]
        #expect(
            try draw(.rows(nodes)) == [
                "cpu     ██████████░░░░░░░░░░ 50 %", "memory  ███████████████░░░░░ 3 GiB", "files   █████░░░░░░░░░░░░░░░ 1 of 4",
            ])
    }

    @Test(arguments: [Double.nan, .infinity, -.infinity, -1, 2, 1e300, .leastNonzeroMagnitude])
    func `A gauge stays within its bar, whatever its numbers are`(number: Double) throws {
        for gauge in [
            PanelGauge(label: "", value: number, from: 0, to: 1), PanelGauge(label: "", value: 1, from: number, to: 1),
            PanelGauge(label: "", value: 1, from: 0, to: number), PanelGauge(label: "", value: number, from: number, to: number),
        ] {
            let lines = try draw(PanelNode<Order>.gauge(gauge), width: 400)
            #expect(lines.first?.filter { "█░".contains($0) }.count == 20)
        }
    }

    @Test func `Progress without a total, or with a senseless one, has an empty bar`() throws {
        for (done, total) in [(3, nil), (3, 0), (3, -1), (-3, 4)] as [(Int, Int?)] {
            #expect(try draw(PanelNode<Order>.progress("", done: done, of: total)).first?.contains("█") == false)
        }
        #expect(try draw(PanelNode<Order>.progress("", done: .max, of: .max)).first?.contains("░") == false)
    }

    @Test func `No line is wider than the screen, however narrow that is`() throws {
        let panel = Panel<Order>(
            "A title that is long",
            [
                .text("words and words and 世界世界世界"), .button("a button with words", send: .increment),
                .columns([.section("inner", [.table(["a", "b"], rows: [["long long long", "世界世界"]])]), .gauge("load", 0.3)]),
                .field("a field") { .rename(to: $0) }, .integerField("n") { .add(count: $0) }, .progress("p", done: 1, of: 3),
            ])
        let read = try read(panel)
        for width in 1...80 {
            let controls = PanelControl.all(of: read)
            let layout = PanelLayout(controls, PanelLimits())
            let block = layout.block(of: read, width: width)
            var grid = Grid(size: GridSize(columns: width, rows: 100))
            for (row, cells) in block.rows.enumerated() { grid.set(row, cells) }
            #expect(grid.rows.allSatisfy { $0.count == width })
            #expect(Set(block.places.map(\.control)).count == controls.count, "\(width)")
        }
    }

    @Test func `The deepest and widest panel is drawn in bounded time and lines`() throws {
        var node = PanelNode<Order>.columns((0..<200).map { .text("\($0)") })
        for _ in 0..<14 { node = .columns([node, .section("s", ["x"])]) }
        #expect(draw(try read(Panel("", [node])), width: 20).count < PanelLimits().lines)
        let many = Panel<Order>("", (0..<10_000).map { .section("\($0)", ["x", "y", "z"]) })
        #expect(draw(try read(many), width: 80).count <= PanelLimits().lines)
    }
}
