import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// `whatif` of a program whose `accept` makes other messages of inputs than it did when the journal was written.
@Suite struct RemadeInputTests {
    /// Cuts what is poured to five.
    private enum Ladle: OpenProgram {
        struct State: Portable {
            var sum = 0
        }

        struct Message: Portable {
            var amount: Int
        }

        static var schema: Schema { Schema(name: "Ladle", version: 1) }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

        static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { Message(amount: min(input.amount, 5)) }

        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Self> {
            state.sum += message.amount
            return .none
        }
    }

    /// Turns 2, 3 and 4, which a program applied that did not cut them.
    private static func journal(_ amounts: [Int]) throws -> [Record] {
        let engine = TypedEngine(Ladle.self, secret: millSecret)
        var log = TurnLog(after: 0)
        let start = Record.Event.started(number: 1, build: "", schema: Ladle.schema, seed: packed(NoSeed()))
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: start))
        try engine.start(seed: packed(NoSeed()), now: at(1), log: &log)
        for (place, amount) in amounts.enumerated() {
            let message = EngineMessage(
                bytes: packed(Ladle.Message(amount: amount))[...], origin: .client(session: session(1), sequence: place + 1),
                role: .open, checkpoint: nil, root: 0)
            _ = try engine.apply(.message(message), now: at(2), log: &log)
        }
        var records: [Record] = []
        try RecordBatch.read(first: log.batch.first, last: log.batch.last, bytes: log.batch.bytes) { records.append($0) }
        return records
    }

    private static func whatIf(_ records: [Record], _ supposition: Supposition) throws -> WhatIf {
        let machine = WhatIfMachine(supposition, through: records.count) { TypedEngine(Ladle.self, secret: millSecret) }
        for record in records { try machine.take(record) }
        return try machine.finish()
    }

    @Test func `Inputs of which accept makes another message are counted, and are that message`() throws {
        let result = try Self.whatIf(try Self.journal([3, 8, 9]), Supposition())
        #expect(result.assumptions == [.remadeInputs(2)])
        #expect(try unpacked(Ladle.State.self, result.states.was).sum == 20)
        #expect(try unpacked(Ladle.State.self, result.states.wouldBe).sum == 13)
    }

    @Test func `What was given instead or besides is no input that was remade`() throws {
        let nine = packed(Ladle.Message(amount: 9))
        let result = try Self.whatIf(
            try Self.journal([3, 8, 5]), Supposition(removed: [4], replaced: [3: nine], inserted: [4: [nine]]))
        #expect(result.assumptions == [])
        #expect(try unpacked(Ladle.State.self, result.states.wouldBe).sum == 13)
    }
}
