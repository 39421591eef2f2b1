/// The durable memory of a store: batches of turns, snapshots, and a few named facts.
///
/// The batches are the truth. A snapshot is a cache of what they say, and a fact is something small that belongs to the
/// journal as a whole, such as its timeline, its seed or the schema of its program.
///
/// ```swift
/// try journal.append(Batch(first: journal.last + 1, last: journal.last + 2, bytes: records))
/// // Only now may anybody hear of the two turns.
/// ```
///
/// A journal is used by one thread at a time, and its calls block that thread until the disk has answered, so none of
/// them belongs on Swift's cooperative pool. Every implementation passes `JournalContract` of `SamovarTesting`.
public protocol Journal {
    /// The first turn that can be read: 1 unless the journal was trimmed; ``last`` + 1 when there is nothing to read.
    var first: Int { get }

    /// The last durable turn; 0 while the journal is empty.
    var last: Int { get }

    /// What ``append(_:)`` promises here; for people, and for programs that ask `status`.
    var durability: Durability { get }

    /// Makes a batch durable: when this returns, the batch survives the death of the process and of the machine.
    ///
    /// - Throws: ``JournalError/Code/misuse`` unless the batch begins at ``last`` + 1.
    ///   ``JournalError/Code/full`` when there is no space: nothing has changed and the same batch may be tried again.
    ///   ``JournalError/Code/inputOutput`` when it is unknown whether the batch is durable: the process must end, and
    ///   every later write throws the same error.
    mutating func append(_ batch: Batch) throws(JournalError)

    /// Hands over, in order, every batch that holds a turn at or after `turn`, each verified; the first of them may begin
    /// before it.
    ///
    /// Batches are streamed, so a journal may be larger than the memory. `body` may call the journal, and what it throws
    /// ends the reading and is passed on.
    ///
    /// - Throws: ``JournalError/Code/damaged``, naming the batch, when one is missing or not what was appended;
    ///   ``JournalError/Code/missing`` when turns from `turn` on were trimmed.
    func read(from turn: Int, _ body: (Batch) throws -> Void) throws

    /// Saves a snapshot durably, in place of an older one of the same turn. Only the newest three are kept.
    ///
    /// - Throws: As ``append(_:)``; ``JournalError/Code/misuse`` when the snapshot is ahead of ``last``.
    mutating func save(_ snapshot: Snapshot) throws(JournalError)

    /// The turns of the snapshots that are kept, newest first.
    func snapshots() throws(JournalError) -> [Int]

    /// The snapshot of a turn, verified.
    ///
    /// - Throws: ``JournalError/Code/damaged`` when it is not what was saved, in which case an older one still helps;
    ///   ``JournalError/Code/missing`` when there is none of that turn.
    func snapshot(at turn: Int) throws(JournalError) -> Snapshot

    /// The value of a fact, or `nil` if it was never recorded.
    func fact(_ name: String) throws(JournalError) -> [UInt8]?

    /// Records a fact durably, in place of its older value.
    ///
    /// - Throws: As ``append(_:)``.
    mutating func record(_ value: [UInt8], as name: String) throws(JournalError)

    /// Removes the oldest batches of those that end at or before `turn`, a bounded piece at a time, since appends wait
    /// meanwhile. What follows still verifies.
    ///
    /// - Returns: Whether there are more to remove.
    /// - Throws: As ``append(_:)``; ``JournalError/Code/misuse`` unless a snapshot of `turn` or a later one can be read, for
    ///   without it nobody could tell any more what the turns had led to.
    mutating func trim(through turn: Int) throws(JournalError) -> Bool

    /// Gives the journal up: every later call but this one throws ``JournalError/Code/misuse``.
    mutating func close() throws(JournalError)
}

extension Journal {
    public var durability: Durability { .unknown }

    /// Checks that something can be read from `turn` on. Every journal begins `read` with it.
    package func requireKept(_ turn: Int) throws(JournalError) {
        guard turn < first, first > 1 else { return }
        throw JournalError(
            .missing,
            "The turns before \(first.grouped) are not kept any more: the journal begins behind a snapshot (`--retain`, or a salvage)."
        )
    }

    /// Checks that the turns up to this one are not needed. Every journal begins `trim` with it.
    package func requireSnapshot(behind turn: Int) throws(JournalError) {
        for snapshot in try snapshots() where snapshot >= turn {
            do throws(JournalError) {
                _ = try self.snapshot(at: snapshot)
                return
            } catch {
                // Another one may be whole.
                if error.code != .damaged && error.code != .missing { throw error }
            }
        }
        throw JournalError(.misuse, "Turns up to \(turn.grouped) cannot be removed: no snapshot stands for them.")
    }
}
