import SamovarCore

/// When the next snapshot is due, and who makes it.
///
/// | state | event | what follows |
/// |---|---|---|
/// | nothing is due | the journal grows by a batch | due, if the journal is large enough beside the newest snapshot, or turns have gone by |
/// | due | `asked` | nothing is due until the journal has grown again |
/// | the host makes or keeps it | `ended` | the next one may be due |
///
/// To encode a large state would keep the engine from its turns for longer than anybody should wait, so the host makes that snapshot from
/// the journal. How large it is, the newest snapshot tells; before the first one nobody knows.
struct SnapshotSchedule {
    enum Due {
        case no
        /// Encode the state between two batches.
        case atOnce
        /// Let the host make it from the journal.
        case fromJournal
    }

    /// Bytes of the batches since the newest snapshot that was asked for.
    private(set) var journalBytes = 0
    /// The turn of the newest snapshot that was asked for.
    private(set) var turn = 0
    /// When that turn was.
    private var time: Timestamp?
    /// The newest one that there is, by its turn and the time of that.
    private(set) var newest: (turn: Int, time: Timestamp)?
    /// The size of the newest snapshot; 0 until there is one.
    var size = 0
    /// The host makes or keeps one, which is the newest that was asked for.
    var isUnderWay = false

    /// What is due between two batches, at this turn.
    func due(at head: Int, _ settings: StoreSettings) -> Due {
        guard !isUnderWay, journalBytes > 2 * size else { return .no }
        guard journalBytes > settings.snapshotBytes || head - turn > settings.snapshotTurns else { return .no }
        return size > 0 && size <= settings.snapshotInlineBytes ? .atOnce : .fromJournal
    }

    /// The state was that of a snapshot.
    mutating func restored(at turn: Int, time: Timestamp, bytes: Int) {
        self.turn = turn
        newest = (turn, time)
        size = bytes
    }

    mutating func journalGrew(by bytes: Int) { journalBytes += bytes }

    /// One of this turn is made now, or is not made because the program is not to be trusted with it.
    mutating func asked(at head: Int, time: Timestamp? = nil) {
        journalBytes = 0
        turn = head
        self.time = time
    }

    /// The host is done with one.
    ///
    /// - Parameter bytes: its size; nil if there is none.
    mutating func ended(bytes: Int?) {
        isUnderWay = false
        if let bytes { size = bytes }
        if bytes != nil, let time { newest = (turn, time) }
    }

    // MARK: Making

    /// Called between two batches: the open one is empty, so the state is that of its last turn.
    mutating func saveIfDue(_ settings: StoreSettings, _ turns: inout Turns, _ out: inout Outlet) {
        switch due(at: turns.head, settings) {
        case .no: return
        case .atOnce: save(&turns, &out)
        case .fromJournal:
            guard turns.quarantine.verdict(on: .maintenance) == nil, mayMake(turns, &out) else { return }
            isUnderWay = true
            out.emit(.snapshot(through: turns.head), floor: .turn(turns.head))
        }
    }

    /// Called between two batches.
    mutating func save(_ turns: inout Turns, _ out: inout Outlet) {
        guard mayMake(turns, &out) else { return }
        do {
            let bytes = try turns.ask(.state, &out) { try $0.snapshot() }
            size = bytes.count
            isUnderWay = true
            out.emit(.save(turn: turns.head, bytes: bytes), floor: .turn(turns.head))
        } catch {
            out.note(.error, "no snapshot is taken, the state cannot be encoded: \(error)")
        }
    }

    /// Whether the program is to be trusted with encoding its state. If not, the next try is as far away as the next snapshot.
    private mutating func mayMake(_ turns: borrowing Turns, _ out: inout Outlet) -> Bool {
        asked(at: turns.head, time: turns.state.time)
        guard let why = turns.quarantine.verdict(on: .state) else { return true }
        out.note(.error, "no snapshot is taken: \(why)")
        return false
    }
}
