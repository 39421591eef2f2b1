import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What the journal still tells of a command of which it keeps a hash.
@Suite struct TurnTracesTests {
    static func traces(of turn: Int, in records: [Record]) -> TurnTraces {
        var traces = TurnTraces(of: turn)
        for record in records { traces.note(record) }
        return traces
    }

    @Test func `Follow-ups are known in full and effects by what happened to them`() throws {
        let records = try TypedEngineTests.records(ReplayTests.history().log)
        let chain = Self.traces(of: 3, in: records)
        #expect(chain.followUps == [.init(turn: 4, message: packed(Shop.Message.chain(2)))])
        #expect(chain.effects.isEmpty && chain.build == "test")
        let order = Self.traces(of: 2, in: records)
        #expect(order.effects == [0: .init(what: "answered", turn: 7)])
        #expect(order.followUps.isEmpty)
    }

    @Test func `The newest that became of each effect of the turn is told, and nothing of others`() {
        let (effect, other) = (EffectID(turn: 2, ordinal: 1), EffectID(turn: 3, ordinal: 1))
        let lease = Lease(start: 1, counter: 1)
        let failure = Failure(reason: .threw, text: "no", attempts: 1)
        func newest(_ event: Record.Event, _ origin: Origin = .store) -> TurnTraces.Trace? {
            let later = Record(turn: 10, time: at(1), origin: .operator, event: .dropped(other))
            let traces = Self.traces(
                of: 2, in: [Record(turn: 9, time: at(1), origin: origin, event: event), later])
            #expect(traces.effects.keys.allSatisfy { $0 == 1 } && traces.followUps.isEmpty)
            return traces.effects[1]
        }
        let answer = Origin.effect(effect, lease: lease, index: 0)
        let told: [(Record.Event, Origin, String)] = [
            (.applied(message: [], hash: 1, closes: true), answer, "answered"),
            (.applied(message: [], hash: 1, closes: false), answer, "answered in part"),
            (.streamed(message: [], hash: 1, checkpoint: nil), answer, "answered in part"),
            (.applied(message: [], hash: 1, closes: true), .failure(effect), "failed"),
            (.attemptFailed(effect, .threw, "no", notBefore: at(2)), .store, "an attempt ended (threw)"),
            (.done(effect), .store, "done"), (.dead(effect, failure), .store, "dead"), (.requeued(effect), .operator, "requeued"),
            (.dropped(effect), .operator, "dropped"),
        ]
        for (event, origin, what) in told { #expect(newest(event, origin) == .init(what: what, turn: 9)) }
        #expect(newest(.drained) == nil && newest(.applied(message: [], hash: 1, closes: false), .followUp(of: 3)) == nil)
    }

    @Test func `The build is that of the start before the turn`() {
        let schema = Schema(name: "Workshop", version: 1)
        let records = [1, 5, 9].map { turn in
            Record(
                turn: turn, time: at(1),
                event: .started(number: turn, build: "b\(turn)" + Record.Event.mark, schema: schema, seed: []))
        }
        #expect(Self.traces(of: 7, in: records).build == "b5", "as people know it")
    }

    @Test func `Accepting a divergence leaves the open effects of its turn to an operator`() throws {
        let rig = try Rig()
        rig.connectClient()
        rig.exchange(inputs([.order([job("a")]), .order([job("b"), job("c")])]), from: client(1))
        var state = rig.durable
        let turns = Set(state.ledger.open.keys.map(\.turn)).sorted()
        try #require(turns.count == 2)
        state.absorb(Record(turn: state.head + 1, time: at(9), event: .divergenceAccepted(turn: turns[1], hash: 1, build: "b2")))
        #expect(state.ledger.open.keys.map(\.turn) == [turns[0]])
        #expect(state.ledger.dead.keys.sorted() == [0, 1].map { EffectID(turn: turns[1], ordinal: $0) })
        #expect(state.ledger.dead.values.allSatisfy { $0.failure.reason == .diverged && $0.failure.text.contains("b2") })
    }
}
