import Testing

@testable import SamovarText

@Suite struct NearestNameTests {
    @Test(arguments: [
        ("abcd", "abcdef", true), ("abcdef", "abcd", true), ("abcd", "abcdefg", false), ("abcdefg", "abcd", false),
        ("a", "a", true), ("a", "ab", false), ("SYNC", "synk", true), ("zürich", "zu\u{308}rihc", true),
        ("familie", "familie 👨‍👩‍👧‍👦", true),
    ])
    func `A name is near if at most a third of the longer one differs`(word: String, name: String, isNear: Bool) {
        #expect(nearest(to: word, among: [name]) == (isNear ? name : nil))
    }

    @Test func `Names that are too long to be meant cost next to nothing`() {
        let word = String(repeating: "x", count: 100)
        let meant = String(repeating: "x", count: 99) + "y"
        for (length, count) in [(599, 10_000), (100_000, 100)] {
            let names = Array(repeating: String(repeating: "x", count: length), count: count) + [meant]
            let begun = ContinuousClock.now
            #expect(nearest(to: word, among: names) == meant)
            #expect(ContinuousClock.now - begun < .seconds(2), "\(length)")
        }
    }
}
