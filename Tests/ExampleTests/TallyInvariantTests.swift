import SamovarTesting
import Testing

@testable import TallyExample

@Suite struct TallyInvariantTests {
    // snippet: tally-negative
    @Test func `Nothing is counted below zero`() throws {
        let store = try TestStore(Tally.self, exhaustive: false)
        store.send(.add(name: "tea"))
        store.send(.count(name: "tea", by: 2))
        store.send(.count(name: "tea", by: -3))
        store.expectState { $0.counts["tea"] = 0 }
    }
    // end
}
