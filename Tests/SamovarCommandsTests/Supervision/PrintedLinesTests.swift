import Testing

@testable import SamovarCommands

struct PrintedLinesTests {
    private func lines(_ pieces: String..., limit: Int = 64 << 10) -> [String] {
        var printed = PrintedLines(limit: limit)
        let lines = pieces.flatMap { printed.take($0.utf8) }
        return lines + (printed.end().map { [$0] } ?? [])
    }

    @Test func `Lines come whole, however they were cut on the way`() {
        #expect(lines("one\ntwo\n") == ["one", "two"])
        #expect(lines("o", "ne\nt", "wo", "\n") == ["one", "two"])
        #expect(lines("\n\n") == ["", ""])
        #expect(lines() == [])
    }

    @Test func `A last line without an end is not lost`() {
        #expect(lines("one\ntwo") == ["one", "two"])
    }

    @Test func `A character that was cut in two comes whole`() {
        var printed = PrintedLines()
        let bytes = Array("ü\n".utf8)
        #expect(printed.take(bytes[..<1]) == [])
        #expect(printed.take(bytes[1...]) == ["ü"])
        #expect(printed.end() == nil)
    }

    @Test func `A line that does not end is handed on in parts`() {
        #expect(lines("abcdefgh\n", limit: 3) == ["abc", "def", "gh"])
        #expect(lines("abc\n", limit: 3) == ["abc"])
    }
}
