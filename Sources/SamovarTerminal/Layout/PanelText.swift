/// A panel as lines of text, for a pipe, a log or the end of a command.
package enum PanelText {
    /// As it would be drawn on a wide screen without keys.
    package static func lines(of panel: AnyPanel, _ limits: PanelLimits = PanelLimits()) -> [String] {
        var layout = PanelLayout(PanelControl.all(of: panel), limits)
        layout.isInteractive = false
        return layout.block(of: panel, width: limits.printedColumns).rows.map(\.line)
    }

    /// The lines that say something, without frames and the gaps between columns.
    package static func words(of panel: AnyPanel, _ limits: PanelLimits = PanelLimits()) -> [String] {
        lines(of: panel, limits).compactMap { line in
            let words = line.split(whereSeparator: { " ╭╮╰╯│─".contains($0) })
            return words.isEmpty ? nil : words.joined(separator: " ")
        }
    }
}
