/// The size of a screen in character cells.
package struct GridSize: Equatable, Sendable {
    package var columns: Int
    package var rows: Int

    package init(columns: Int, rows: Int) {
        self.columns = columns
        self.rows = rows
    }

    /// At least one cell, at most what the limits allow.
    func clamped(to limits: PanelLimits) -> GridSize {
        GridSize(columns: min(max(columns, 1), limits.columns), rows: min(max(rows, 1), limits.rows))
    }
}

/// What a screen shows: cells, and where the cursor is.
package struct Grid: Equatable, Sendable {
    package struct Place: Equatable, Sendable {
        package var row: Int
        package var column: Int
    }

    package let size: GridSize
    /// As many as the size says.
    package private(set) var rows: [[Cell]]
    /// Nil hides it.
    package var cursor: Place?

    package init(size: GridSize) {
        self.size = size
        rows = Array(repeating: Array(repeating: .blank, count: size.columns), count: size.rows)
    }

    /// Sets a row. What is beyond the right edge is cut; the left half of a wide glyph there becomes a blank.
    mutating func set(_ row: Int, _ cells: [Cell]) {
        guard rows.indices.contains(row) else { return }
        var shown = Array(cells.prefix(size.columns))
        if cells.count > shown.count, cells[shown.count].isRest, let last = shown.last {
            shown[shown.count - 1] = Cell(text: " ", style: last.style)
        }
        rows[row] = shown.padded(to: size.columns)
    }

    /// The texts of the rows, without blanks at the ends.
    package var lines: [String] {
        rows.map(\.line)
    }
}

extension [Cell] {
    var line: String {
        var text = map(\.text).joined()
        while text.last == " " { text.removeLast() }
        return text
    }
}
