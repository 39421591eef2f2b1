import Samovar

/// A counter as a panel: what a person sees and what the buttons send is in `view`. The count can be saved to a file and loaded
/// from it, which is work for a worker.
enum Buttons: Program {
    struct State: Portable {
        var count = 0
        /// What the file holds, as far as is known.
        var saved: Int?
        /// Why the file could not be written or read.
        var problem: String?

        var isUnsaved: Bool { saved != count }
    }

    enum Input: Portable {
        case add(by: Int)
        case save, load
    }

    enum Message: Portable {
        case added(Int)
        case saveAsked, loadAsked
        case saved(Int)
        case loaded(Int)
        case failed(reason: String)
        /// The store was asked to end, or has been started again.
        case leaving, returned
    }

    enum Effect: Portable {
        case save(Int)
        case load
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Buttons> {
        .state(State())
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
        switch input {
        case .add(let step): .added(step)
        case .save: .saveAsked
        case .load: .loadAsked
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Buttons> {
        switch message {
        case .added(let step): state.count &+= step
        case .saveAsked: return file(.save(state.count))
        case .loadAsked: return file(.load)
        case .leaving: if state.isUnsaved { return file(.save(state.count)) }
        // What is not in the file yet must not be lost to what is.
        case .returned: if !state.isUnsaved { return file(.load) }
        case .saved(let count):
            state.saved = count
            state.problem = nil
        case .loaded(let count):
            state.count = count
            state.saved = count
            state.problem = nil
        case .failed(let reason): state.problem = reason
        }
        return .none
    }

    /// One after the other, in order, whichever workers do it: else an earlier count could overwrite a later one.
    private static func file(_ effect: Effect) -> Command<Buttons> {
        .run(effect, id: "file", policy: .serial(limit: 100), retry: .times(2), timeout: .seconds(10))
    }

    /// Orders a save when the store ends, and a load when it is back, since somebody may have written to the file meanwhile. A store that
    /// ends hands out no work any more: the order to save waits in the journal, and is carried out after the next start.
    static func subscriptions(_ state: State) -> [Subscription<Buttons>] {
        [.on(.draining, id: "leaving", send: .leaving), .on(.resumed, id: "returned", send: .returned)]
    }

    static func view(_ state: State) -> Panel<Input> {
        Panel(
            "Buttons",
            [
                .text("count \(state.count)", .heading),
                .columns([.button("−1", send: .add(by: -1)), .button("+1", send: .add(by: 1)), .button("+10", send: .add(by: 10))]),
                .space,
                .columns([.button("save", send: .save), .button("load", send: .load)]),
                state.isUnsaved ? .text("not saved", .quiet) : .text("saved", .good),
                .rows(state.problem.map { [.text($0, .bad)] } ?? []),
            ])
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        .failed(reason: failure.description)
    }
}
