import SamovarCore

extension PanelMachine {
    /// Rows for the panel; the last row of a screen is the status.
    var pageRows: Int { max(size.rows - 1, 1) }

    mutating func draw() -> [Action] {
        let layout = layout()
        block = layout.block(of: look?.shown?.panel ?? panel, width: size.columns)
        settleScroll()

        var grid = Grid(size: size)
        for row in 0..<pageRows where scroll + row < block.rows.count { grid.set(row, block.rows[scroll + row]) }
        grid.cursor = cursor
        if size.rows > 1 { grid.set(size.rows - 1, statusLine(layout)) }
        let bytes = grid.bytes(from: drawn, theme)
        drawn = grid
        return bytes.isEmpty ? [] : [.write(bytes)]
    }

    private func layout() -> PanelLayout {
        if let past = look?.shown?.panel {
            var layout = PanelLayout(PanelControl.all(of: past), limits)
            layout.isInteractive = false
            return layout
        }
        let controls = slots.map(\.control)
        var layout = PanelLayout(controls, limits)
        layout.focus = focus?.index
        for (index, control) in controls.enumerated() { layout.entries[index] = entries[control.identity] }
        return layout
    }

    private mutating func settleScroll() {
        if look == nil, followsFocus, let place = block.places.first(where: { $0.control == focus?.index }) {
            if place.row < scroll { scroll = place.row }
            if place.row >= scroll + pageRows { scroll = place.row - pageRows + 1 }
        }
        scroll = min(max(scroll, 0), max(0, block.rows.count - pageRows))
    }

    private var cursor: Grid.Place? {
        guard look == nil, let place = block.places.first(where: { $0.control == focus?.index }), let cursor = place.cursor else {
            return nil
        }
        let row = place.row - scroll
        guard (0..<pageRows).contains(row), place.column + cursor < size.columns else { return nil }
        return Grid.Place(row: row, column: place.column + cursor)
    }

    /// What happened last, and at the right what can be done, if there is room.
    private func statusLine(_ layout: PanelLayout) -> [Cell] {
        let news = pastStatus ?? (isStale ? Status("no sign of the store; what is shown may be old", .warning) : status)
        let text = String(news.text.unicodeScalars.prefix(limits.statusScalars))
        let left = [Cell](layout.glyphs(text).cut(to: size.columns), news.style)
        for text in [help(true), help(false)] {
            let right = [Cell](layout.glyphs(text), .status)
            if left.count + 2 + right.count <= size.columns { return left.padded(to: size.columns - right.count) + right }
        }
        return left
    }

    private func help(_ tellsOfPast: Bool) -> String {
        var parts: [String] = []
        if block.rows.count > pageRows {
            parts.append("lines \(scroll + 1)–\(min(scroll + pageRows, block.rows.count)) of \(block.rows.count)")
        }
        if look != nil {
            parts += ["← → g", "esc live"]
        } else if focusedControl?.isField == true {
            parts += ["enter send", "esc back", "ctrl-c leave"]
        } else {
            if tellsOfPast, turn != nil, focus == nil, lacksPast == nil { parts.append("← past") }
            if !slots.isEmpty { parts += ["tab next", "enter press"] }
            parts.append("q leave")
        }
        return parts.joined(separator: " · ")
    }
}
