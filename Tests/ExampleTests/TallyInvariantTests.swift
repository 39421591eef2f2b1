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

    // snippet: tally-known
    @Test func `A name that is known keeps its count`() throws {
        let store = try TestStore(Tally.self, exhaustive: false)
        store.send(.add(name: "milk"))
        store.send(.count(name: "milk", by: 14))
        store.expectRefusal(of: .add(name: "milk"), .known(name: "milk"))
        store.expectState { $0.counts["milk"] = 14 }
    }
    // end
}
