import SamovarCore

/// Which store this is, and what proves it to its peers.
struct StoreIdentity {
    let timeline: Timeline
    /// Of the timeline: only its store can make what proves turns and jobs.
    let secret: Secret
    /// Names the build of the program.
    let build: String
    /// What the host's journal says that a batch on disk outlives.
    let durability: String

    var jobProof: JobProof { JobProof(timeline, secret) }

    func proof(of turn: Int) -> TurnProof { TurnProof(of: turn, in: timeline, secret) }
}
