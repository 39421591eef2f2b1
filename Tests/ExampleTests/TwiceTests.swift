import ProcessSupport
import SamovarCore
import SamovarTesting
import Testing

@testable import TwiceExample

@Suite struct TwiceTests {
    @Test func `Twice is two turns of their own, of which each is seen and logged`() throws {
        let store = try TestStore(Twice.self)
        let head = store.head
        store.send(.twice) { $0 = 2 }
        store.expectViews([0, 1, 2])
        let logs = [1, 2].map { Twice.Effect.log(text: "turn \(head + 1 + $0): the count is \($0)") }
        store.expectEffects(logs)
        for log in logs { store.complete(log) }
        store.finish()
    }

    @Test func `A line that cannot be logged waits for an operator`() throws {
        let store = try TestStore(Twice.self)
        let head = store.head
        store.send(.once) { $0 = 1 }
        let log = Twice.Effect.log(text: "turn \(head + 1): the count is 1")
        store.fail(log)
        store.expectDeadEffects([log])
        store.finish()
    }

    @Test func `A worker writes the lines, in order`() async throws {
        let twice = try await ExampleStore("twice")
        for _ in 0..<2 { try await twice.send("twice") }
        #expect(try await twice.view() == "4\n")
        let lines = twice.up.errors.split(separator: "\n").compactMap { $0.split(separator: ": ").last.map(String.init) }
        #expect(lines.filter { $0.hasPrefix("the count is") } == (1...4).map { "the count is \($0)" })
    }
}
