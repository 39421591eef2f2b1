import SamovarCore
import SamovarWire

/// Which store this is, and what proves it to its peers.
struct StoreIdentity {
    let timeline: Timeline
    /// Of the timeline: only its store can make what proves turns and jobs.
    let secret: Secret
    /// Names the build of the program.
    let build: String
    /// What the host's journal says that a batch on disk outlives.
    var durability: String
    /// The journal is one that other stores can reach and take over.
    let isFenced: Bool

    var jobProof: JobProof { JobProof(timeline, secret) }

    func proof(of turn: Int) -> TurnProof { TurnProof(of: turn, in: timeline, secret) }
}

/// Proves that the store handed out a job: only it can make the token.
struct JobProof {
    /// What all jobs of a timeline have in common.
    private let common: KeyedHash

    init(_ timeline: Timeline, _ secret: Secret) {
        var hash = KeyedHash(secret)
        hash.combine(timeline.high)
        hash.combine(timeline.low)
        common = hash
    }

    func token(of effect: EffectID, under lease: Lease) -> UInt64 {
        var hash = common
        hash.combine(effect.turn)
        hash.combine(effect.ordinal)
        hash.combine(lease.start)
        hash.combine(lease.counter)
        return hash.finish()
    }
}
