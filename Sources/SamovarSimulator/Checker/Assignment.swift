import SamovarCore
import SamovarWire

/// One attempt of one effect, as it was seen to leave the store, and what its worker did with it.
final class Assignment {
    /// What its handler streamed.
    struct Drop: Equatable {
        let message: [UInt8]
        let checkpoint: [UInt8]?
    }

    let effect: EffectID
    let worker: WorkerID
    /// A handler runs, and was not told to stop.
    var isRunning = false
    /// Its worker is known to be gone, or may be: the effect may be given to another.
    var isAbandoned = false
    /// By their numbers.
    var drops: [Int: Drop] = [:]
    /// What the handler came to.
    var answer: JobResult.Answer?
    /// The store has said that the worker may forget the answer, or does not want it.
    var isSettled = false

    init(effect: EffectID, worker: WorkerID) {
        self.effect = effect
        self.worker = worker
    }
}
