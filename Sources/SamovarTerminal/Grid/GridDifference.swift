extension Grid {
    /// The bytes that turn a terminal that shows `old` into one that shows this grid; with nil, whatever it shows.
    ///
    /// Only cells that differ are written. Each run of them begins with its position, and so does what follows a glyph of whose width
    /// terminals think differently: then a wrong width spoils one character and not the line.
    package func bytes(from old: Grid?, _ theme: Theme) -> [UInt8] {
        var pen = Pen(theme: theme)
        let old = old?.size == size ? old : nil
        if old == nil { pen.clear() }
        let blank = Array(repeating: Cell.blank, count: size.columns)
        for (row, cells) in rows.enumerated() {
            let before = old?.rows[row] ?? blank
            guard cells != before else { continue }
            for column in cells.indices {
                guard
                    cells[column] != before[column] || Self.isBesideUncertain(before, column)
                        || Self.isBesideUncertain(cells, column)
                else { continue }
                let isWide = column + 1 < cells.count && cells[column + 1].isRest
                pen.write(cells[column], isWide: isWide, row: row, column: column)
            }
        }
        pen.finish(cursor, wasShown: old.map { $0.cursor })
        return pen.bytes
    }

    /// Whether the glyph to the left may reach into this place on the terminal.
    private static func isBesideUncertain(_ cells: [Cell], _ column: Int) -> Bool {
        column > 0 && !cells[column - 1].hasCertainWidth
    }
}

/// Writes cells, and knows where the terminal's cursor stands and in which style it writes.
private struct Pen {
    let theme: Theme
    var bytes: [UInt8] = []
    /// Nil when it is not known.
    var place: Grid.Place?
    var style: CellStyle?

    mutating func clear() {
        order("0m")
        order("2J")
        style = .plain
    }

    mutating func write(_ cell: Cell, isWide: Bool, row: Int, column: Int) {
        // The glyph to its left has drawn it.
        guard !cell.isRest else { return }
        let target = Grid.Place(row: row, column: column)
        if place != target { move(to: target) }
        if style != cell.style {
            order(theme.parameters(of: cell.style) + "m")
            style = cell.style
        }
        if isWide {
            // A terminal that takes it for narrow would leave there what was there before.
            bytes += [UInt8(ascii: " "), UInt8(ascii: " ")]
            move(to: target)
        }
        bytes += Array(cell.text.utf8)
        place = cell.hasCertainWidth ? Grid.Place(row: row, column: column + 1) : nil
    }

    /// - Parameter wasShown: the former cursor; nil if nothing is known.
    mutating func finish(_ cursor: Grid.Place?, wasShown: Grid.Place??) {
        if style != nil, style != .plain { order("0m") }
        guard let cursor else {
            if wasShown != .some(.none) { order("?25l") }
            return
        }
        let isShown = wasShown.flatMap { $0 } != nil
        if !bytes.isEmpty || wasShown != .some(.some(cursor)) { move(to: cursor) }
        if !isShown { order("?25h") }
    }

    private mutating func move(to place: Grid.Place) {
        order("\(place.row + 1);\(place.column + 1)H")
        self.place = place
    }

    private mutating func order(_ text: String) {
        bytes += [0x1b, UInt8(ascii: "[")]
        bytes += Array(text.utf8)
    }
}
