import Testing

@testable import SamovarCommands

/// The lines in which a child tells of the past.
@Suite struct PastViewsTests {
    @Test func `A view has its timeline, its turn, its time and its bytes`() {
        let answer = PastViews.answer(in: "view 00-1 12 2026-07-31T09:05:00Z AQI=")
        #expect(answer == .view(timeline: "00-1", turn: 12, time: "2026-07-31T09:05:00Z", bytes: [1, 2]))
    }

    @Test func `An error is told in its words`() {
        #expect(PastViews.answer(in: "error turn 3 is not kept any more") == .failed("turn 3 is not kept any more"))
    }

    @Test(arguments: ["", "view", "view a b c AQI=", "view a 1 c *", "view a 1 c AQI= more", "views a 1 c AQI=", "errors"])
    func `Any other line is said to be none`(_ line: String) {
        guard case .failed(let words) = PastViews.answer(in: line) else {
            Issue.record("it is taken for a view")
            return
        }
        #expect(words.hasPrefix("the answer cannot be read: "))
    }
}
