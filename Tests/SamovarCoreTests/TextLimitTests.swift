import Testing

@testable import SamovarCore

@Suite struct TextLimitTests {
    @Test func `A short text is the same`() {
        for text in ["", "no luck", String(repeating: "x", count: 1_000), String(repeating: "é", count: 1_000)] {
            #expect(text.bounded() == text)
        }
    }

    @Test func `A long text says how long it was, and is not cut twice`() {
        let text = String(repeating: "x", count: 2_000).bounded()
        #expect(text == String(repeating: "x", count: 1_000 - 14) + "… (2000 bytes)")
        #expect(text.bounded() == text)
        #expect(String(repeating: "x", count: 300).bounded(to: 200).count == 200)
    }

    @Test func `Characters that are as long as a text are bounded in bytes, and not cut apart`() {
        let monster = "e" + String(repeating: "\u{301}", count: 100_000)
        #expect(monster.count == 1)
        #expect(monster.bounded() == "… (200001 bytes)")
        let text = String(repeating: "👩‍👩‍👧‍👦", count: 1_000).bounded()
        #expect(text.utf8.count <= 4_000)
        #expect(text.hasPrefix("👩‍👩‍👧‍👦👩‍👩‍👧‍👦") && text.hasSuffix("👩‍👩‍👧‍👦… (25000 bytes)"))
    }
}
