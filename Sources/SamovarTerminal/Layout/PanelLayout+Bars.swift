import SamovarCore

extension PanelLayout {
    func readout(_ gauge: PanelGauge) -> String {
        guard gauge.value.isFinite else { return "–" }
        if gauge.unit.isEmpty, gauge.from == 0, gauge.to == 1 { return "\(Self.short(gauge.value * 100)) %" }
        let unit = glyphs(gauge.unit).map(\.text).joined()
        return Self.short(gauge.value) + (unit.isEmpty ? "" : " " + unit)
    }

    func readout(_ progress: PanelProgress) -> String {
        guard let total = progress.total else { return "\(progress.done)" }
        return "\(progress.done) of \(total)"
    }

    /// A bar with its readout; the bar gives way first.
    func bar(filled fraction: Double, _ readout: String, width: Int, after label: [Cell]) -> [Cell] {
        let text = glyphs(readout)
        let room = min(limits.barWidth, width - label.count - 1 - text.width)
        let length = room < 4 ? 0 : room
        let filled = Int((Double(length) * fraction).rounded())
        let bar =
            Array(repeating: Glyph(text: "█", width: 1), count: filled)
            + Array(repeating: Glyph(text: "░", width: 1), count: length - filled)
        let gap = length > 0 ? [Cell.blank] : []
        return label + [Cell](bar, .good) + gap + [Cell](text.cut(to: max(0, width - label.count - length - gap.count)), .plain)
    }

    /// A number with at most two digits after the point.
    static func short(_ value: Double) -> String {
        guard value.magnitude < 1e15 else { return "\(value)" }
        let rounded = (value * 100).rounded() / 100
        return rounded == rounded.rounded() ? "\(Int64(rounded))" : "\(rounded)"
    }
}

extension PanelGauge {
    /// From 0 to 1, whatever the numbers are.
    var fraction: Double {
        let fraction = (value - from) / (to - from)
        return fraction.isNaN ? 0 : min(max(fraction, 0), 1)
    }
}

extension PanelProgress {
    var fraction: Double {
        guard let total, total > 0 else { return 0 }
        return min(max(Double(done) / Double(total), 0), 1)
    }
}

extension CellStyle {
    init(_ style: PanelStyle) {
        self =
            switch style {
            case .plain: .plain
            case .heading: .heading
            case .strong: .strong
            case .quiet: .quiet
            case .good: .good
            case .warning: .warning
            case .bad: .bad
            }
    }
}
