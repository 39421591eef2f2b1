import ProcessSupport
import SamovarCore
import SamovarTesting
import Testing

@testable import StopwatchExample

@Suite struct StopwatchTests {
    private func store() throws -> TestStore<Stopwatch> { try TestStore(Stopwatch.self) }

    @Test func `It ticks while it runs, and a late stop counts to the microsecond`() throws {
        let store = try store()
        store.expectSubscriptions([])
        let start = store.now
        store.send(.start) { $0.counted = start }
        store.expectSubscriptions([.every(.milliseconds(100), id: "tick", send: .ticked)])
        store.advance(by: .milliseconds(1_250)) {
            $0.elapsed = .milliseconds(1_200)
            $0.counted = start + .milliseconds(1_200)
        }
        store.expectView(Stopwatch.ViewState(time: "00:01.2", isRunning: true))
        store.send(.stop) { $0 = Stopwatch.State(elapsed: .milliseconds(1_250), counted: nil) }
        store.expectSubscriptions([])
        store.finish()
    }

    @Test func `A second start begins no second timer`() throws {
        let store = try store()
        let start = store.now
        store.send(.start) { $0.counted = start }
        store.send(.start)
        let head = store.head
        store.advance(by: .seconds(1)) { $0 = Stopwatch.State(elapsed: .seconds(1), counted: start + .seconds(1)) }
        #expect(store.head == head + 10)
    }

    @Test func `No tick comes after the stop, and the next run goes on from there`() throws {
        let store = try store()
        let start = store.now
        store.send(.start) { $0.counted = start }
        store.advance(by: .seconds(2)) { $0 = Stopwatch.State(elapsed: .seconds(2), counted: start + .seconds(2)) }
        store.send(.stop) { $0.counted = nil }
        let head = store.head
        store.advance(by: .seconds(60))
        #expect(store.head == head)
        store.send(.start) { $0.counted = start + .seconds(62) }
        store.advance(by: .seconds(3)) { $0 = Stopwatch.State(elapsed: .seconds(5), counted: start + .seconds(65)) }
        store.expectView(Stopwatch.ViewState(time: "00:05.0", isRunning: true))
    }

    @Test func `Reset stops it at zero`() throws {
        let store = try store()
        let start = store.now
        store.send(.start) { $0.counted = start }
        store.advance(by: .seconds(61)) { $0 = Stopwatch.State(elapsed: .seconds(61), counted: start + .seconds(61)) }
        store.expectView(Stopwatch.ViewState(time: "01:01.0", isRunning: true))
        store.send(.reset) { $0 = Stopwatch.State() }
        store.expectView(Stopwatch.ViewState(time: "00:00.0", isRunning: false))
        store.expectSubscriptions([])
    }

    @Test func `It runs on over a restart`() throws {
        let store = try store()
        let start = store.now
        store.send(.start) { $0.counted = start }
        store.advance(by: .seconds(1)) { $0 = Stopwatch.State(elapsed: .seconds(1), counted: start + .seconds(1)) }
        store.restart()
        store.advance(by: .seconds(1)) { $0 = Stopwatch.State(elapsed: .seconds(2), counted: start + .seconds(2)) }
    }

    @Test func `While no store runs its time passes, too`() async throws {
        let watch = try await ExampleStore("stopwatch", workers: 0)
        try await watch.send("start")
        let started = ContinuousClock.now
        try await watch.kill()
        try await Task.sleep(for: .milliseconds(500))
        try await watch.start()
        let atLeast = ContinuousClock.now - started
        try await watch.send("stop")
        let view = try await watch.view()
        let shown = try #require(view.wholeMatch(of: /00:(\d\d\.\d) stopped\n/), "\(view)")
        // It shows tenths of a second, and cuts off what is less.
        #expect(try #require(Double(shown.1)) + 0.1 > atLeast / .seconds(1))
    }
}
