import MachineSupport
import SamovarCore
import Synchronization
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Gates in front of the journal and observers behind it, as the engine calls them.
@Suite struct BoundaryTests {
    /// What gates and observers did, in order.
    private final class Notes: Sendable {
        private let lines = Mutex<[String]>([])

        func append(_ line: String) { lines.withLock { $0.append(line) } }

        func takeAll() -> [String] {
            lines.withLock { lines in
                defer { lines.removeAll() }
                return lines
            }
        }

        func gate(_ name: String, rejects: Bool = false) -> InputGate<Shop> {
            InputGate(name) { [self] input, state, turn in
                append("gate \(name) at \(turn.number), total \(state.total)")
                return rejects ? "closed" : nil
            }
        }

        func observer(_ name: String) -> TurnObserver<Shop> {
            TurnObserver { [self] message, state, turn in
                append("\(name) sees \(turn.number), total \(state.total)")
                return "\(name) tells of \(turn.number)"
            } deliver: { [self] event in
                append(event)
            }
        }
    }

    private static func started(
        gates: [InputGate<Shop>] = [], observers: [TurnObserver<Shop>] = []
    ) throws -> (engine: TypedEngine<Shop>, log: SharedLog) {
        let engine = TypedEngine(Shop.self, secret: workshopSecret, gates: gates, observers: observers)
        let log = SharedLog(after: 0)
        let event = Record.Event.started(number: 1, build: "test", schema: engine.schema, seed: packed(NoSeed()))
        log.batch.append(Record(turn: engine.skip(), time: at(1), event: event))
        try engine.start(seed: packed(NoSeed()), now: at(1), log: log)
        return (engine, log)
    }

    private static func take(_ input: Shop.Input, _ engine: TypedEngine<Shop>, _ log: SharedLog) throws -> Outcome.Verdict {
        try engine.take(packed(input), now: at(2), origin: TypedEngineTests.origin, log: log)
    }

    @Test func `C18: An observer is called once for each message, in order, and sees the state after it`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(observers: [notes.observer("a")])
        #expect(try Self.take(.add(3), engine, log) == .applied)
        #expect(try Self.take(.chain(2), engine, log) == .applied)
        #expect(notes.takeAll() == ["a sees 2, total 3", "a sees 3, total 4", "a sees 4, total 5"])
        log.committed(through: engine.head)
        #expect(notes.takeAll() == ["a tells of 2", "a tells of 3", "a tells of 4"])
    }

    @Test func `Gates come before accept, and observers after update, each in the order of their list`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(
            gates: [notes.gate("one"), notes.gate("two")], observers: [notes.observer("a"), notes.observer("b")])
        #expect(try Self.take(.add(3), engine, log) == .applied)
        log.committed(through: engine.head)
        #expect(
            notes.takeAll() == [
                "gate one at 2, total 0", "gate two at 2, total 0", "a sees 2, total 3", "b sees 2, total 3", "a tells of 2",
                "b tells of 2",
            ])
    }

    @Test func `Nobody is told of a turn before it is on disk`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(observers: [notes.observer("a")])
        for _ in 0..<3 { _ = try Self.take(.add(1), engine, log) }
        _ = notes.takeAll()
        log.committed(through: 1)
        #expect(notes.takeAll() == [])
        log.committed(through: 3)
        #expect(notes.takeAll() == ["a tells of 2", "a tells of 3"])
        log.committed(through: 4)
        #expect(notes.takeAll() == ["a tells of 4"])
    }

    @Test func `A rejection ends the matter, is recorded, and is not observed`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(
            gates: [notes.gate("one", rejects: true), notes.gate("two")], observers: [notes.observer("a")])
        let verdict = try Self.take(.forbidden, engine, log)
        #expect(verdict == .rejected("one: closed"))
        #expect(try TypedEngineTests.records(log).last?.event == .refused(verdict))
        log.committed(through: engine.head)
        #expect(notes.takeAll() == ["gate one at 2, total 0"])
    }

    @Test func `What is no input does not reach a gate, and a refusal is not observed`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(gates: [notes.gate("one")], observers: [notes.observer("a")])
        _ = try engine.take([0xc1], now: at(2), origin: TypedEngineTests.origin, log: log)
        #expect(notes.takeAll() == [])
        _ = try Self.take(.forbidden, engine, log)
        #expect(notes.takeAll() == ["gate one at 3, total 0"])
    }

    @Test func `Answers and timers pass no gate and are observed`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(gates: [notes.gate("one", rejects: true)], observers: [notes.observer("a")])
        try engine.take(
            answer: [packed(Shop.Message.add(1))], effect: TypedEngineTests.effect, lease: TypedEngineTests.lease, root: 1,
            now: at(2), log: log)
        let firing = Origin.subscription(EffectID(turn: 1, ordinal: 0), nominal: at(2))
        try engine.take(firing: packed(Shop.Message.add(1)), origin: firing, now: at(2), log: log)
        #expect(notes.takeAll() == ["a sees 2, total 1", "a sees 3, total 2"])
    }

    @Test func `A replay asks no gate and tells no observer, and gives the same answers`() throws {
        let notes = Notes()
        let (engine, log) = try Self.started(gates: [notes.gate("one", rejects: true)], observers: [notes.observer("a")])
        _ = try Self.take(.add(1), engine, log)
        try engine.take(
            answer: [packed(Shop.Message.chain(2))], effect: TypedEngineTests.effect, lease: TypedEngineTests.lease, root: 1,
            now: at(2), log: log)
        _ = notes.takeAll()
        let again = TypedEngine(
            Shop.self, secret: workshopSecret, gates: [notes.gate("one", rejects: true)], observers: [notes.observer("a")])
        let copy = SharedLog(after: 0)
        for record in try TypedEngineTests.records(log) { try again.replay(record, log: copy) }
        copy.committed(through: again.head)
        #expect(notes.takeAll() == [])
        #expect(copy.batch.bytes == log.batch.bytes)
        #expect(try again.state() == engine.state())
    }

    @Test func `What is only supposed asks no gate, and accept decides`() throws {
        let notes = Notes()
        let (engine, _) = try Self.started(gates: [notes.gate("one", rejects: true)])
        var log = TurnLog(ofReplayAfter: engine.head)
        var verdicts: [Outcome.Verdict] = []
        for (number, input) in [(2, .add(3)), (3, .forbidden)] as [(Int, Shop.Input)] {
            let turn = SupposedTurn(
                number: number, time: at(2), origin: TypedEngineTests.origin, sender: nil, root: number,
                content: .input(packed(input)))
            verdicts.append(try engine.suppose(turn, log: &log) { message, _ in (number + 1, message) }.verdict)
        }
        #expect(verdicts == [.applied, .refused(packed(Shop.Refusal.notHere(total: 3)))])
        #expect(notes.takeAll() == [])
    }
}
