import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

@testable import SamovarText

/// A past that is a list of states, made at random: small values that change, go away and come back.
final class ListedPast: PastReader {
    let states: [MessagePackValue]
    let records: [Record]
    let span: PastSpan
    private(set) var turn = 0
    var author: Int? { nil }

    init(_ random: inout some RandomNumberGenerator) throws {
        let count = Int.random(in: 1...40, using: &random)
        var state: MessagePackValue = ["n": 0]
        var states: [MessagePackValue] = []
        var records: [Record] = []
        for turn in 1...count {
            // Some turns are of kinds that change nothing.
            let changes = turn == 1 || Int.random(in: 0..<4, using: &random) > 0
            if changes { Self.change(&state, &random) }
            states.append(state)
            let origin: Origin =
                turn > 1 && Bool.random(using: &random)
                ? .followUp(of: Int.random(in: 1..<turn, using: &random))
                : .client(session: UniqueID(high: 0, low: UInt64(turn)), sequence: turn)
            let event: Record.Event =
                turn == 1
                ? .started(number: 1, build: "", schema: Schema(name: "Listed", version: 1), seed: [])
                : changes ? .applied(message: MessagePackValue.string("m\(turn)").encoded, hash: 0, closes: false) : .drained
            records.append(Record(turn: turn, time: Timestamp(microseconds: Int64(turn)), origin: origin, event: event))
        }
        let snapshots = (0..<Int.random(in: 0...3, using: &random)).map { _ in Int.random(in: 1...count, using: &random) }
        // Trimmed behind the oldest snapshot, now and then.
        let first = Bool.random(using: &random) ? 1 : min(count, snapshots.min() ?? 0) + 1
        guard let span = PastSpan(first: first, last: count, snapshots: snapshots) else { throw WrongTurn() }
        self.span = span
        self.states = states
        self.records = records
    }

    /// One whose turns are follow-ups, each of the one before, that count.
    init(chainOf count: Int) throws {
        guard let span = PastSpan(first: 1, last: count, snapshots: []) else { throw WrongTurn() }
        self.span = span
        states = (1...count).map { ["n": .int(Int64($0))] }
        records = (1...count).map { turn in
            let time = Timestamp(microseconds: Int64(turn))
            guard turn > 1 else {
                let schema = Schema(name: "Listed", version: 1)
                return Record(turn: 1, time: time, event: .started(number: 1, build: "", schema: schema, seed: []))
            }
            let event = Record.Event.applied(message: MessagePackValue.string("m\(turn)").encoded, hash: 0, closes: false)
            return Record(turn: turn, time: time, origin: .followUp(of: turn - 1), root: 1, event: event)
        }
    }

    private static func change(_ state: inout MessagePackValue, _ random: inout some RandomNumberGenerator) {
        let key = ["n", "list", "map"][Int.random(in: 0..<3, using: &random)]
        switch Int.random(in: 0..<5, using: &random) {
        case 0: state[key] = nil
        case 1:
            state[key] = .array((0..<Int.random(in: 0...3, using: &random)).map { _ in .int(.random(in: 0...2, using: &random)) })
        case 2: state[key] = ["x": .int(.random(in: 0...2, using: &random))]
        default: state[key] = .int(.random(in: 0...3, using: &random))
        }
    }

    func move(to turn: Int) throws {
        guard span.known.contains(turn) else { throw WrongTurn() }
        self.turn = turn
    }

    func walk(through last: Int, _ body: (Record) throws -> Bool) throws {
        while turn < last {
            turn += 1
            guard try body(records[turn - 1]) else { return }
        }
    }

    func state() throws -> [UInt8] { states[turn - 1].encoded }

    func view() throws -> [UInt8] { try state() }

    /// The number is not 3.
    func keeps(invariant index: Int) throws -> Bool { states[turn - 1]["n"] != .int(3) }

    func record(of turn: Int) throws -> Record? {
        // A trimmed journal has the records behind the snapshot with which it begins.
        guard turn >= (span.known.lowerBound == 1 ? 1 : span.known.lowerBound + 1), turn <= records.count else { return nil }
        return records[turn - 1]
    }

    struct WrongTurn: Error {}
}
