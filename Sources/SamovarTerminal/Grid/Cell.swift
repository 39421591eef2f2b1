/// The look of a cell. A theme makes orders for a terminal of it.
package enum CellStyle: UInt8, Equatable, Sendable, CaseIterable {
    case plain, heading, strong, quiet, good, warning, bad
    case button, focused, field, status
}

/// One place of a grid: a glyph, the right half of a wide glyph to its left, or a blank.
package struct Cell: Equatable, Sendable {
    package var text: String
    package var style: CellStyle

    package static let blank = Cell(text: " ", style: .plain)

    /// The right half of a wide glyph.
    static func rest(_ style: CellStyle) -> Cell { Cell(text: "", style: style) }

    var isRest: Bool { text.isEmpty }

    /// Whether every terminal advances by exactly one column for it. Of wide and composed characters they think differently.
    var hasCertainWidth: Bool {
        let scalars = text.unicodeScalars
        guard let first = scalars.first, scalars.count == 1 else { return false }
        return first.value < 0x300 || (0x2010...0x27bf).contains(first.value) && !first.isWide
    }
}

extension [Cell] {
    init(_ glyphs: [Glyph], _ style: CellStyle) {
        self = []
        for glyph in glyphs {
            append(Cell(text: glyph.text, style: style))
            if glyph.width == 2 { append(.rest(style)) }
        }
    }

    /// Blank cells up to a width.
    func padded(to width: Int, _ style: CellStyle = .plain) -> [Cell] {
        self + repeatElement(Cell(text: " ", style: style), count: Swift.max(0, width - count))
    }
}
