import Samovar
import SamovarCore
import Testing

@testable import CounterExample

struct CounterTests {
    @Test func `Counts up and down without a worker`() throws {
        var counter = Driver()
        for input: Counter.Input in [.increment, .increment, .decrement] { try counter.send(input) }

        #expect(counter.view == Counter.ViewState(sync: "1", async: "0", status: "idle"))
        #expect(counter.effects.isEmpty)
    }

    @Test func `Asynchronous increment is work for a worker`() throws {
        var counter = Driver()
        try counter.send(.incrementAsync)
        #expect(counter.effects == [.addOne(to: 0)])
        #expect(counter.view == Counter.ViewState(sync: "0", async: "0", status: "working…"))

        counter.answer(.finished(count: 1))
        #expect(counter.view == Counter.ViewState(sync: "0", async: "1", status: "idle"))
    }

    @Test func `Second asynchronous increment is refused while one is under way`() throws {
        var counter = Driver()
        try counter.send(.incrementAsync)
        #expect(throws: Counter.Refusal.busy) { try counter.send(.incrementAsync) }

        try counter.send(.increment)
        counter.answer(.finished(count: 1))
        try counter.send(.incrementAsync)
        #expect(counter.effects == [.addOne(to: 0), .addOne(to: 1)])
    }

    @Test func `Failure is shown and leaves the counter usable`() throws {
        var counter = Driver()
        try counter.send(.incrementAsync)
        let failure = Failure(reason: .timedOut, text: "", attempts: 4)
        counter.answer(try #require(Counter.failed(.addOne(to: 0), failure)))
        #expect(counter.view == Counter.ViewState(sync: "0", async: "0", status: "timed out after 4 attempts"))

        try counter.send(.incrementAsync)
        counter.answer(.finished(count: 1))
        #expect(counter.view == Counter.ViewState(sync: "0", async: "1", status: "idle"))
    }

    @Test func `Counting past the largest number does not trap`() throws {
        var counter = Driver(Counter.State(sync: .max))
        try counter.send(.increment)
        #expect(counter.view.sync == "\(Int.min)")
    }
}

/// Drives the program as the store does, without any process.
private struct Driver: ~Copyable {
    var engine: TurnEngine<Counter>
    var effects: [Counter.Effect] = []

    init(_ state: Counter.State = Counter.State()) {
        engine = TurnEngine(state: state, head: 0, secret: Secret(high: 1, low: 2))
    }

    var view: Counter.ViewState { Counter.view(engine.state) }

    mutating func send(_ input: Counter.Input) throws(Counter.Refusal) {
        let turn = engine.next(now: Timestamp(microseconds: 0), origin: .store)
        answer(try Counter.accept(input, engine.state, turn))
    }

    mutating func answer(_ message: Counter.Message) {
        for case .run(let effect, _) in engine.step(message, now: Timestamp(microseconds: 0), origin: .store).command {
            effects.append(effect)
        }
    }
}
