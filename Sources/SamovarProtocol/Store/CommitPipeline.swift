import SamovarCore

/// How far the journal is: one batch at a time is with it.
///
/// | state | `begin` | `committed` | `setFull` |
/// |---|---|---|---|
/// | at rest | committing | – | – |
/// | committing | – (the open batch fills up) | at rest | told since when there is no space |
struct CommitPipeline {
    /// A batch is with the journal.
    private(set) var isCommitting = false
    /// Since when the batch with the journal waits for space; nil while there is some.
    private(set) var fullSince: Timestamp?
    /// What the turns on disk, and no others, make of the numbers that `status` tells.
    private(set) var durableFacts: StoreFacts
    /// The same at the end of the batch with the journal.
    private var committingFacts: StoreFacts

    /// - Parameter facts: of a journal that was read.
    init(facts: StoreFacts = StoreFacts()) {
        durableFacts = facts
        committingFacts = facts
    }

    var isFull: Bool { fullSince != nil }

    /// A batch goes to the journal.
    mutating func begin(_ facts: StoreFacts) {
        isCommitting = true
        committingFacts = facts
    }

    /// The journal has it.
    mutating func committed() {
        isCommitting = false
        durableFacts = committingFacts
    }

    mutating func setFull(_ isFull: Bool, now: Timestamp) {
        fullSince = isFull ? fullSince ?? now : nil
    }
}

/// Numbers of the state that `status` tells, as of one turn.
struct StoreFacts: Equatable {
    var turn = 0
    var sessions = 0
    var openEffects = 0
    var deadEffects = 0
}
