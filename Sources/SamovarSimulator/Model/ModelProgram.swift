import MessagePack
import SamovarCore

/// The program of the simulated store. Every input carries a number that no other has, and the checksum of the state depends on each
/// message, its turn, its time and its order: a message lost, repeated or taken out of turn is seen in every later view.
enum ModelProgram: Program {
    struct Seed: Portable {
        /// How much a view weighs.
        var viewBytes: Int
    }

    struct State: Portable {
        var tally: Tally
        var viewBytes: Int
        /// What was ordered, by kind: a dictionary, so that its order must not matter.
        var orders: [String: Int] = [:]
        /// What the state wants to hear of, by its label.
        var timers: [String: ArmedTimer] = [:]
        /// A source that has failed for good, to be requeued when it is not wanted any more, which is too late.
        var lost: LostSource?
    }

    struct LostSource: Portable {
        let inputID: UInt64
        let turn: Int
        let ordinal: Int
    }

    enum Input: Portable {
        case message(Message)
        case refuse(UInt64)
    }

    enum Message: Portable {
        case noted(UInt64)
        /// With so many follow-ups, the last of which orders an effect.
        case link(UInt64, rest: Int)
        case ordered(UInt64, Work, count: Int)
        /// The answer of an effect; `resultID` is of one execution and no other.
        case answered(UInt64, resultID: UInt64)
        case failed(UInt64, attempts: Int)
        case armed(UInt64, TimerSpec)
        case disarmed(UInt64, timer: Int)
        case fired(UInt64, timer: Int)
        /// Orders an effect with a label and a policy.
        case labelled(UInt64, Work, LabelSpec)
        /// Cancels what has a label.
        case cancelled(UInt64, labelSpec: Int)
        case emitted(UInt64)
        /// Streamed by an effect, item after item.
        case streamed(UInt64, item: Int)
        /// Orders something about dead effects, queues or labels.
        case controlled(UInt64, ControlSpec)
        /// An operator did something, which a number tells.
        case operated(UInt64)
    }

    /// What other programs hear.
    typealias Output = UInt64

    /// What a worker is asked for.
    struct Effect: Portable {
        let inputID: UInt64
        let work: Work
        /// Of several that one turn orders; of one with a label, the code of its `LabelSpec`.
        let part: Int
    }

    struct Refusal: Error & Portable {
        let inputID: UInt64
    }

    struct ViewState: Portable {
        let tally: Tally
        let text: String
    }

    static var schema: Schema { Schema(name: "Model", version: 1) }

    static func start(_ seed: Seed, _ turn: Turn) throws -> Next<ModelProgram> {
        .state(State(tally: Tally(), viewBytes: seed.viewBytes), .then(.noted(1)).run(Effect(inputID: 1, work: .quick, part: 0)))
    }

    static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
        switch input {
        case .message(let message): return message
        case .refuse(let inputID): throw Refusal(inputID: inputID)
        }
    }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<ModelProgram> {
        state.tally.take(message, turn)
        switch message {
        case .noted: return requeueLost(&state)
        case .streamed: return .none
        case .failed(let inputID, _): return handleFailure(&state, inputID, turn)
        case .answered(let inputID, _):
            // Some answers end subscriptions: one, or all that wait for the end of the store.
            if inputID % 8 == 3 { state.timers[name(Int(inputID / 8 % UInt64(TimerSpec.places)))] = nil }
            if inputID % 4 == 1 { state.timers = state.timers.filter { $0.value.timer.kind != .draining } }
            return .none
        case .link(let inputID, let rest):
            return rest > 0 ? .then(.link(inputID, rest: rest - 1)) : order(Effect(inputID: inputID, work: .quick, part: 0))
        case .ordered(let inputID, let work, let count):
            state.orders[work.rawValue, default: 0] += count
            return .batch((0..<count).map { order(Effect(inputID: inputID, work: work, part: $0)) })
        case .armed(let inputID, let timer):
            state.timers[name(timer.place)] = ArmedTimer(timer, inputID: inputID, now: turn.now)
            return .none
        case .disarmed(_, let timer):
            state.timers[name(timer)] = nil
            return .none
        case .fired(let inputID, let timer): return fire(&state, inputID, timer)
        case .labelled(let inputID, let work, let labelSpec):
            return order(Effect(inputID: inputID, work: work, part: labelSpec.code), id: labelSpec.label, policy: labelSpec.policy)
        case .cancelled(let inputID, let labelSpec): return .cancel(LabelSpec.label(labelSpec)).emit(inputID)
        case .emitted(let inputID): return .emit(inputID).emit(inputID &+ 1)
        case .controlled(_, let controlSpec): return controlSpec.command
        case .operated(let number):
            if number % 4 == 1 { return order(Effect(inputID: number, work: .quick, part: 0)) }
            return number % 4 == 0 ? .emit(number) : .none
        }
    }

    /// Some of what failed for good is opened again, as far as it is dead, and some is given up.
    private static func handleFailure(_ state: inout State, _ inputID: UInt64, _ turn: Turn) -> Command<ModelProgram> {
        guard case .failure(let id) = turn.origin else { return .none }
        switch turn.number % 4 {
        case 0: return .requeue(id)
        case 1: return .drop(id)
        default:
            if id.ordinal >= TimerOracle.firstPlace {
                state.lost = LostSource(inputID: inputID, turn: id.turn, ordinal: id.ordinal)
            }
            return .none
        }
    }

    /// A source that has failed for good is not wanted any more at the first `noted`, and requeued at the second.
    private static func requeueLost(_ state: inout State) -> Command<ModelProgram> {
        guard let lost = state.lost else { return .none }
        let wanted = state.timers.filter { $0.value.inputID != lost.inputID }
        guard wanted.count == state.timers.count else {
            state.timers = wanted
            return .none
        }
        state.lost = nil
        return .requeue(EffectID(turn: lost.turn, ordinal: lost.ordinal))
    }

    /// A timer that fired. One that fires at a single time is disarmed by half of its firings.
    private static func fire(_ state: inout State, _ inputID: UInt64, _ place: Int) -> Command<ModelProgram> {
        guard let armed = state.timers[name(place)] else { return .none }
        state.timers[name(place)]?.count += 1
        if armed.timer.kind == .at, inputID % 2 == 0 { state.timers[name(place)] = nil }
        guard armed.timer.isWorking else { return armed.count % 4 == 0 ? .emit(inputID) : .none }
        return order(Effect(inputID: inputID, work: .quick, part: 0), id: Label("timer \(place)"), policy: .latest)
    }

    private static func order(_ effect: Effect, id: Label? = nil, policy: Policy = .all) -> Command<ModelProgram> {
        .run(
            effect,
            RunOptions(
                id: id, queue: effect.work.queue, policy: policy, retry: effect.work.retry, delay: effect.work.delay,
                limits: RunLimits(attempt: effect.timeout, total: effect.work.total)))
    }

    static func name(_ place: Int) -> String { "timer \(place)" }

    static func subscriptions(_ state: State) -> [Subscription<ModelProgram>] {
        state.timers.isEmpty ? [] : state.timers.sorted { $0.key < $1.key }.map { $0.value.subscription(id: Label($0.key)) }
    }

    /// Broken now and then, so that it can be looked for.
    static var invariants: [SamovarCore.Invariant<ModelProgram>] {
        [.init("the checksum is no multiple of 16") { !$0.tally.checksum.isMultiple(of: 16) || $0.tally.messages == 0 }]
    }

    static func view(_ state: State) -> ViewState { view(of: state.tally, viewBytes: state.viewBytes) }

    /// A view depends on the tally alone, so that a checker that keeps the tally of each turn knows each view.
    static func view(of tally: Tally, viewBytes: Int) -> ViewState {
        let letter = UInt8(97 + tally.checksum % 26)
        return ViewState(tally: tally, text: String(decoding: [UInt8](repeating: letter, count: viewBytes), as: UTF8.self))
    }

    static func failed(_ effect: Effect, _ failure: Failure) -> Message? {
        effect.work == .doomed ? nil : .failed(effect.inputID, attempts: failure.attempts)
    }

    static func operated(_ action: OperatorAction<ModelProgram>) -> Message? {
        switch action {
        case .requeued(let effect, let id): .operated(effect.inputID &+ UInt64(id.turn))
        case .dropped(let effect, let id): effect.inputID % 3 == 0 ? nil : .operated(effect.inputID &+ UInt64(id.ordinal))
        case .paused(.queue(let queue)): .operated(UInt64(queue.name.utf8.count))
        case .paused(.label(let label)), .resumed(.label(let label)): .operated(UInt64(label.text.utf8.last ?? 0))
        case .resumed(.queue): nil
        case .ruled(_, let rules): .operated(UInt64(rules.rate?.count ?? 0))
        }
    }
}

/// What the messages so far came to.
struct Tally: Portable, BitwiseCopyable {
    var messages = 0
    var checksum: UInt64 = 0

    mutating func take(_ message: ModelProgram.Message, _ turn: Turn) {
        messages += 1
        var random = turn.random("flour")
        var hash = KeyedHash(Secret(high: checksum, low: random.next()))
        hash.combine(turn.number)
        hash.combine(UInt64(bitPattern: turn.now.microseconds))
        if let sender = turn.sender { for byte in "\(sender.name) \(sender.fingerprint)".utf8 { hash.combine(UInt64(byte)) } }
        switch message {
        case .noted(let inputID): hash.combine(inputID)
        case .link(let inputID, let rest): hash.combine(inputID &+ UInt64(rest))
        case .ordered(let inputID, _, let count): hash.combine(inputID &* UInt64(count + 1))
        case .answered(let inputID, let resultID): hash.combine(inputID ^ resultID)
        case .failed(let inputID, let attempts): hash.combine(inputID &- UInt64(attempts))
        case .armed(let inputID, let timer): hash.combine(inputID ^ timer.code)
        case .disarmed(let inputID, let timer), .fired(let inputID, let timer): hash.combine(inputID &* UInt64(timer + 2))
        case .labelled(let inputID, _, let labelSpec): hash.combine(inputID &- UInt64(labelSpec.code))
        case .cancelled(let inputID, let labelSpec): hash.combine(inputID &+ UInt64(labelSpec) << 32)
        case .emitted(let inputID): hash.combine(~inputID)
        case .streamed(let inputID, let item): hash.combine(inputID &+ UInt64(item) << 40)
        case .controlled(let inputID, let controlSpec): hash.combine(inputID ^ controlSpec.code << 16)
        case .operated(let number): hash.combine(~number << 8)
        }
        checksum = hash.finish()
    }
}
