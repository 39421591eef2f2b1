import Testing

@testable import SamovarWeb

/// The explorer's work beside a store that has its own.
@Suite struct WorkPaceTests {
    private let start = ContinuousClock.now

    @Test func `A store of which nothing is known is spared`() {
        let pace = WorkPace()
        #expect(pace.isDue(at: start))
        #expect(pace.rest(after: .milliseconds(50)) == .milliseconds(950))
    }

    @Test func `Beside a store that rests it rests not at all, and beside a busy one nearly always`() {
        var pace = WorkPace()
        pace.note(5_000_000, at: start)
        #expect(!pace.isDue(at: start + .milliseconds(999)) && pace.isDue(at: start + .seconds(1)))
        pace.note(5_001_000, at: start + .seconds(1))
        #expect(pace.rest(after: .milliseconds(50)) == .zero)
        pace.note(5_002_001, at: start + .seconds(2))
        #expect(pace.rest(after: .milliseconds(50)) == .milliseconds(950))
        pace.note(5_003_001, at: start + .seconds(4))
        #expect(pace.rest(after: .milliseconds(50)) == .zero)
    }
}
