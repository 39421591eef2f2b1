import MessagePack
import ProcessSupport
import SamovarCommands
import SamovarCore
import SamovarStore
import SamovarText
import SamovarWire

@testable import SamovarWeb

/// A past whose state is the number of its turn, of records made at random.
final class RandomPast: FollowedPast {
    let all: [Record]
    /// So many of them are there already.
    var shown: Int
    /// Records that were handed over one after the other.
    private(set) var read = 0
    /// Turns that were applied.
    private(set) var applied: [Int] = []
    private(set) var turn = 0
    var author: Int? { nil }
    private let snapshots: [Int]

    init(count: Int, snapshots: [Int] = [], _ random: inout SeededRandom) {
        var time: Int64 = 0
        all = (1...count).map { turn in
            time += Int64.random(in: 0...50_000, using: &random)
            let former = Int.random(in: max(1, turn - 3_000)...max(1, turn - 1), using: &random)
            let effect = EffectID(turn: former, ordinal: 0)
            let origin: Origin =
                switch Int.random(in: 0..<6, using: &random) {
                case 0 where turn > 1: .followUp(of: former)
                case 1 where turn > 1: .failure(effect)
                case 2: .operator
                case 3: .store
                default: .client(session: UniqueID(high: 0, low: UInt64(turn)), sequence: 1)
                }
            let message = MessagePackValue.string("m\(Int.random(in: 0..<9, using: &random))").encoded
            let event: Record.Event =
                switch Int.random(in: 0..<8, using: &random) {
                case 0: .refused(.rejected("m1"))
                case 1: .attemptFailed(effect, .threw, "no", notBefore: .init(microseconds: time))
                case 2: .drained
                default: .applied(message: message, hash: 0, closes: false)
                }
            let root = Bool.random(using: &random) ? former : turn
            return Record(turn: turn, time: Timestamp(microseconds: time), origin: origin, root: root, event: event)
        }
        shown = count
        self.snapshots = snapshots
    }

    struct WrongTurn: Error {}

    var span: PastSpan {
        guard let span = PastSpan(first: firstRecord, last: shown, snapshots: snapshots) else {
            preconditionFailure("there is a turn")
        }
        return span
    }

    /// Beyond 1 of a journal that was trimmed.
    var firstRecord = 1

    func move(to turn: Int) throws {
        guard span.known.contains(turn) else { throw WrongTurn() }
        if !span.goesOn(from: self.turn, to: turn) { self.turn = span.snapshots.last { $0 <= turn } ?? 0 }
        try walk(through: turn) { _ in true }
    }

    /// What computing a state throws.
    var failure: WrongTurn?

    func walk(through last: Int, _ body: (Record) throws -> Bool) throws {
        if let failure { throw failure }
        while turn < last {
            turn += 1
            applied.append(turn)
            guard try body(all[turn - 1]) else { return }
        }
    }

    func records(of turns: ClosedRange<Int>, _ body: (Record) throws -> Bool) throws {
        guard turns.lowerBound <= shown else { return }
        for record in all[(max(turns.lowerBound, firstRecord) - 1)..<min(turns.upperBound, shown)] {
            read += 1
            guard try body(record) else { return }
        }
    }

    func state() throws -> [UInt8] { (["turn": .int(Int64(turn)), "list": [1, 2]] as MessagePackValue).encoded }
    func view() throws -> [UInt8] { try state() }
    func keeps(invariant index: Int) throws -> Bool { true }
    func record(of turn: Int) throws -> Record? { (firstRecord...shown).contains(turn) ? all[turn - 1] : nil }
    func checkpoint() throws -> PastCheckpoint? { PastCheckpoint(turn: turn, state: try state()) }
    func begin(at checkpoint: PastCheckpoint) throws { turn = checkpoint.turn }
    var orders: [MessagePackValue] { [] }

    /// Forgets which turns were applied.
    func forget() { applied = [] }
}

/// Checkpoints in memory.
final class KeptCheckpoints: CheckpointStore {
    private(set) var kept: [Int: PastCheckpoint] = [:]
    var turns: [Int] { kept.keys.sorted() }
    func save(_ checkpoint: PastCheckpoint) throws { kept[checkpoint.turn] = checkpoint }
    func load(_ turn: Int) -> PastCheckpoint? { kept[turn] }
    private var aside: [UInt8]?
    func putAside(_ state: [UInt8]) -> Bool {
        aside = state
        return true
    }
    func takeBack() -> [UInt8]? { aside.take() }
}
