import MessagePack
import SamovarCore

/// What is copied out of the journal while the store serves: snapshots and backups. The machine says when and up to which turn,
/// and the host does it on a thread of its own.
extension StoreMachine {
    /// A backup that was asked for.
    struct Export: Equatable {
        /// Chosen by the asker: the same again asks how far it is.
        let id: String
        let through: Int
        var copied = 0
        var isDone = false
        var problem: String?
    }

    // MARK: Snapshots

    /// Called between two batches: the open one is empty, so the state is that of its last turn.
    mutating func snapshotIfDue() {
        switch snapshots.due(at: head, settings) {
        case .no: return
        case .atOnce: saveSnapshot()
        case .fromJournal:
            guard upkeepIsOff == nil, maySnapshot() else { return }
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
        guard let why = suspects.verdict(on: .state) else { return true }
        note(.error, "no snapshot is taken: \(why)")
        return false
    }

    /// The host is done with a snapshot.
    ///
    /// - Parameter bytes: its size; nil if there is none, and then the next one is due when the journal has grown again.
    public mutating func snapshotSaved(bytes: Int?) {
        snapshots.ended(bytes: bytes)
        // It has returned; but the trouble may be a later state, so that this acquits of no proven death.
        if suspects.contains(.upkeep) {
            suspects.forgiveKills(.upkeep)
            marker.write(suspects.list)
        }
    }

    // MARK: Backups

    mutating func export(_ request: AdminRequest) throws(AdminRefusal) -> MessagePackValue {
        guard case .string(let id) = request.arguments["id"], case .string(let folder) = request.arguments["folder"],
            folder.hasPrefix("/")
        else { throw AdminRefusal(text: "a backup needs an id, and the absolute path of a folder that is not there yet") }
        if let export, export.id != id, !export.isDone {
            throw AdminRefusal(text: "another backup is being made, up to turn \(export.through)")
        }
        if export?.id != id {
            guard phase == .serving else { throw AdminRefusal(text: "the store is about to stop") }
            export = Export(id: id, through: gate.durable)
            emit(.export(through: gate.durable, folder: folder), floor: .none)
        }
        if let problem = export?.problem { throw AdminRefusal(text: "the backup failed: \(problem)") }
        return [
            "turn": .int(Int64(export?.through ?? 0)), "copied": .int(Int64(export?.copied ?? 0)),
            "done": .bool(export?.isDone ?? false),
        ]
    }

    public mutating func exportCopied(through turn: Int) {
        export?.copied = turn
    }

    /// - Parameter problem: why there is no backup; nil if there is one.
    public mutating func exportEnded(_ problem: String?) {
        export?.isDone = true
        export?.problem = problem
    }
}
