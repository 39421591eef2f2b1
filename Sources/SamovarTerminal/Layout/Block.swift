/// A drawn part of a panel: rows of cells of different lengths, and where its controls are.
struct Block: Equatable {
    struct Place: Equatable {
        /// The number of the control.
        let control: Int
        var row: Int
        var column: Int
        let width: Int
        /// Where the cursor stands in it, counted from its left end; only for a field that has the focus.
        var cursor: Int?
    }

    var rows: [[Cell]] = []
    var places: [Place] = []

    var width: Int { rows.map(\.count).max() ?? 0 }

    /// Puts another block below this one, as long as there is room.
    mutating func append(_ block: Block, limit: Int) {
        let room = max(0, limit - rows.count)
        let offset = rows.count
        rows += block.rows.prefix(room)
        places += block.places.filter { $0.row < room }.map { $0.moved(rows: offset, columns: 0) }
    }

    /// Puts another block to the right, at a column that is at least this block's width.
    mutating func place(_ block: Block, at column: Int) {
        for (row, cells) in block.rows.enumerated() where !cells.isEmpty {
            if row >= rows.count { rows += Array(repeating: [], count: row + 1 - rows.count) }
            rows[row] = rows[row].padded(to: column) + cells
        }
        if rows.count < block.rows.count { rows += Array(repeating: [], count: block.rows.count - rows.count) }
        places += block.places.map { $0.moved(rows: 0, columns: column) }
    }

    /// With a frame of a line around it, which has a title.
    func framed(_ title: [Glyph], width: Int) -> Block {
        let inner = max(width - 4, 1)
        let name = title.cut(to: max(inner - 1, 0))
        var top = "╭─".drawn
        if !name.isEmpty { top += [.blank] + [Cell](name, .heading) + [.blank] }
        top += String(repeating: "─", count: max(0, inner + 3 - top.count)).drawn + "╮".drawn
        var framed = Block(top)
        for row in rows {
            framed.rows.append("│ ".drawn + Array(row.prefix(inner)).padded(to: inner) + " │".drawn)
        }
        framed.rows.append(("╰" + String(repeating: "─", count: inner + 2) + "╯").drawn)
        framed.places = places.map { $0.moved(rows: 1, columns: 2) }
        return framed
    }
}

extension Block {
    init(_ cells: [Cell]) {
        self.init(rows: [cells])
    }
}

extension Block.Place {
    func moved(rows: Int, columns: Int) -> Self {
        var moved = self
        moved.row += rows
        moved.column += columns
        return moved
    }
}

extension String {
    /// As the line of a frame: its characters are known to be narrow.
    fileprivate var drawn: [Cell] { map { Cell(text: String($0), style: .quiet) } }
}
