/// The source of the program: a counter that has one example of everything that was chosen.
struct ProgramTemplate {
    let name: ScaffoldName
    let choices: ScaffoldChoices

    /// Without a type for inputs and without a panel nothing is hidden.
    private var isOpen: Bool { !choices.split && !choices.panel }

    /// The names of the messages: facts if there are inputs to be decided, else what is asked for.
    var add: String { choices.split ? "added" : "add" }
    var reset: String { choices.split ? "cleared" : "reset" }
    var start: String { choices.split ? "started" : "start" }
    var stop: String { choices.split ? "stopped" : "stop" }
    var double: String { choices.split ? "doubling" : "double" }

    var text: String {
        code(
            "import Samovar",
            "",
            "/// What \(name.package) is: a state, what can happen to it, and what follows. Everything here is pure and runs in the store.",
            "enum \(name.type): \(isOpen ? "OpenProgram" : "Program") {",
            state,
            "",
            inputs,
            messages,
            choices.distributed.then(effect),
            choices.split.then(refusal),
            choices.outputEvents.then(output),
            (choices.split && !choices.panel).then(viewState),
            "    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<\(name.type)> {",
            "        .state(State())",
            "    }",
            "",
            isOpen ? nil : accept,
            update,
            choices.inputEvents.then(subscriptions),
            choices.panel ? panel : choices.split.then(view),
            choices.distributed.then(failed),
            "}",
            "")
    }

    private var state: String {
        code(
            "    struct State: Portable {",
            "        var count = 0",
            choices.distributed.then("        /// Whether a worker is doubling: there is never more than one at it."),
            choices.distributed.then("        var isBusy = false"),
            choices.distributed.then("        /// Why the last doubling came to nothing."),
            choices.distributed.then("        var problem: String?"),
            choices.inputEvents.then("        /// While it is set, the count grows by itself."),
            choices.inputEvents.then("        var isRunning = false"),
            "    }")
    }

    private var inputs: String? {
        guard choices.split else { return nil }
        return code(
            "    /// What outsiders may send. As JSON: `{\"add\":{\"by\":2}}`.",
            "    enum Input: Portable {",
            "        case add(by: Int)",
            "        case reset",
            choices.distributed.then("        case double"),
            choices.inputEvents.then("        case start, stop"),
            "    }",
            "")
    }

    private var messages: String {
        code(
            choices.split
                ? "    /// What can happen. The journal keeps every one."
                : "    /// What can happen, from outside or inside. As JSON: `{\"add\":{\"by\":2}}`. The journal keeps every one.",
            "    enum Message: Portable {",
            "        case \(add)(by: Int)",
            "        case \(reset)",
            choices.distributed.then("        case \(double)"),
            choices.distributed.then("        case doubled(count: Int)"),
            choices.distributed.then("        case gaveUp(reason: String)"),
            choices.inputEvents.then("        case \(start), \(stop)"),
            choices.inputEvents.then("        case ticked"),
            "    }",
            "",
            (!choices.split && choices.panel).then("    typealias Input = Message"),
            (!choices.split && choices.panel).then(""))
    }

    private var effect: String {
        code(
            "    /// What workers can be asked to do.",
            "    enum Effect: Portable {",
            "        case double(count: Int)",
            "    }",
            "")
    }

    private var refusal: String {
        code(
            "    /// Why an input is turned away.",
            "    enum Refusal: Error, Portable {",
            "        case tooMuch(most: Int)",
            choices.distributed.then("        case busy"),
            "    }",
            "",
            "    static let mostAtOnce = 1_000",
            "")
    }

    private var output: String {
        code(
            "    /// What other programs may hear of.",
            "    enum Output: Portable {",
            "        case reached(count: Int)",
            "    }",
            "")
    }

    private var viewState: String {
        code(
            "    /// What outsiders see.",
            "    struct ViewState: Portable {",
            "        let count: Int",
            choices.distributed.then("        let status: String"),
            choices.inputEvents.then("        let isRunning: Bool"),
            "    }",
            "")
    }

    private var accept: String {
        guard choices.split else {
            return code(
                "    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {",
                "        input",
                "    }",
                "")
        }
        return code(
            "    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {",
            "        switch input {",
            "        case .add(let step):",
            "            guard (-mostAtOnce...mostAtOnce).contains(step) else { throw .tooMuch(most: mostAtOnce) }",
            "            return .added(by: step)",
            "        case .reset: return .cleared",
            choices.distributed.then("        case .double:"),
            choices.distributed.then("            if state.isBusy { throw .busy }"),
            choices.distributed.then("            return .doubling"),
            choices.inputEvents.then("        case .start: return .started"),
            choices.inputEvents.then("        case .stop: return .stopped"),
            "        }",
            "    }",
            "")
    }

    private var update: String {
        code(
            "    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<\(name.type)> {",
            choices.outputEvents.then("        let before = state.count"),
            "        switch message {",
            "        // Wrapping: a trap in `update` would end the store.",
            "        case .\(add)(let step): state.count &+= step",
            "        case .\(reset): state.count = 0",
            choices.distributed.then(doubling),
            choices.inputEvents.then("        case .\(start): state.isRunning = true"),
            choices.inputEvents.then("        case .\(stop): state.isRunning = false"),
            choices.inputEvents.then("        case .ticked: state.count &+= 1"),
            "        }",
            choices.outputEvents.then("        // Each time a ten is reached, other programs hear of it."),
            choices.outputEvents
                ? "        return state.count != before && state.count.isMultiple(of: 10) ? .emit(.reached(count: state.count)) : .none"
                : "        return .none",
            "    }")
    }

    private var doubling: String {
        code(
            "        case .\(double):",
            choices.split ? nil : "            if state.isBusy { return .none }",
            "            state.isBusy = true",
            "            state.problem = nil",
            "            return .run(.double(count: state.count), retry: .times(3), timeout: .seconds(10))",
            "        case .doubled(let count):",
            "            state.isBusy = false",
            "            state.count = count",
            "        case .gaveUp(let reason):",
            "            state.isBusy = false",
            "            state.problem = reason")
    }

    private var subscriptions: String {
        code(
            "",
            "    /// Looked at after each turn: the timer runs for as long as the state wants it, also over restarts.",
            "    static func subscriptions(_ state: State) -> [Subscription<\(name.type)>] {",
            "        state.isRunning ? [.every(.seconds(1), id: \"tick\", send: .ticked)] : []",
            "    }")
    }

    private var view: String {
        let fields = [
            "count: state.count", choices.distributed.then("status: state.isBusy ? \"working …\" : state.problem ?? \"idle\""),
            choices.inputEvents.then("isRunning: state.isRunning"),
        ]
        return code(
            "",
            "    static func view(_ state: State) -> ViewState {",
            "        ViewState(\(fields.compactMap { $0 }.joined(separator: ", ")))",
            "    }")
    }

    private var panel: String {
        code(
            "",
            "    /// The user interface: `\(name.package) monitor` draws it, and its buttons can be pressed there.",
            "    static func view(_ state: State) -> Panel<Input> {",
            "        Panel(",
            "            \"\(name.type)\",",
            "            [",
            "                .text(\"count \\(state.count)\", .strong),",
            "                .columns([",
            "                    .button(\"+1\", send: .add(by: 1)), .button(\"−1\", send: .add(by: -1)), .button(\"reset\", send: .reset),",
            "                ]),",
            "                .integerField(\"Add\") { .add(by: $0) },",
            choices.distributed.then("                .button(\"double\", send: .double),"),
            choices.distributed.then("                .text(state.isBusy ? \"working …\" : state.problem ?? \"idle\", .quiet),"),
            choices.inputEvents.then(
                "                state.isRunning ? .button(\"stop\", send: .stop) : .button(\"start\", send: .start),"),
            "            ])",
            "    }")
    }

    private var failed: String {
        code(
            "",
            "    /// What follows when an effect has failed for good.",
            "    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {",
            "        .gaveUp(reason: failure.description)",
            "    }")
    }
}
