import MessagePack
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

    /// Holds a nil in an optional, which MessagePack writes as none at all, and a text that it reads only the beginning of.
    enum Patching: OpenProgram {
        struct State: Portable { var owner: String?? }
        struct Note: Portable {
            var text: String
            init(text: String) { self.text = text }
            init(from decoder: any Decoder) throws {
                text = String(try decoder.singleValueContainer().decode(String.self).prefix(250))
            }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }
        }
        enum Message: Portable { case clear, patched(name: String??), noted(Note) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Patching> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Patching> {
            if message == .clear { state.owner = .some(nil) }
            return .none
        }
    }

    @Test func `What the codec changes is told of, also where both are shown alike`() throws {
        let store = try TestStore(Patching.self, exhaustive: false, reporter: reports.reporter)
        store.send(.clear)
        #expect(
            reports.takeAll() == [
                "the codec: the state does not survive being encoded and decoded\n  state.owner: expected .some(nil), is nil"
            ])
        store.send(.patched(name: .some(nil)))
        #expect(
            reports.takeAll() == [
                "send(.patched(name: .some(nil))): .patched(name: .some(nil)) does not survive being encoded and decoded\n"
                    + "  value.patched.name: expected .some(nil), is nil"
            ])
        store.send(.noted(Patching.Note(text: String(repeating: "x", count: 300))))
        let told = reports.takeAll()
        #expect(told.count == 1 && told.first?.contains("text: two that differ are both shown as \"xxx") == true, "\(told)")
    }

    /// A part of each message that it makes itself is lost when it is encoded.
    enum Leaky: Program {
        struct Parcel: Portable {
            var kept = 0
            var lost = 0
            enum CodingKeys: String, CodingKey { case kept }
        }
        typealias ViewState = Bool
        struct State: Portable { var isTicking = false }
        enum Input: Portable { case take, follow, work, tick }
        enum Effect: Portable { case work }
        enum Message: Portable {
            case asked(Input)
            case begun(Parcel), taken(Parcel), followed(Parcel), failed(Parcel), operated(Parcel), ticked(Parcel)
        }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Leaky> { .state(State(), .then(.begun(Parcel(lost: 1)))) }

        static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message {
            input == .take ? .taken(Parcel(lost: 2)) : .asked(input)
        }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Leaky> {
            switch message {
            case .asked(.follow): return .then(.followed(Parcel(lost: 3)))
            case .asked(.work): return .run(.work)
            case .asked(.tick): state.isTicking = true
            default: break
            }
            return .none
        }

        static func subscriptions(_ state: State) -> [Subscription<Leaky>] {
            state.isTicking ? [.every(.seconds(1), id: "clock", send: .ticked(Parcel(lost: 6)))] : []
        }

        static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .failed(Parcel(lost: 4)) }
        static func operated(_ action: OperatorAction<Leaky>) -> Message? { .operated(Parcel(lost: 5)) }
        static func view(_ state: State) -> Bool { state.isTicking }
    }

    /// Of `.name(Parcel(kept: 0, lost: number))`.
    private func loss(_ call: String, _ name: String, _ number: Int, _ source: String) -> String {
        "\(call): .\(name)(Parcel(kept: 0, lost: \(number))), \(source), does not survive being encoded and decoded\n"
            + "  message.\(name).lost: expected \(number), is 0"
    }

    @Test func `A message of the program that the codec changes is told of once, with where it came from`() throws {
        let store = try TestStore(Leaky.self, exhaustive: false, reporter: reports.reporter)
        #expect(reports.takeAll() == [loss("the start", "begun", 1, "which turn 1 ordered with `.then`")])
        var turn = store.head
        store.send(.take)
        #expect(reports.takeAll() == [loss("send(.take)", "taken", 2, "which `accept` made in turn \(turn + 1)")])
        turn = store.head
        store.send(.follow)
        #expect(reports.takeAll() == [loss("send(.follow)", "followed", 3, "which turn \(turn + 1) ordered with `.then`")])
        turn = store.head
        store.send(.work)
        #expect(reports.takeAll() == [])
        store.fail(.work)
        #expect(reports.takeAll() == [loss("fail(.work)", "failed", 4, "which `failed` made of effect \(turn + 1)/0")])
        store.pause(.queue("mail"))
        let told = reports.takeAll()
        #expect(told.count == 1)
        #expect(told.first?.contains(".operated(Parcel(kept: 0, lost: 5)), which `operated` made in turn ") == true, "\(told)")
        store.send(.tick)
        #expect(reports.takeAll() == [loss("send(.tick)", "ticked", 6, "which the subscription “clock” sends")])
        store.advance(by: .seconds(10))
        store.send(.take)
        store.send(.follow)
        #expect(reports.takeAll() == [], "each has been told")
    }

    /// Measures, and knows when it is to end only one turn after it has begun.
    enum Gauge: OpenProgram {
        struct State: Portable {
            var isMeasuring = false
            var end: Timestamp?
            var samples: [Double] = []
        }
        enum Message: Portable { case begin, arm, measured([Double]), ended }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Gauge> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Gauge> {
            switch message {
            case .begin:
                state.isMeasuring = true
                return .then(.arm)
            case .arm:
                state.end = turn.now + .seconds(9)
                return .then(.measured([.nan, 1]))
            case .measured(let samples): state.samples = samples
            case .ended: state.isMeasuring = false
            }
            return .none
        }

        static func subscriptions(_ state: State) -> [Subscription<Gauge>] {
            guard state.isMeasuring, let end = state.end else {
                precondition(!state.isMeasuring, "asked for in the middle of a group")
                return []
            }
            return [.at(end, id: "end", send: .ended)]
        }
    }

    @Test func `Subscriptions are asked for after a group only, and what is not a number survives the codec`() throws {
        let store = try TestStore(Gauge.self, exhaustive: false, reporter: reports.reporter)
        store.send(.begin)
        store.advance(by: .seconds(9))
        #expect(!store.state.isMeasuring && store.state.samples.count == 2)
        #expect(reports.takeAll() == [])
    }

    /// Orders a message that refuses to be encoded.
    enum Mute: OpenProgram {
        struct State: Portable {}
        struct Unspeakable: Error {}
        struct Message: Portable {
            var isSpoken: Bool
            enum CodingKeys: CodingKey { case isSpoken }

            func encode(to encoder: any Encoder) throws {
                guard isSpoken else { throw Unspeakable() }
                var container = encoder.container(keyedBy: CodingKeys.self)
                try container.encode(isSpoken, forKey: .isSpoken)
            }
        }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Mute> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Mute> {
            message.isSpoken ? .then(Message(isSpoken: false)) : .none
        }
    }

    @Test func `A message that cannot be encoded is named before the store stops because of it`() throws {
        let store = try TestStore(Mute.self, reporter: reports.reporter)
        let turn = store.head + 1
        store.send(Mute.Message(isSpoken: true))
        #expect(
            reports.takeAll() == [
                "send(Message(isSpoken: true)): Message(isSpoken: false), which turn \(turn) ordered with `.then`, "
                    + "cannot be encoded and decoded: Unspeakable()",
                "send(Message(isSpoken: true)): the store stops: "
                    + "the group of turn \(turn) has a value that cannot be encoded: Unspeakable()",
            ])
    }

    /// Orders a message that writes itself deeper than it can be read.
    enum Deep: OpenProgram {
        struct State: Portable {}
        struct Message: Portable { var inner: [Message] = [] }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Deep> { .state(State()) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Deep> {
            guard message.inner.isEmpty else { return .none }
            return .then((1...64).reduce(Message()) { inner, _ in Message(inner: [inner]) })
        }
    }

    @Test func `A message that is nested too deep to be read again is told of`() throws {
        let store = try TestStore(Deep.self, reporter: reports.reporter)
        let turn = store.head + 1
        store.send(Deep.Message())
        let told = reports.takeAll()
        #expect(told.count == 1)
        let text = "which turn \(turn) ordered with `.then`, cannot be encoded and decoded: "
        #expect(told.first?.contains(text + "values are nested deeper than the limit of 64") == true, "\(told)")
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

extension FaultyProgramTests.Deep.Message: MessagePackable {
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(inner.count)
        for message in inner { writer.write(message) }
    }

    init(from reader: inout MessagePackReader) throws(MessagePackError) {
        for _ in 0..<(try reader.readArrayHeader()) { inner.append(try reader.read()) }
    }
}
