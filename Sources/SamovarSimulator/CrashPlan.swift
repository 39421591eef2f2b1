/// For the exhaustive mode: who dies before which of its steps, and what its unconfirmed write comes to.
struct CrashPlan: Equatable, Sendable {
    enum Victim: Sendable { case store, worker }
    enum Fate: CaseIterable, Sendable { case lost, torn, kept }

    let victim: Victim
    let step: Int
    var fate = Fate.lost
}
