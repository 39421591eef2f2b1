import Samovar

/// Counts things by name, and shows a panel: all that a person can see and do is in `view`.
enum Tally: Program {
    struct State: Portable {
        var counts: [String: Int] = [:]
        var goal = 10

        var total: Int { counts.values.reduce(0, +) }
    }

    enum Input: Portable {
        case add(name: String)
        case count(name: String, by: Int)
        case remove(name: String)
        case setGoal(to: Int)
    }

    typealias Message = Input

    enum Refusal: Error, Portable {
        case unnamed, tooLong, tooMany, known(name: String), unknown(name: String), goalNotPositive
    }

    /// Nothing is unbounded, not even the state of an example.
    static let maximumNames = 100
    static let maximumLength = 40
    static let maximumGoal = 1_000_000

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Tally> {
        .state(State())
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .add(let name):
            if name.isEmpty { throw .unnamed }
            if name.unicodeScalars.count > maximumLength { throw .tooLong }
            if state.counts[name] != nil { throw .known(name: name) }
            if state.counts.count >= maximumNames { throw .tooMany }
        case .count(let name, _), .remove(let name):
            if state.counts[name] == nil { throw .unknown(name: name) }
        case .setGoal(let goal):
            if !(1...maximumGoal).contains(goal) { throw .goalNotPositive }
        }
        return input
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Tally> {
        switch message {
        case .add(let name): state.counts[name] = 0
        case .count(let name, let step):
            // Clamped, so that neither a count nor the total of all can overflow.
            let step = min(max(step, -maximumGoal), maximumGoal)
            state.counts[name] = state.counts[name].map { min(max($0 + step, 0), maximumGoal) }
        case .remove(let name): state.counts[name] = nil
        case .setGoal(let goal): state.goal = goal
        }
        return .none
    }

    // snippet: tally-invariants
    static var invariants: [Invariant<Tally>] {
        [
            Invariant("no count is negative") { state in state.counts.values.allSatisfy { $0 >= 0 } },
            Invariant("the goal can be reached") { state in (1...maximumGoal).contains(state.goal) },
        ]
    }
    // end

    static func view(_ state: State) -> Panel<Input> {
        Panel(
            "Tally",
            [
                .progress("total", done: state.total, of: state.goal),
                .space,
                .table(["name", PanelColumn("count", .right), "", "", ""], rows: state.counts.sorted { $0.key < $1.key }.map(row)),
                .space,
                .section(
                    "Change",
                    [
                        .field("Add") { .add(name: $0) },
                        .integerField("Goal", holds: "\(state.goal)") { .setGoal(to: $0) },
                    ]),
            ])
    }

    private static func row(_ name: String, _ count: Int) -> [PanelNode<Input>] {
        [
            .text(name), .text("\(count)", .strong),
            .button("+1", send: .count(name: name, by: 1)), .button("−1", send: .count(name: name, by: -1)),
            .button("remove", send: .remove(name: name)),
        ]
    }
}
