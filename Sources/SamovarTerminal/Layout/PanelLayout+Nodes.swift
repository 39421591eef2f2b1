import MessagePack
import SamovarCore

extension PanelLayout {
    /// Nodes below one another.
    func rows(_ nodes: [AnyPanelNode], _ path: [Int], width: Int) -> Block {
        let labelWidth = labelWidth(of: nodes)
        var block = Block()
        for (index, node) in nodes.enumerated() where block.rows.count < limits.lines {
            block.append(self.block(of: node, path + [index], width: width, labelWidth: labelWidth), limit: limits.lines)
        }
        return block
    }

    private func block(of node: AnyPanelNode, _ path: [Int], width: Int, labelWidth: Int = 0, wraps: Bool = true) -> Block {
        switch node {
        case .text(let text, let style):
            let glyphs = glyphs(text)
            let lines = wraps ? glyphs.wrapped(to: width) : [glyphs.cut(to: width)]
            return Block(rows: lines.map { [Cell]($0, CellStyle(style)) })
        case .button(let label, _): return button(label, path, width: width)
        case .rows(let nodes): return rows(nodes, path, width: width)
        case .columns(let nodes): return columns(nodes, path, width: width)
        case .section(let title, let nodes):
            return rows(nodes, path, width: max(width - 4, 1)).framed(glyphs(title), width: width)
        case .table(let table): return self.table(table, path, width: width)
        case .gauge(let gauge):
            let bar = bar(filled: gauge.fraction, readout(gauge), width: width, after: label(gauge.label, labelWidth))
            return Block(bar)
        case .progress(let progress):
            return Block(bar(filled: progress.fraction, readout(progress), width: width, after: label(progress.label, labelWidth)))
        case .field(let field): return self.field(field, path, width: width, labelWidth: labelWidth)
        case .space: return Block([])
        }
    }

    /// Side by side; what does not fit begins a further line.
    private func columns(_ nodes: [AnyPanelNode], _ path: [Int], width: Int) -> Block {
        var block = Block()
        var line = Block()
        var column = 0
        for (index, node) in nodes.enumerated() {
            let natural = naturalWidth(node)
            if column > 0, column + natural > width {
                block.append(line, limit: limits.lines)
                (line, column) = (Block(), 0)
            }
            let given = min(natural, width)
            line.place(self.block(of: node, path + [index], width: given), at: column)
            column += given + Self.gap
        }
        block.append(line, limit: limits.lines)
        return block
    }

    private func table(_ table: PanelTable<MessagePackValue>, _ path: [Int], width: Int) -> Block {
        let widths = Self.narrowed(naturalWidths(of: table), to: width - Self.gap * max(0, table.columns.count - 1))
        var block = Block()
        if table.columns.contains(where: { !$0.title.isEmpty }) {
            let titles = table.columns.map { Block([Cell](glyphs($0.title), .quiet)) }
            block.append(line(titles, table.columns, widths), limit: limits.lines)
        }
        for (index, row) in table.rows.enumerated() where block.rows.count < limits.lines {
            let cells = row.enumerated().map { column, node in
                self.block(of: node, path + [index, column], width: widths[column], wraps: false)
            }
            block.append(line(cells, table.columns, widths), limit: limits.lines)
        }
        return block
    }

    /// One line of a table.
    private func line(_ blocks: [Block], _ columns: [PanelColumn], _ widths: [Int]) -> Block {
        var line = Block()
        var start = 0
        for (index, block) in blocks.enumerated() {
            var cell = block
            cell.rows = cell.rows.map { Array($0.prefix(widths[index])) }
            let shift = columns[index].alignment == .right ? max(0, widths[index] - cell.width) : 0
            line.place(cell, at: start + shift)
            start += widths[index] + Self.gap
        }
        return line
    }

    /// Takes from the widest columns first, until all fit.
    static func narrowed(_ widths: [Int], to total: Int) -> [Int] {
        var room = max(total, 0)
        var narrowed = widths
        // From the narrowest on: each takes what it needs, but no more than its share of what is left.
        let order = widths.indices.sorted { widths[$0] < widths[$1] }
        for (taken, index) in order.enumerated() {
            narrowed[index] = min(widths[index], room / (widths.count - taken))
            room -= narrowed[index]
        }
        return narrowed
    }

    // MARK: Controls

    private func button(_ label: String, _ path: [Int], width: Int) -> Block {
        let control = indices[path]
        let isFocused = control != nil && control == focus
        let key = digit(of: control).map { [Cell]([Glyph(text: "\($0)", width: 1), Glyph(text: " ", width: 1)], .quiet) } ?? []
        let name = glyphs(label).cut(to: max(width - key.count - 2, 1))
        let face = [Glyph(text: "[", width: 1)] + name + [Glyph(text: "]", width: 1)]
        var block = Block(key + [Cell](face, isFocused ? .focused : .button))
        if let control { block.places = [Block.Place(control: control, row: 0, column: 0, width: block.width)] }
        return block
    }

    private func field(_ field: PanelField<MessagePackValue>, _ path: [Int], width: Int, labelWidth: Int) -> Block {
        let control = indices[path]
        let isFocused = control != nil && control == focus
        let name = label(field.label, labelWidth, isFocused ? .strong : .plain)
        let room = max(min(limits.fieldWidth, width - name.count), 1)
        let (shown, cursor) =
            control.flatMap { entries[$0] }.map { window(on: $0, width: room) }
            ?? ([Cell](glyphs(field.holds).cut(to: room), .quiet), 0)
        var block = Block(name + shown.padded(to: room, .field))
        if let control {
            block.places = [
                Block.Place(
                    control: control, row: 0, column: 0, width: block.width, cursor: isFocused ? name.count + cursor : nil)
            ]
        }
        return block
    }

    /// The part of what was typed that is around the cursor, and the cursor's place in it.
    private func window(on entry: FieldEntry, width: Int) -> ([Cell], Int) {
        let before = [Cell](glyphs(String(entry.characters[..<entry.cursor])), .field)
        let after = [Cell](glyphs(String(entry.characters[entry.cursor...])), .field)
        // The cursor needs a place of its own at the end.
        var skipped = max(0, before.count - (width - 1))
        if before.indices.contains(skipped), before[skipped].isRest { skipped += 1 }
        var cells = Array((before + after).dropFirst(skipped).prefix(width))
        if cells.count == width, skipped + width < before.count + after.count, (before + after)[skipped + width].isRest {
            cells[width - 1] = Cell(text: " ", style: .field)
        }
        return (cells, before.count - skipped)
    }

    private func label(_ text: String, _ labelWidth: Int, _ style: CellStyle = .plain) -> [Cell] {
        let name = [Cell](glyphs(text).cut(to: limits.labelWidth), style)
        let width = max(name.count, labelWidth)
        return width == 0 ? [] : name.padded(to: width + Self.gap)
    }
}
