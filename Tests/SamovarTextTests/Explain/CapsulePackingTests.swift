import MessagePack
import Samovar
import SamovarCore
import SamovarStore
import SamovarWire
import Testing

@testable import SamovarText

/// What is packed, by a program that throws dice.
@Suite struct CapsulePackingTests {
    private static let secret = Secret(high: 5, low: 6)

    /// So many throws behind a state without any, with a six when `isLucky` says so.
    private static func content(throws count: Int, secret: Secret = secret) throws -> CapsuleContent {
        var content = CapsuleContent(
            schema: Dice.schema, secret: secret, turn: 9, state: try MessagePackEncoder(canonical: true).encode(Dice.State()),
            last: 9 + count, items: [])
        for place in 1...count {
            let origin = Origin.client(session: UniqueID(high: 0, low: 1), sequence: place)
            let event = Record.Event.applied(message: MessagePackValue.string("throw").encoded, hash: 0, closes: false)
            content.note(Record(turn: 9 + place, time: Timestamp(microseconds: Int64(place)), origin: origin, event: event))
        }
        return content
    }

    private static func goal(_ text: String) throws -> Bisection.Goal { try Bisection.Goal(named: text, for: Dice.self) }

    @Test func `What random numbers did happens again with their secret, and not with another`() throws {
        let content = try Self.content(throws: 8)
        let thrown = try CapsuleReplay<Dice>(content).run().state.throws
        let goal = try Self.goal("state.throws[7] == \(thrown[7])")
        #expect(try CapsulePacking<Dice>(content, goal).fails)
        let others = try (1...20).map {
            try CapsulePacking<Dice>(Self.content(throws: 8, secret: Secret(high: 0, low: $0)), goal).fails
        }
        #expect(others.contains(false))
    }

    @Test func `Shrunk, it fails as before, with no more than it needs`() throws {
        let content = try Self.content(throws: 60)
        var packing = try CapsulePacking<Dice>(content, try Self.goal("count(state.throws) >= 3"))
        #expect(packing.fails)
        try packing.shrink { false }
        let packed = try packing.packed()
        #expect(packed.items.count == 3 && packed.turn == 9 && packed.last == 69)
        #expect(try CapsuleReplay<Dice>(packed).run().state.throws.count == 3)
        #expect(packing.remark == nil)
    }

    @Test func `An invariant that was broken by a turn in between is a failure, whatever came after it`() throws {
        let content = try Self.content(throws: 60)
        var packing = try CapsulePacking<Dice>(content, try Self.goal("never exactly two"))
        #expect(packing.fails)
        try packing.shrink { false }
        #expect(try packing.packed().items.count == 2)
        #expect(try !CapsulePacking<Dice>(content, try Self.goal("all numbers are on a die")).fails)
    }

    @Test func `No time is as much as none was left out, which is said`() throws {
        let content = try Self.content(throws: 5)
        var packing = try CapsulePacking<Dice>(content, try Self.goal("count(state.throws) >= 3"))
        try packing.shrink { true }
        #expect(try packing.packed() == content)
        #expect(packing.remark == "the minute of --shrink, or its 5000 tries, ran out: perhaps more could be left out")
    }

    @Test func `A state may be as large as in a store`() throws {
        let state = Vault.State(bytes: [UInt8](repeating: 7, count: 64 << 20))
        #expect(throws: MessagePackError.self, "it is beyond the limit of other values") { try MessagePackEncoder().encode(state) }
        #expect(try Vault.isTrue("state.changes == 0", of: state))
        let limits = MessagePackLimits(maximumBytes: 65 << 20)
        let origin = Origin.client(session: UniqueID(high: 0, low: 1), sequence: 1)
        let event = Record.Event.applied(message: MessagePackValue.string("change").encoded, hash: 0, closes: false)
        let record = Record(turn: 10, time: Timestamp(microseconds: 1), origin: origin, event: event)
        var content = CapsuleContent(
            schema: Vault.schema, secret: Self.secret, turn: 9,
            state: try MessagePackEncoder(canonical: true, limits: limits).encode(state), last: 10, items: [])
        content.note(record)
        #expect(try CapsulePacking<Vault>(content, try Bisection.Goal(named: "state.changes == 1", for: Vault.self)).fails)
    }

    // MARK: The source

    @Test func `The source of a test says what happened, and holds the capsule`() throws {
        let content = try Self.content(throws: 25)
        let test = try CapsuleTest(
            content, try Self.goal("true"), text: "count(state.throws) > 1 && \"x\" != \"\\u{1}\"", file: nil, program: "Games.Dice"
        )
        #expect(test.source.contains("@testable import Games\n"))
        #expect(test.source.contains("/// With the state after turn 9:\n/// - 10 throw ← client "))
        #expect(test.source.contains("/// - … and 5 more\n"))
        #expect(
            test.source.contains(#"#expect(try !Dice.isTrue("count(state.throws) > 1 && \"x\" != \"\\u{1}\"", of: end.state))"#))
        let broken = try CapsuleTest(
            content, .broken(invariant: 0), text: "a \u{202e}\"name\"", file: "a.capsule", program: "Games.Inner.Dice")
        #expect(
            broken.source.contains(#"Capsule(beside: #filePath, "a.capsule")"#) && broken.source.contains("replay(Inner.Dice.self)")
        )
        #expect(broken.source.contains(#"#expect(!end.broken.contains("a \u{202e}\"name\""))"#))
        for name in ["Dice", "Games.(unknown context at $0).Dice"] {
            let error = #expect(throws: CommandFailure.self) {
                try CapsuleTest(content, .broken(invariant: 0), text: "x", file: nil, program: name)
            }
            #expect(error?.description == "no test can name the program \(name): it must not be private, nor in a function")
        }
    }
}

private enum Dice: Program {
    struct State: Portable { var `throws`: [Int] = [] }
    enum Message: Portable {
        case `throw`
    }
    typealias Input = Message
    typealias ViewState = Int

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Dice> { .state(State()) }
    static func accept(_ input: Input, _ state: State, _ turn: Turn) -> Message { input }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Dice> {
        var random = turn.random()
        state.throws.append(Int.random(in: 1...6, using: &random))
        return .none
    }

    static func view(_ state: State) -> Int { state.throws.count }

    static var invariants: [Invariant<Dice>] {
        [
            Invariant("never exactly two") { state in state.throws.count != 2 },
            Invariant("all numbers are on a die") { state in state.throws.allSatisfy { (1...6).contains($0) } },
        ]
    }
}

private enum Vault: OpenProgram {
    struct State: Portable {
        var bytes: [UInt8] = []
        var changes = 0
    }

    enum Message: Portable { case change }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Vault> { .state(State()) }

    static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Vault> {
        state.changes += 1
        return .none
    }
}
