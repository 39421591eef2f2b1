import Journal
import Logging
import SamovarCore
public import SamovarStore
import SamovarWire

extension Past {
    /// What would have been, had something been otherwise: from the newest snapshot before that on. The state of this past stays where it is.
    ///
    /// - Parameter last: the last turn to look at, with what followed from it.
    /// - Throws: `SuppositionError`; `StoreError`, also for turns that are not known.
    public func whatIf(_ supposition: Supposition, through last: Int) throws -> WhatIf {
        try require(last)
        if let turn = supposition.last, turn > last {
            throw StoreError(.configuration, "turn \(turn) comes after turn \(last), up to which is looked")
        }
        let first = supposition.first ?? span.known.lowerBound + 1
        if first > 1 { try require(first - 1) }
        var result: WhatIf?
        try going {
            do {
                result = try whatIf(supposition, from: first, through: try endOfChain(at: last))
            } catch let limit as GroupLimit {
                throw StoreError(.program, "what would have been ends a store: \(limit)")
            }
        }
        guard let result else { throw StoreError(.program, "the journal in \(opened.name) ended while it was read") }
        return result
    }

    private func whatIf(_ supposition: Supposition, from first: Int, through last: Int) throws -> WhatIf {
        let (engine, secret, terms) = (makeEngine, opened.secret, accepted.terms)
        let machine = try opened.journal.recover(through: max(1, first - 1)) {
            WhatIfMachine(supposition, through: last, terms: terms) { engine(secret) }
        } restore: { (machine: inout WhatIfMachine, snapshot) in
            try opened.refusing(snapshot) { try machine.restore(snapshot: snapshot.bytes) }
        } replay: { (machine: inout WhatIfMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
        } note: {
            logger.warning("\($0)")
        }
        try opened.journal.read(from: machine.turn + 1, through: last) { batch in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
        }
        return try machine.finish()
    }

    /// The turn with which ends what a turn is a part of: an item with all its follow-ups.
    private func endOfChain(at turn: Int) throws -> Int {
        var end = turn
        do {
            try opened.journal.read(from: turn + 1) { batch in
                try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                    guard record.turn > turn else { return }
                    guard case .followUp = record.origin else { throw Enough() }
                    end = record.turn
                }
            }
        } catch is Enough {}
        return end
    }
}
