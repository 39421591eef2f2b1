import ProcessSupport
import Testing

@testable import SamovarTerminal

@Suite struct GridDifferenceTests {
    private let theme = Theme(hasColours: true)

    private func grid(_ lines: [String], columns: Int = 12, style: CellStyle = .plain, cursor: Grid.Place? = nil) -> Grid {
        var grid = Grid(size: GridSize(columns: columns, rows: lines.count))
        for (row, line) in lines.enumerated() { grid.set(row, [Cell](Glyph.glyphs(of: line, PanelLimits()), style)) }
        grid.cursor = cursor
        return grid
    }

    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self).replacing("\u{1b}", with: "^") }

    @Test func `At first everything that is not blank is written on an empty screen`() {
        #expect(text(grid(["ab", "", "c"]).bytes(from: nil, theme)) == "^[0m^[2J^[1;1Hab^[3;1Hc^[?25l")
    }

    @Test func `An equal grid writes nothing`() {
        let grid = grid(["ab", "世界"], cursor: Grid.Place(row: 0, column: 1))
        #expect(grid.bytes(from: grid, theme).isEmpty)
    }

    @Test func `Only the cells that differ are written`() {
        let old = grid(["count 41 now", "same"])
        #expect(text(grid(["count 42 now", "same"]).bytes(from: old, theme)) == "^[1;8H^[0m2")
        #expect(text(grid(["count 4", "same"]).bytes(from: old, theme)) == "^[1;8H^[0m ^[1;10H   ")
    }

    @Test func `Styles are told when they change, and are plain at the end`() {
        let old = grid(["ab"])
        #expect(text(grid(["ab"], style: .bad).bytes(from: old, theme)).hasPrefix("^[1;1H^[0;1;31mab"))
        #expect(text(grid(["ab"], style: .bad).bytes(from: old, theme)).hasSuffix("^[0m"))
        let parameters = CellStyle.allCases.map { Theme(hasColours: false).parameters(of: $0) }
        #expect(parameters.allSatisfy { !$0.contains(";3") })
    }

    @Test func `A grid of another size is drawn anew`() {
        let old = grid(["ab"], columns: 10)
        #expect(text(grid(["ab"], columns: 12).bytes(from: old, theme)).hasPrefix("^[0m^[2J"))
    }

    @Test func `The cursor is shown, moved and hidden`() {
        let hidden = grid(["ab"])
        let shown = grid(["ab"], cursor: Grid.Place(row: 0, column: 2))
        let moved = grid(["ab"], cursor: Grid.Place(row: 0, column: 0))
        #expect(text(shown.bytes(from: hidden, theme)) == "^[1;3H^[?25h")
        #expect(text(moved.bytes(from: shown, theme)) == "^[1;1H")
        #expect(text(hidden.bytes(from: moved, theme)) == "^[?25l")
    }

    /// Terminals that agree with us on every width, and others that take all that is not ASCII for narrow or wide.
    @Test(arguments: [1, 2, 3])
    func `After any changes a terminal shows the last grid`(kind: Int) {
        let words = ["", "a", "ab cd", "世界", "a世b", "e\u{301}x", "👨‍👩‍👧‍👦 x", "❤️❤️", "│x│", "     ", "日本語日本語日"]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<300 {
            let size = GridSize(columns: 12, rows: 3)
            var terminal = TerminalDouble(columns: size.columns, rows: size.rows) { character in
                let ours = Glyph.glyphs(of: String(character), PanelLimits()).reduce(0) { $0 + $1.width }
                if kind == 1 || Cell(text: String(character), style: .plain).hasCertainWidth { return ours }
                return kind == 2 ? 1 : 2
            }
            var old: Grid?
            for _ in 0..<8 {
                let lines = (0..<3).map { _ in (0..<3).compactMap { _ in words.randomElement(using: &random) }.joined() }
                let new = grid(lines, style: [.plain, .bad].randomElement(using: &random) ?? .plain)
                terminal.take(String(decoding: new.bytes(from: old, theme), as: UTF8.self))
                old = new
                guard kind == 1 else { continue }
                #expect(terminal.cells.map { $0.joined() } == new.rows.map { $0.map(\.text).joined() })
            }
            // Whatever the terminal thinks of widths, what has a certain width stands where it belongs.
            for (row, cells) in (old?.rows ?? []).enumerated() {
                for (column, cell) in cells.enumerated() where cell.hasCertainWidth {
                    #expect(terminal.cells[row][column] == cell.text, "\(kind): \(terminal.cells) \(old?.lines ?? [])")
                }
            }
            #expect(terminal.unknown.isEmpty)
        }
    }
}
