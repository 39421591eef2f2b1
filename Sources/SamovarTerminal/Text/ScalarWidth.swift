extension Unicode.Scalar {
    /// Whether it takes no place of its own: accents, joiners, selectors and whatever else is drawn on its neighbour or not at all.
    var isZeroWidth: Bool {
        guard value >= 0x300 else { return value == 0xad }
        if properties.isDefaultIgnorableCodePoint { return true }
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return true
        default: return false
        }
    }

    /// Whether it takes two columns: East Asian Width `W` and `F` (Unicode Standard Annex 11).
    ///
    /// The standard library knows which scalars are emoji, and all of them that are drawn as such are wide. The table has the rest,
    /// with gaps closed where nothing is assigned.
    var isWide: Bool {
        guard value >= 0x1100 else { return false }
        return properties.isEmojiPresentation || Self.wide.contains { $0.contains(value) }
    }

    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f,  // Hangul Jamo that begin a syllable
        0x2329...0x232a,
        0x2630...0x2637, 0x268a...0x268f,  // trigrams and digrams
        0x2e80...0x303e,  // CJK radicals and punctuation
        0x3041...0x4dff, 0x4e00...0xa4cf,  // kana to Yi; the hexagrams are among them
        0xa960...0xa97c,
        0xac00...0xd7a3,  // Hangul syllables
        0xf900...0xfaff,
        0xfe10...0xfe19, 0xfe30...0xfe6b,
        0xff01...0xff60, 0xffe0...0xffe6,  // full-width forms
        0x16fe0...0x16fff, 0x17000...0x18dff,  // Tangut, Khitan
        0x1aff0...0x1b2ff,  // kana supplements, Nushu
        0x1d300...0x1d376,
        0x1f1e6...0x1f1ff,  // the letters of which flags are made
        0x1f200...0x1f265,
        0x20000...0x3fffd,  // CJK extensions
    ]
}
