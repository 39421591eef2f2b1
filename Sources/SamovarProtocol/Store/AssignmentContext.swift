import SamovarCore

/// What the tasks of one round have in common.
struct AssignmentContext {
    /// The turn that they wait for at the gate.
    let floor: Int
    /// What a job has beyond its timeout.
    let grace: Duration
    /// About the bytes of a frame.
    let frameBytes: Int
    let proof: JobProof
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
