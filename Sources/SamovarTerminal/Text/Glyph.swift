/// What is drawn in one place of a grid: a character that is safe to write, and the columns that it takes.
struct Glyph: Equatable {
    let text: String
    /// 1 or 2.
    let width: Int
}

extension Glyph {
    /// A text as glyphs, whatever it holds.
    ///
    /// | in the text | drawn as |
    /// |---|---|
    /// | what controls a terminal, also a line feed | its number: `\u{1b}` |
    /// | what takes no place and stands alone, such as a joiner | its number: `\u{200b}` |
    /// | a character of more than `limits.characterScalars` scalars, such as a letter with fifty accents | `�` |
    /// | any other character | itself |
    static func glyphs(of text: String, _ limits: PanelLimits) -> [Glyph] {
        var glyphs: [Glyph] = []
        for character in text { append(character, to: &glyphs, limits) }
        return glyphs
    }

    private static func append(_ character: Character, to glyphs: inout [Glyph], _ limits: PanelLimits) {
        let scalars = character.unicodeScalars
        guard let first = scalars.first else { return }
        if scalars.count > limits.characterScalars {
            glyphs.append(Glyph(text: "\u{fffd}", width: 1))
        } else if first.isZeroWidth || scalars.contains(where: \.controlsTerminal) {
            for scalar in scalars { append(scalar, to: &glyphs) }
        } else {
            glyphs.append(Glyph(text: String(character), width: character.columns))
        }
    }

    private static func append(_ scalar: Unicode.Scalar, to glyphs: inout [Glyph]) {
        guard scalar.controlsTerminal || scalar.isZeroWidth else {
            return glyphs.append(Glyph(text: String(scalar), width: scalar.isWide ? 2 : 1))
        }
        for character in "\\u{\(String(scalar.value, radix: 16))}" { glyphs.append(Glyph(text: String(character), width: 1)) }
    }
}

extension Character {
    /// 0 only where it stands alone and takes no place.
    fileprivate var columns: Int {
        if unicodeScalars.allSatisfy(\.isZeroWidth) { return 0 }
        // U+FE0F asks for the form in colour, which is wide.
        return unicodeScalars.contains { $0.isWide || $0.value == 0xfe0f } ? 2 : 1
    }
}

extension String {
    /// Columns of a line that is written as it is; it holds nothing that controls a terminal.
    package var columns: Int { reduce(0) { $0 + $1.columns } }
}

extension Substring {
    /// As much of a line as fits into so many columns, the last one being “…” if something was cut.
    package func cut(toColumns columns: Int) -> String {
        Glyph.glyphs(of: String(self), PanelLimits()).cut(to: columns).map(\.text).joined()
    }
}

extension [Glyph] {
    /// Columns.
    var width: Int { reduce(0) { $0 + $1.width } }

    /// As many as fit, the last one being “…” if something was cut.
    func cut(to width: Int) -> [Glyph] {
        guard self.width > width else { return self }
        guard width > 0 else { return [] }
        var kept: [Glyph] = []
        var room = width - 1
        for glyph in self {
            guard glyph.width <= room else { break }
            room -= glyph.width
            kept.append(glyph)
        }
        return kept + [Glyph(text: "…", width: 1)]
    }

    /// Lines of at most `width` columns, broken at spaces where there are some.
    func wrapped(to width: Int) -> [[Glyph]] {
        guard width > 1, self.width > width else { return [cut(to: width)] }
        var lines: [[Glyph]] = []
        var line: [Glyph] = []
        var lineWidth = 0
        /// How much of the line stands before its last space.
        var lastSpace: Int?
        for glyph in self {
            if lineWidth + glyph.width > width {
                if glyph.text == " " {
                    // The space that would begin the next line is the break.
                    lines.append(line)
                    (line, lineWidth, lastSpace) = ([], 0, nil)
                    continue
                }
                let end = lastSpace ?? line.count
                lines.append([Glyph](line[..<end]))
                line = [Glyph](line[(lastSpace.map { $0 + 1 } ?? end)...])
                (lineWidth, lastSpace) = (line.width, nil)
                // A wide glyph may not fit behind the last word either.
                if lineWidth + glyph.width > width {
                    lines.append(line)
                    (line, lineWidth) = ([], 0)
                }
            }
            if glyph.text == " " { lastSpace = line.count }
            line.append(glyph)
            lineWidth += glyph.width
        }
        return lines + [line]
    }
}
