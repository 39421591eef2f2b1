import DequeModule
import SamovarCore

/// Whose the identities of workers are: that of the key which used it first, by its name, or of nobody's key.
///
/// Of those that are joined the journal knows it. One that has left may come back with what it has done, so the newest of them are
/// remembered, as far as memory is limited.
struct WorkerOwners {
    private var former: [WorkerID: KeyName?] = [:]
    private var order: Deque<WorkerID> = []
    static let limit = 10_000

    /// Whether a worker may come under this name.
    func admits(_ id: WorkerID, _ name: KeyName?, _ state: StoreState) -> Bool {
        if state.joined.contains(id) { return state.workerKeys[id] == name }
        return former[id].map { $0 == name } ?? true
    }

    mutating func left(_ id: WorkerID, _ name: KeyName?) {
        if former.updateValue(name, forKey: id) == nil { order.append(id) }
        if order.count > Self.limit, let oldest = order.popFirst() { former[oldest] = nil }
    }
}
