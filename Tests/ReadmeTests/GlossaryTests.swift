import Foundation
import Testing

/// `docs/glossary.md` has one line for each word, and names the files in which a word is not one yet.
@Suite struct GlossaryTests {
    @Test func `Each word stands there once, and each file that is named is there`() throws {
        let parts = try Checkout.text("docs/glossary.md").components(separatedBy: "\n## Not yet one word\n")
        #expect(parts.count == 2)
        let words = parts[0].matches(of: /\n\| ([^|]+) \| [^|]+ \|/).map { String($0.1) }.filter { $0 != "word" }
        #expect(words.count > 60 && Set(words).count == words.count)
        let paths = parts[1].matches(of: /`((?:Sources|docs|Benchmarks)\/[^`]+)`/).map { String($0.1) }
        #expect(paths.count > 30)
        for path in paths { #expect(Checkout.exists(path), "the glossary names \(path)") }
    }
}
