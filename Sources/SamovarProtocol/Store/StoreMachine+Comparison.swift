import SamovarCore

/// For those who check that a replay gives what was there before.
extension StoreMachine {
    /// Everything that the journal determines, in the encoding of a snapshot, in which equal contents have equal bytes.
    public func snapshotBytes() throws -> [UInt8] { try state.snapshot() }

    /// A hash of `snapshotBytes`, with a fixed key: equal in every process for equal contents.
    public func digest() throws -> UInt64 {
        var hash = KeyedHash(Secret(high: 0, low: 0))
        hash.combine(try state.snapshot())
        return hash.finish()
    }

    /// In which parts a machine that was restored from a snapshot differs from this one, which replayed to the same turn.
    ///
    /// Outcomes of sessions are left out: which of them a client has confirmed is in no record.
    public func differences(from snapshot: borrowing StoreMachine) throws -> [String] {
        let (mine, other) = (state, snapshot.state)
        var parts: [String] = []
        func compare(_ part: String, _ isEqual: Bool) { if !isEqual { parts.append(part) } }
        compare("turn", mine.head == other.head)
        compare("time", mine.time == other.time)
        compare("starts", mine.starts == other.starts)
        compare("seed", mine.seed == other.seed)
        compare("state", try mine.engine.state() == other.engine.state())
        compare("effects", mine.ledger == other.ledger || mine.ledger.withoutAdoptedStreams == other.ledger.withoutAdoptedStreams)
        compare("subscriptions", mine.subscriptions == other.subscriptions)
        compare("outputs", mine.outputs == other.outputs)
        compare("sessions", mine.sessions.sessions.mapValues(\.last) == other.sessions.sessions.mapValues(\.last))
        compare("expired sessions", mine.sessions.expired == other.sessions.expired)
        compare("closed sessions", mine.sessions.closed == other.sessions.closed)
        compare("workers", mine.joined == other.joined)
        return parts
    }

    /// Effects of this turn that are open or dead.
    public func effects(orderedBy turn: Int) -> [OpenEffect] {
        (Array(state.ledger.open.values) + state.ledger.dead.values.map(\.effect))
            .filter { $0.id.turn == turn }.sorted { $0.id < $1.id }
    }
}
