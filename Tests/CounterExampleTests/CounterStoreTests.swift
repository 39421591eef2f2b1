import SamovarCore
import SamovarTesting
import Testing

@testable import CounterExample

/// The counter in the two stores that need no process, as docs/testing.md shows them.
@Suite struct CounterStoreTests {
    // snippet: testing-store
    @Test func `A slow step is counted when it is finished`() throws {
        let store = try TestStore(Counter.self)
        store.send(.incrementAsync) { $0.isBusy = true }
        store.expectRefusal(of: .incrementAsync, .busy)
        store.expectEffects([.addOne(to: 0)])
        store.complete(.addOne(to: 0), with: .finished(count: 1)) {
            $0.isBusy = false
            $0.async = 1
        }
        store.expectView(Counter.ViewState(sync: "0", async: "1", status: "idle"))
        store.finish()
    }
    // end

    @Test func `A slow step is tried four times before the counter gives up`() throws {
        let store = try TestStore(Counter.self)
        store.send(.incrementAsync) { $0.isBusy = true }
        for _ in 0..<3 {
            store.failAttempt(.addOne(to: 0), "no luck")
            store.advance(by: .seconds(1))
        }
        store.failAttempt(.addOne(to: 0), "no luck") {
            $0.isBusy = false
            $0.problem = "failed after 4 attempts: no luck"
        }
    }

    // snippet: testing-job
    @Test(.timeLimit(.minutes(1))) func `One is added to what the effect says`() async throws {
        let run = try await TestJob(Counter.self, .addOne(to: 4)).run(CounterApp.worker)
        run.expect(.returned(.finished(count: 5)))
    }
    // end

    @Test(.timeLimit(.minutes(1))) func `A slow step that nobody wants any more ends before its second is over`() async throws {
        let job = TestJob(Counter.self, .addOne(to: 4))
        job.cancel()
        try await job.run(CounterApp.worker).expect(.cancelled)
    }

    @Test func `In one process a slow step is whatever the caller makes of it`() throws {
        // snippet: testing-local
        var store = try LocalStore(Counter.self)
        try store.send(.incrementAsync)
        for order in store.takeEffects() {
            try store.answer(order.id, with: .finished(count: 1))
        }
        print(store.view.async)
        // end
        #expect(store.view.async == "1")
    }
}
