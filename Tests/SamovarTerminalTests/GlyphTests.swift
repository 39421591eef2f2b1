import Testing

@testable import SamovarTerminal

@Suite struct GlyphTests {
    private let limits = PanelLimits()

    private func glyphs(_ text: String) -> [Glyph] { Glyph.glyphs(of: text, limits) }
    private func shown(_ text: String) -> String { glyphs(text).map(\.text).joined() }

    @Test(arguments: [
        ("a", 1), ("é", 1), ("e\u{301}", 1), ("ß", 1), ("Ω", 1), ("─", 1), ("█", 1), ("世", 2), ("한", 2),
        ("\u{1112}\u{1161}\u{11ab}", 2),
        ("あ", 2), ("Ａ", 2), ("ｱ", 1), ("😀", 2), ("👨‍👩‍👧‍👦", 2), ("🇩🇪", 2), ("👍🏽", 2), ("❤️", 2), ("𠀀", 2), ("ก", 1), ("א", 1), ("。", 2),
        ("\u{3000}", 2),
    ])
    func `A character takes the columns of its East Asian width`(text: String, width: Int) {
        #expect(glyphs(text).map(\.width) == [width])
        #expect(shown(text) == text)
    }

    @Test(arguments: [
        ("\u{1b}[2J", "\\u{1b}[2J"), ("a\nb", "a\\u{a}b"), ("\r\n", "\\u{d}\\u{a}"), ("\u{7f}\u{9b}", "\\u{7f}\\u{9b}"),
        ("\u{202e}evil", "\\u{202e}evil"), ("\u{2066}x\u{2069}", "\\u{2066}x\\u{2069}"), ("\u{200b}", "\\u{200b}"),
        ("\u{feff}x", "\\u{feff}x"), ("\u{301}x", "\\u{301}x"), ("\u{e0041}", "\\u{e0041}"), ("\0", "\\u{0}"),
    ])
    func `What controls a terminal or cannot be seen is shown as its number`(text: String, expected: String) {
        #expect(shown(text) == expected)
    }

    @Test(arguments: [("世界世界", 8, "世界世界"), ("世界世界", 7, "世界世…"), ("世界世界", 6, "世界…"), ("abc", 2, "a…"), ("abc", 0, "")])
    func `A line is cut by its columns`(text: String, columns: Int, expected: String) {
        #expect(text[...].cut(toColumns: columns) == expected)
    }

    @Test func `A flood of accents is one replacement character`() {
        #expect(shown("a" + String(repeating: "\u{301}", count: 10_000) + "b") == "\u{fffd}b")
    }

    @Test func `No scalar whatever leads to a glyph that controls a terminal`() {
        let beyond = stride(from: UInt32(0x10000), through: 0x10_ffff, by: 7)
        for value in Array(0..<0x10000) + Array(beyond) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let glyphs = glyphs(String(scalar))
            let isSafe = glyphs.allSatisfy { $0.width > 0 && !$0.text.unicodeScalars.contains(where: \.controlsTerminal) }
            if !isSafe || glyphs.isEmpty { Issue.record("\(String(value, radix: 16))") }
        }
    }

    @Test func `A cut text ends with an ellipsis, and never in the middle of a wide glyph`() {
        #expect(glyphs("hello").cut(to: 4).map(\.text).joined() == "hel…")
        #expect(glyphs("世界人").cut(to: 4).map(\.text).joined() == "世…")
        #expect(glyphs("世").cut(to: 1).map(\.text).joined() == "…")
        #expect(glyphs("hello").cut(to: 0).isEmpty)
    }

    @Test func `A text is wrapped at spaces, and a long word anywhere`() {
        let lines = { (text: String, width: Int) in self.glyphs(text).wrapped(to: width).map { $0.map(\.text).joined() } }
        #expect(lines("the quick brown fox", 10) == ["the quick", "brown fox"])
        #expect(lines("abcdefgh ij", 4) == ["abcd", "efgh", "ij"])
        #expect(lines("世界人民", 5) == ["世界", "人民"])
        #expect(lines("", 5) == [""])
        #expect(lines("abc  de世", 3) == ["abc", "", "de", "世"])
        for text in ["a bc def 世界 ghij klmnop qrstuvwx", " bc世  界d 世界ef  gh世"] {
            for width in 2...30 {
                let wrapped = glyphs(text).wrapped(to: width)
                #expect(wrapped.allSatisfy { $0.width <= width })
                #expect(wrapped.flatMap { $0 }.map(\.text).filter { $0 != " " }.joined() == text.filter { $0 != " " })
            }
        }
    }
}
