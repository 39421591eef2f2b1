import MessagePack
import SamovarCore

/// What is copied out of the journal while the store serves: snapshots and backups. The machine says when and up to which turn,
/// and the host does it on a thread of its own.
extension StoreMachine {
    // MARK: Snapshots

    /// Called between two batches: the open one is empty, so the state is that of its last turn.
    mutating func snapshotIfDue() {
        switch snapshots.due(at: head, settings) {
        case .no: return
        case .atOnce: saveSnapshot()
        case .fromJournal:
            guard maintenanceIsOff == nil, maySnapshot() else { return }
            snapshots.begins()
            emit(.snapshot(through: head), floor: .turn(head))
        }
    }

    /// Called between two batches.
    mutating func saveSnapshot() {
        guard maySnapshot() else { return }
        begin(.state)
        do {
            let bytes = try state.snapshot()
            snapshots.made(bytes: bytes.count)
            emit(.save(turn: head, bytes: bytes), floor: .turn(head))
        } catch {
            note(.error, "no snapshot is taken, the state cannot be encoded: \(error)")
        }
        end(.state)
    }

    /// Whether the program is to be trusted with encoding its state. If not, the next try is as far away as the next snapshot.
    private mutating func maySnapshot() -> Bool {
        snapshots.asked(at: head)
        guard let why = quarantine.verdict(on: .state) else { return true }
        note(.error, "no snapshot is taken: \(why)")
        return false
    }

    /// The host is done with a snapshot.
    ///
    /// - Parameter bytes: its size; nil if there is none, and then the next one is due when the journal has grown again.
    public mutating func snapshotSaved(bytes: Int?) {
        snapshots.ended(bytes: bytes)
        // It has returned; but the trouble may be a later state, so that this acquits of no proven death.
        quarantine.returned(.maintenance)
    }

    // MARK: Backups

    mutating func backUp(_ request: AdminRequest) throws(AdminRefusal) -> MessagePackValue {
        let (through, isServing) = (commits.durable, phase == .serving)
        var folder: String?
        let answer = try backup.answer(request, durable: through, isServing: isServing) { folder = $0 }
        if let folder { emit(.export(through: through, folder: folder), floor: .none) }
        return answer
    }

    public mutating func exportCopied(through turn: Int) {
        backup.copied(through: turn)
    }

    /// - Parameter problem: why there is no backup; nil if there is one.
    public mutating func exportEnded(_ problem: String?) {
        backup.ended(problem)
    }
}
