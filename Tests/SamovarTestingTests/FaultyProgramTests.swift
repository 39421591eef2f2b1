import SamovarCore
import SamovarTesting
import Synchronization
import Testing

/// Programs that would go wrong in production, found in a unit test. One after the other, because two share what is outside.
@Suite(.serialized) struct FaultyProgramTests {
    private let reports = Reports()

    /// Reads what is not among its arguments.
    enum Impure: OpenProgram {
        static let outside = Mutex(0)
        struct State: Portable { var seen = 0 }
        enum Message: Portable { case look, order }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Impure> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Impure> {
            let number = outside.withLock { number in
                number += 1
                return number
            }
            state.seen = number
            return message == .order && number > 2 ? .then(.look) : .none
        }
    }

    @Test func `An update that is no function of its arguments is found by a restart`() throws {
        Impure.outside.withLock { $0 = 0 }
        let store = try TestStore(Impure.self, reporter: reports.reporter)
        store.send(.look) { $0.seen = 1 }
        store.restart()
        #expect(
            reports.takeAll().first
                == "restart(): the journal gives another state than before\n  state.seen: expected 1, is 2")
    }

    @Test func `An update that orders something else the next time is found by a restart`() throws {
        Impure.outside.withLock { $0 = 0 }
        let store = try TestStore(Impure.self, exhaustive: false, reporter: reports.reporter)
        store.send(.order)
        store.send(.order)
        store.restart()
        #expect(
            reports.takeAll().first
                == "restart(): the journal cannot be replayed: turn 3: `update` returns another command than it did: it has changed or is not deterministic"
        )
    }

    /// Forgets a part of its state when it is encoded.
    enum Forgetful: OpenProgram {
        struct State: Portable {
            var kept = 0
            var lost = 0
            enum CodingKeys: String, CodingKey { case kept }
        }
        enum Message: Portable { case count }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Forgetful> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Forgetful> {
            state.lost += 1
            return .none
        }
    }

    @Test func `A state that does not survive the codec is told of, once`() throws {
        let store = try TestStore(Forgetful.self, reporter: reports.reporter)
        store.send(.count) { $0.lost = 1 }
        store.send(.count) { $0.lost = 2 }
        #expect(
            reports.takeAll() == [
                "the codec: the state does not survive being encoded and decoded\n  state.lost: expected 1, is 0"
            ])
    }

    /// Its input cannot be read back.
    enum Garbled: OpenProgram {
        struct State: Portable { var count = 0 }
        struct Message: Portable {
            var number: Int
            init(number: Int) { self.number = number }
            init(from decoder: any Decoder) throws { number = try decoder.singleValueContainer().decode(Int.self) + 1 }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(number)
            }
        }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Garbled> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Garbled> {
            state.count = message.number
            return .none
        }
    }

    @Test func `An input that the codec changes is told of`() throws {
        let store = try TestStore(Garbled.self, exhaustive: false, reporter: reports.reporter)
        store.send(Garbled.Message(number: 1))
        #expect(
            reports.takeAll() == [
                "send(Message(number: 1)): Message(number: 1) does not survive being encoded and decoded\n  value.number: expected 1, is 2"
            ])
    }

    /// Sells what it does not have.
    enum Shop: OpenProgram {
        struct State: Portable { var stock = 1 }
        enum Message: Portable { case sell(Int), sellTwice, restock(Int) }

        static var invariants: [Invariant<Shop>] {
            [
                Invariant("no negative stock") { state in state.stock >= 0 },
                Invariant("a small shop") { state in state.stock <= 100 },
            ]
        }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Shop> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Shop> {
            switch message {
            case .sell(let count): state.stock -= count
            case .restock(let count): state.stock += count
            case .sellTwice: return .batch([.then(.sell(1)), .then(.restock(1))])
            }
            return .none
        }
    }

    @Test func `A broken invariant is reported once, with the call, the turn and the message that broke it`() throws {
        let store = try TestStore(Shop.self, reporter: reports.reporter)
        store.send(.sell(1)) { $0.stock = 0 }
        #expect(reports.takeAll().isEmpty)
        let turn = store.head
        store.send(.sell(2)) { $0.stock = -2 }
        #expect(reports.takeAll() == ["send(.sell(2)): “no negative stock” is broken after turn \(turn + 1), by .sell(2)"])
        store.send(.sell(1)) { $0.stock = -3 }
        #expect(reports.takeAll().isEmpty)
        store.send(.restock(200)) { $0.stock = 197 }
        #expect(reports.takeAll() == ["send(.restock(200)): “a small shop” is broken after turn \(turn + 3), by .restock(200)"])
    }

    @Test func `An invariant that is broken within a group is reported, whole as it is at its end`() throws {
        let store = try TestStore(Shop.self, reporter: reports.reporter)
        store.send(.sell(1)) { $0.stock = 0 }
        let turn = store.head
        store.send(.sellTwice)
        #expect(reports.takeAll() == ["send(.sellTwice): “no negative stock” is broken after turn \(turn + 2), by .sell(1)"])
    }
}
