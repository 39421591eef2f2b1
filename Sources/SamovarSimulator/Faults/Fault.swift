/// Everything that can go wrong. Each class is off in half of the seeds, so that a class that hides another does not do so always.
public enum Fault: Int, CaseIterable, Sendable {
    // Processes.
    /// The store dies between two of its steps.
    case storeCrash
    case storePause
    case workerCrash
    case workerPause
    case clientCrash
    case clientPause
    /// The store is asked to stop, and started again.
    case storeDrain
    case workerDrain
    /// The wall clock was set while a process was down.
    case wallJump
    /// A clock runs up to 200 parts in a million too fast or too slow.
    case drift
    /// The supervisor tells the store that a worker has died.
    case deathReport

    // The network.
    case linkBreak
    /// A link breaks, and nobody is told.
    case halfOpen
    case cut
    case oneWayCut
    case congestion
    /// A subscription was too slow for a view or a tick.
    case publisherDrop
    /// The queue to a peer was full.
    case highWater
    // Only where the network is harsh.
    case loss
    case duplication
    case reordering

    // The disk.
    case diskSlow
    case diskFull
    case syncError
    /// The store died during an append, of which nothing, a piece or all was on the disk.
    case unconfirmedLost
    case tornWrite
    case unconfirmedKept
    case batchRot
    case snapshotRot
    case snapshotGarbled

    // Operators and strangers.
    case freshTimeline
    /// A worker answers jobs that it was never given, with tokens that it made up.
    case forgery

    /// Those that happen by themselves, each about so often; the others are consequences.
    var interval: Instant? {
        switch self {
        case .linkBreak: 15 * seconds
        case .storeCrash, .workerCrash, .halfOpen, .congestion, .forgery: 30 * seconds
        case .workerPause, .clientCrash, .clientPause, .cut, .oneWayCut, .diskSlow: 40 * seconds
        case .storePause, .workerDrain, .syncError, .diskFull: 60 * seconds
        case .storeDrain, .snapshotRot, .snapshotGarbled, .batchRot: 90 * seconds
        case .freshTimeline: 200 * seconds
        default: nil
        }
    }

    /// It happens to a journal on a disk, or to its folder.
    var isOfDisk: Bool {
        switch self {
        case .diskFull, .syncError, .unconfirmedLost, .tornWrite, .unconfirmedKept, .batchRot, .snapshotRot, .snapshotGarbled,
            .freshTimeline:
            true
        default: false
        }
    }

    var isHarsh: Bool { self == .loss || self == .duplication || self == .reordering }
}
