/// What is compared with: a store after the published one of Elementary (github.com/mkj-is/Elementary, MIT), written anew for
/// this measurement. A class, a closure that updates the state in place, and a closure for effects, which is called after each
/// action with access to the newest state and a way back.
public final class Store<State, Action> {
    public typealias Update = (inout State, Action) -> Void
    public typealias Dispatch = (Action) -> Void
    public typealias Effect = (@escaping () -> State, Action, @escaping Dispatch) -> Void

    public private(set) var state: State
    private let update: Update
    private let effect: Effect?

    public init(state: State, update: @escaping Update, effect: Effect? = nil) {
        self.state = state
        self.update = update
        self.effect = effect
    }

    public func dispatch(_ action: Action) {
        update(&state, action)
        effect?({ self.state }, action, dispatch)
    }
}
