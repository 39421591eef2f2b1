import Journal
import JournalChain

/// The row of a partition: one statement compares and changes it with each batch.
typealias FenceRow = Fence<BatchChain>
