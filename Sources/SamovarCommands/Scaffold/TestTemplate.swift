/// The source of the tests: the program in the store machine of production, with no process and a clock that the test moves.
struct TestTemplate {
    let name: ScaffoldName
    let choices: ScaffoldChoices

    private var program: ProgramTemplate { ProgramTemplate(name: name, choices: choices) }

    var text: String {
        code(
            "import Samovar",
            "import SamovarTesting",
            "import Testing",
            "",
            "@testable import \(name.module)",
            "",
            "struct \(name.type)Tests {",
            "    @Test func `adding and resetting change the count`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.send(.add(by: 3)) { $0.count = 3 }",
            "        store.send(.reset) { $0.count = 0 }",
            choices.outputEvents.then("        store.expectOutputs([.reached(count: 0)])"),
            "        store.finish()",
            "    }",
            "",
            "    @Test func `counting past the largest number does not trap`() {",
            "        var state = \(name.type).State(count: .max)",
            "        let turn = Turn(number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 1, low: 2))",
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
            "    @Test func `too much at once is refused`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.expectRefusal(of: .add(by: .min), .tooMuch(most: \(name.type).mostAtOnce))",
            "        store.finish()",
            "    }")
    }

    private var distributed: String {
        code(
            "",
            "    @Test func `doubling is work for a worker, and its answer ends it`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.send(.add(by: 4)) { $0.count = 4 }",
            "        store.send(.double) { $0.isBusy = true }",
            choices.split.then("        store.expectRefusal(of: .double, .busy)"),
            "        store.expectEffects([.double(count: 4)])",
            "        store.complete(.double(count: 4), with: .doubled(count: 8)) {",
            "            $0.isBusy = false",
            "            $0.count = 8",
            "        }",
            "        store.finish()",
            "    }",
            "",
            "    @Test func `a doubling that fails for good says why`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.send(.double) { $0.isBusy = true }",
            "        store.fail(.double(count: 0), .threw, \"no luck\") {",
            "            $0.isBusy = false",
            "            $0.problem = Failure(reason: .threw, text: \"no luck\", attempts: 1).description",
            "        }",
            "        store.finish()",
            "    }")
    }

    private var inputEvents: String {
        code(
            "",
            "    @Test func `the count grows by itself while the timer is wanted`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.send(.start) { $0.isRunning = true }",
            "        store.advance(by: .seconds(2)) { $0.count = 2 }",
            "        store.send(.stop) { $0.isRunning = false }",
            "        store.advance(by: .seconds(2))",
            "        store.finish()",
            "    }")
    }

    private var outputEvents: String {
        code(
            "",
            "    @Test func `reaching a ten is told to other programs`() throws {",
            "        let store = try TestStore(\(name.type).self)",
            "        store.send(.add(by: 9)) { $0.count = 9 }",
            "        store.send(.add(by: 1)) { $0.count = 10 }",
            "        store.expectOutputs([.reached(count: 10)])",
            "        store.finish()",
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
