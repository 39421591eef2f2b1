import MessagePack
import Testing

@testable import SamovarText

@Suite struct TextTableTests {
    @Test func `Rows stand below each other, numbers at the right, and what nobody has is left out`() {
        let rows: [MessagePackValue] = [
            ["effect": "17/0", "label": .nil, "attempts": 2, "status": "waiting"],
            ["effect": "123/10", "label": .nil, "attempts": 10, "status": "running", "worker": "w"],
        ]
        #expect(
            TextTable.lines(of: rows, ["effect", "label", "attempts", "status", "worker", "unknown"]) == [
                "effect  attempts  status   worker", "17/0           2  waiting", "123/10        10  running  w",
            ])
        #expect(TextTable.lines(of: [["a": "x"]], ["b"]) == ["", ""])
    }

    @Test func `A column is as wide as a terminal draws what stands in it`() {
        let names = ["tea", "緑茶", "☕️", "the\u{301}", "t\u{200b}ea"]
        let rows = names.enumerated().map { ["name": .string($1), "left": .int(Int64($0))] as MessagePackValue }
        #expect(
            TextTable.lines(of: rows, ["name", "left"]) == [
                "name  left", "tea      0", "緑茶     1", "☕️       2", "the\u{301}      3", "t\u{200b}ea      4",
            ])
    }

    @Test func `A long text is cut inside of a row, and what moves the cursor is escaped`() {
        let long = String(repeating: "x", count: 70)
        let lines = TextTable.lines(of: [["a": .string(long), "b": .string(long)], ["a": "\u{1b}[2J", "b": 1]], ["a", "b"])
        #expect(lines[1] == String(repeating: "x", count: 59) + "…  " + long)
        #expect(lines[2].hasPrefix("\\u{1b}[2J "))
    }
}
