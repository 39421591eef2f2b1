import SamovarCore
import SamovarTesting
import Testing

/// Contracts of the published designs that hold in one process; those across processes are in CommandTests.
@Suite struct ContractTests {
    /// Counts twice for one input, by a follow-up, and writes each step down by an effect.
    enum Twice: Program {
        struct State: Portable { var count = 0 }
        enum Input: Portable { case increment, incrementTwice, fail }
        enum Message: Portable { case increment, incrementTwice }
        enum Effect: Portable { case log(String) }
        enum Refusal: Error, Portable { case notToday }
        typealias ViewState = Int

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Twice> { .state(State()) }

        static func accept(_ input: Input, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
            switch input {
            case .increment: .increment
            case .incrementTwice: .incrementTwice
            case .fail: throw .notToday
            }
        }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Twice> {
            state.count += 1
            let log = Command<Twice>.run(.log("\(state.count)"))
            return message == .incrementTwice ? log.then(.increment) : log
        }

        static func view(_ state: State) -> Int { state.count }
        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { nil }
    }

    @Test func `C4: The result of an update is checked without a store process`() throws {
        var state = Twice.State()
        let turn = Turn(number: 1, now: Timestamp(microseconds: 0), origin: .store, secret: Secret(high: 0, low: 0))
        #expect(Twice.update(&state, .incrementTwice, turn) == .run(.log("1")).then(.increment))
        #expect(state == Twice.State(count: 1))

        let store = try TestStore(Twice.self)
        store.send(.increment) { $0.count = 1 }
        store.complete(.log("1"))
    }

    @Test func `C10: A chain of follow-ups shows each of its views, 0, 1, 2`() throws {
        let store = try TestStore(Twice.self, exhaustive: false)
        store.send(.incrementTwice)
        store.expectViews([0, 1, 2])
        store.expectView(2)
    }

    @Test func `C11: The view of an event is there before its effects can be seen`() throws {
        let reports = Reports()
        let store = try TestStore(
            Twice.self, exhaustive: false,
            observers: [
                TurnObserver { _, state, turn in
                    "view \(state.count) of turn \(turn.number)"
                } deliver: {
                    reports.note($0)
                }
            ])
        store.send(.increment)
        #expect(reports.takeAll() == ["view 1 of turn 3"])
        store.expectEffects([.log("1")])
    }

    @Test func `C12: The effects of an event come before those of its follow-up`() throws {
        let store = try TestStore(Twice.self, exhaustive: false)
        store.send(.incrementTwice)
        store.expectEffects([.log("1"), .log("2")])
    }

    @Test func `C14: A success and an error that were not expected are reported`() throws {
        let reports = Reports()
        let store = try TestStore(Twice.self, exhaustive: false, reporter: reports.reporter)
        store.expectRefusal(of: .increment, .notToday)
        store.send(.fail)
        #expect(
            reports.takeAll() == [
                "expectRefusal(of: .increment): expected the refusal .notToday, was applied", "send(.fail): was refused: .notToday",
            ])
    }

    @Test func `C18: An observer is told once of each message, and has seen the state after it`() throws {
        let reports = Reports()
        let store = try TestStore(
            Twice.self, exhaustive: false,
            observers: [
                TurnObserver { message, state, _ in
                    "\(message) \(state.count)"
                } deliver: {
                    reports.note($0)
                }
            ])
        store.send(.incrementTwice)
        store.expectRefusal(of: .fail, .notToday)
        store.restart()
        store.send(.increment)
        #expect(reports.takeAll() == ["incrementTwice 1", "increment 2", "increment 3"])
    }
}
