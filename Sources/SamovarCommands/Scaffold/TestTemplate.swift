/// The source of the tests: the program's functions are called, with no process and no clock.
struct TestTemplate {
    let name: ScaffoldName
    let choices: ScaffoldChoices

    private var program: ProgramTemplate { ProgramTemplate(name: name, choices: choices) }

    var text: String {
        code(
            "import Samovar",
            "import Testing",
            "",
            "@testable import \(name.module)",
            "",
            "struct \(name.type)Tests {",
            "    /// What the store would hand to each function.",
            "    private let turn = Turn(",
            "        number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 1, low: 2))",
            "",
            "    @Test func `adding and resetting change the count`() {",
            "        var state = \(name.type).State()",
            "        #expect(\(name.type).update(&state, .\(program.add)(by: 3), turn) == .none)",
            "        #expect(state.count == 3)",
            "        #expect(\(name.type).update(&state, .\(program.reset), turn) == .none)",
            "        #expect(state.count == 0)",
            "    }",
            "",
            "    @Test func `counting past the largest number does not trap`() {",
            "        var state = \(name.type).State(count: .max)",
            "        _ = \(name.type).update(&state, .\(program.add)(by: 1), turn)",
            "        #expect(state.count == .min)",
            "    }",
            choices.split.then(split),
            choices.distributed.then(distributed),
            choices.inputEvents.then(inputEvents),
            choices.outputEvents.then(outputEvents),
            choices.panel.then(panel),
            "}",
            "")
    }

    private var split: String {
        code(
            "",
            "    @Test func `an input becomes a message, or is refused`() throws {",
            "        let state = \(name.type).State()",
            "        #expect(try \(name.type).accept(.add(by: 2), state, turn) == .added(by: 2))",
            "        #expect(throws: \(name.type).Refusal.tooMuch(most: \(name.type).mostAtOnce)) {",
            "            try \(name.type).accept(.add(by: .min), state, turn)",
            "        }",
            "    }")
    }

    private var distributed: String {
        code(
            "",
            "    @Test func `doubling is work for a worker, and its answer or failure ends it`() {",
            "        var state = \(name.type).State(count: 4)",
            "        let command = \(name.type).update(&state, .\(program.double), turn)",
            "        #expect(command == .run(.double(count: 4), retry: .times(3), timeout: .seconds(10)))",
            "        #expect(state.isBusy)",
            "",
            "        _ = \(name.type).update(&state, .doubled(count: 8), turn)",
            "        #expect(state == \(name.type).State(count: 8))",
            "",
            "        let failure = Failure(reason: .timedOut, text: \"\", attempts: 4)",
            "        #expect(\(name.type).failed(.double(count: 8), failure) == .gaveUp(reason: failure.description))",
            "        _ = \(name.type).update(&state, .gaveUp(reason: \"no\"), turn)",
            "        #expect(!state.isBusy)",
            "        #expect(state.problem == \"no\")",
            "    }")
    }

    private var inputEvents: String {
        code(
            "",
            "    @Test func `the timer is wanted only while it runs`() {",
            "        var state = \(name.type).State()",
            "        #expect(\(name.type).subscriptions(state).isEmpty)",
            "        _ = \(name.type).update(&state, .\(program.start), turn)",
            "        #expect(\(name.type).subscriptions(state) == [.every(.seconds(1), id: \"tick\", send: .ticked)])",
            "        _ = \(name.type).update(&state, .ticked, turn)",
            "        #expect(state.count == 1)",
            "        _ = \(name.type).update(&state, .\(program.stop), turn)",
            "        #expect(\(name.type).subscriptions(state).isEmpty)",
            "    }")
    }

    private var outputEvents: String {
        code(
            "",
            "    @Test func `reaching a ten is told to other programs`() {",
            "        var state = \(name.type).State(count: 8)",
            "        #expect(\(name.type).update(&state, .\(program.add)(by: 1), turn) == .none)",
            "        #expect(\(name.type).update(&state, .\(program.add)(by: 1), turn) == .emit(.reached(count: 10)))",
            "    }")
    }

    private var panel: String {
        code(
            "",
            "    @Test func `the panel shows the count`() {",
            "        #expect(\(name.type).view(\(name.type).State(count: 7)).nodes.first == .text(\"count 7\", .strong))",
            "    }")
    }
}
