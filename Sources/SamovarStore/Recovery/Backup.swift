import MessagePack
import SamovarCore
import SamovarWire

/// A backup that an operator asks for, and asks about until it is done.
///
/// | state | asked, same id | asked, another id | `copied` | `ended` |
/// |---|---|---|---|---|
/// | none, or done | how it is | begins, unless the store is about to stop | – | – |
/// | under way | how far it is | refused | further | done, or failed |
struct Backup {
    private struct Copy {
        /// Chosen by the asker: the same again asks how far it is.
        let id: String
        let through: Int
        var copied = 0
        var isDone = false
        var problem: String?
    }

    private var copy: Copy?

    /// Answers a request.
    ///
    /// - Parameter begin: called if a new one begins, with the absolute path of its folder.
    mutating func answer(
        _ request: AdminRequest, durable: Int, isServing: Bool, begin: (_ folder: String) -> Void
    ) throws(AdminRefusal) -> MessagePackValue {
        guard case .string(let id) = request.arguments["id"], case .string(let folder) = request.arguments["folder"],
            folder.hasPrefix("/")
        else { throw AdminRefusal(text: "a backup needs an id, and the absolute path of a folder that is not there yet") }
        if let copy, copy.id != id, !copy.isDone {
            throw AdminRefusal(text: "another backup is being made, up to turn \(copy.through): ask again")
        }
        if copy?.id != id {
            guard isServing else { throw AdminRefusal(text: "the store is about to stop: when it is back, ask again") }
            copy = Copy(id: id, through: durable)
            begin(folder)
        }
        if let problem = copy?.problem { throw AdminRefusal(text: "the backup failed: \(problem)") }
        return [
            "turn": .int(Int64(copy?.through ?? 0)), "copied": .int(Int64(copy?.copied ?? 0)), "done": .bool(copy?.isDone ?? false),
        ]
    }

    mutating func copied(through turn: Int) {
        copy?.copied = turn
    }

    mutating func ended(_ problem: String?) {
        copy?.isDone = true
        copy?.problem = problem
    }
}
