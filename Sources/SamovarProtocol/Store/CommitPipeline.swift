import SamovarCore

/// How far the journal is: one batch at a time is with it, and what tells of turns waits for their commit.
///
/// | state | `begin` | `pass` | `committed` | `setFull` |
/// |---|---|---|---|---|
/// | at rest | committing | leaves if its turn is on disk, else waits | – | – |
/// | committing | – (the open batch fills up) | the same | at rest; what waited for these turns leaves | told since when there is no space |
struct CommitPipeline {
    private var gate: Gate<StoreAction>
    /// A batch is with the journal.
    private(set) var isCommitting = false
    /// Since when the batch with the journal waits for space; nil while there is some.
    private(set) var fullSince: Timestamp?
    /// What the turns on disk, and no others, make of the numbers that `status` tells.
    private(set) var durableFacts: StoreFacts
    /// The same at the end of the batch with the journal.
    private var committingFacts: StoreFacts

    /// - Parameter durable: the newest turn of a journal that was read.
    init(durable: Int, facts: StoreFacts = StoreFacts()) {
        gate = Gate(durable: durable)
        durableFacts = facts
        committingFacts = facts
    }

    /// The number of the newest turn on disk.
    var durable: Int { gate.durable }
    var isFull: Bool { fullSince != nil }

    /// Returns what may leave now, else keeps it until its turn is on disk.
    mutating func pass(_ action: StoreAction, floor: Int) -> StoreAction? { gate.pass(action, floor: floor) }

    /// A batch goes to the journal.
    mutating func begin(_ facts: StoreFacts) {
        isCommitting = true
        committingFacts = facts
    }

    /// The journal has it. Returns what may leave now, in order.
    mutating func committed(through turn: Int) -> [StoreAction] {
        isCommitting = false
        durableFacts = committingFacts
        return gate.open(to: turn)
    }

    mutating func setFull(_ isFull: Bool, now: Timestamp) {
        fullSince = isFull ? fullSince ?? now : nil
    }
}
