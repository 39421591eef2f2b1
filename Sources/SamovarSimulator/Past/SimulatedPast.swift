import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// The past of a simulated store's journal, as a host has it: the machine, and a journal to read.
///
/// Of a part of the turns that are kept, if so wanted, as if the journal had been trimmed before them, and had ended with the last one.
final class SimulatedPast: PastReader {
    let span: PastSpan
    private let journal: any Journal
    private let makeMachine: () -> PastMachine
    private var machine: PastMachine?

    init(_ journal: any Journal, _ span: PastSpan, machine: @escaping () -> PastMachine) {
        self.journal = journal
        self.span = span
        makeMachine = machine
    }

    /// The first turn whose record is kept: of one that a snapshot is of, the state alone is.
    var firstRecord: Int { span.known.lowerBound == 1 ? max(journal.first, 1) : span.known.lowerBound + 1 }

    var turn: Int { machine?.turn ?? 0 }
    var author: Int? { machine?.author }
    func state() throws -> [UInt8] { try moved().state() }
    func view() throws -> [UInt8] { try moved().view() }
    func keeps(invariant index: Int) throws -> Bool { try moved().keeps(invariant: index) }

    func move(to turn: Int) throws {
        guard span.known.contains(turn) else { throw UnknownTurn(turn: turn, span: span) }
        if let machine, span.goesOn(from: machine.turn, to: turn) { return try replay(through: turn) }
        machine = try journal.recover(through: turn, makeMachine) { (machine: inout PastMachine, snapshot) in
            try machine.restore(snapshot: snapshot.bytes)
        } replay: { (machine: inout PastMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: turn)
        } note: { _ in
        }
    }

    func walk(through last: Int, _ body: (Record) throws -> Bool) throws {
        do {
            try replay(through: last) { record in guard try body(record) else { throw Enough() } }
        } catch is Enough {}
    }

    func record(of turn: Int) throws -> Record? {
        guard (firstRecord...span.known.upperBound).contains(turn) else { return nil }
        var found: Record?
        try batches(from: turn, through: turn) { batch in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { if $0.turn == turn { found = $0 } }
        }
        return found
    }

    private func moved() throws -> PastMachine {
        guard let machine else { throw UnknownTurn(turn: 0, span: span) }
        return machine
    }

    private func replay(through last: Int, each: (Record) throws -> Void = { _ in }) throws {
        let machine = try moved()
        guard machine.turn < last else { return }
        try batches(from: machine.turn + 1, through: last) { batch in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes, through: last, each: each)
        }
    }

    private func batches(from first: Int, through last: Int, _ body: (Batch) throws -> Void) throws {
        do {
            try journal.read(from: first) { batch in
                try body(batch)
                if batch.last >= last { throw Enough() }
            }
        } catch is Enough {}
    }
}

/// Ends a reading that has come far enough.
private struct Enough: Error {}

private struct UnknownTurn: Error {
    let turn: Int
    let span: PastSpan
}
