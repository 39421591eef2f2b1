/// What is heard of a statement that changes a journal.
package enum FencedAnswer: Equatable, Sendable {
    case done
    /// The row is not as the statement has it: nothing has changed.
    case refused
    /// It is unknown whether it has happened, or whether that is durable.
    case lost(JournalError)
}

/// How a process takes a journal in a database and appends to it, whatever becomes of the answers.
///
/// Each database has statements and texts of its own. A statement is one step there, and throws what tells that it has not happened.
package protocol FencedWriter: ~Copyable {
    associatedtype End: JournalEnd

    /// The row as this process knows it: that of another one before ``hasBegun``.
    var row: Fence<End> { get set }
    var hasBegun: Bool { get set }
    /// The end behind a batch of which it is unknown whether it is durable.
    var unsettled: End? { get set }

    mutating func readRow() throws(JournalError) -> Fence<End>
    /// Puts epoch and nonce of a claim into the row, if that is the known one.
    mutating func take(_ known: Fence<End>, as claim: Fence<End>) throws(JournalError) -> FencedAnswer
    /// Adds a batch and moves the end, if the row is the known one.
    mutating func insert(_ batch: Batch, from known: Fence<End>, to next: End) throws(JournalError) -> FencedAnswer
    /// Writes the row as it is, if it has epoch and nonce of the known one, and so confirms a batch, or a take if there is none.
    mutating func rewrite(_ known: Fence<End>, confirming batch: Batch?) throws(JournalError) -> FencedAnswer
    func error(of problem: FenceProblem) -> JournalError
}

extension FencedWriter where Self: ~Copyable {
    /// Takes the journal, unless that was done.
    ///
    /// - Parameter nonce: the same at each try, so that one whose answer is lost can be recognised, however late it happens.
    package mutating func begin(_ nonce: [UInt8], beyond number: Int) throws(JournalError) {
        guard !hasBegun else { return }
        let claim = Fence(epoch: max(row.epoch, number) + 1, nonce: nonce, end: row.end)
        let answer = try take(row, as: claim)
        // What has become of it is read, and not guessed.
        let found = try readRow()
        guard found == claim else {
            throw error(of: found == row ? .isNotTaken : .hasChanged(epoch: found.epoch, last: found.end.last))
        }
        // What can be read may be on no replica yet, and what others wrote before it, too.
        if answer != .done { try requireDone(rewrite(claim, confirming: nil), as: claim) }
        row = claim
        hasBegun = true
    }

    /// Makes a batch durable, or says that it is unknown whether it is. Then no other one may be tried before it.
    package mutating func append(_ batch: Batch) throws(JournalError) {
        let next = try row.end.behind(batch)
        guard unsettled == nil || unsettled == next else { throw error(of: .isUnsettled(batch)) }
        switch try insert(batch, from: row, to: next) {
        case .done: break
        case .lost(let error):
            unsettled = next
            throw error
        case .refused:
            // The row is another's, or ours of an earlier try.
            unsettled = next
            try settle(batch, next)
        }
        unsettled = nil
        row.end = next
    }

    /// Finds out what has become of an append. It is read and not guessed.
    ///
    /// | the row has | so |
    /// |---|---|
    /// | an earlier epoch | it forgot that we have taken the journal, and what was told to be durable since |
    /// | another epoch or nonce | somebody else has the journal |
    /// | our end | the append has not happened; an earlier server process that would still commit it holds the row, and was waited for |
    /// | the end behind the append | it has happened, and is durable once a commit that comes later is confirmed |
    /// | an earlier end | what was told to be durable is gone |
    /// | anything else | somebody has written who does not know the rules |
    private mutating func settle(_ batch: Batch, _ next: End) throws(JournalError) {
        let found = try readRow()
        guard found.epoch >= row.epoch else { throw error(of: .hasLostEnd(last: found.end.last)) }
        guard found.epoch == row.epoch, found.nonce == row.nonce else { throw error(of: .isFenced(epoch: found.epoch)) }
        switch found.end {
        case next: try requireDone(rewrite(row, confirming: batch))
        case row.end:
            unsettled = nil
            throw JournalError(.unavailable, batch.doubt)
        case let end: throw error(of: end.last < row.end.last ? .hasLostEnd(last: end.last) : .isForeign(last: end.last))
        }
    }

    /// - Parameter claim: what the journal was taken for, if that is not certain yet.
    package mutating func requireDone(_ answer: FencedAnswer, as claim: Fence<End>? = nil) throws(JournalError) {
        switch answer {
        case .done: return
        case .refused: throw try fenced(as: claim)
        case .lost(let error): throw error
        }
    }

    /// The error of one whose statement was refused.
    package mutating func fenced(as claim: Fence<End>? = nil) throws(JournalError) -> JournalError {
        let (epoch, found) = (claim?.epoch ?? row.epoch, try readRow().epoch)
        return error(of: found < epoch ? .hasLostEpoch(found, taken: epoch) : .isFenced(epoch: found))
    }
}

extension Batch {
    /// What is to be said when the answer to its append is lost.
    package var doubt: String { "It is unknown whether \(turns) \(first == last ? "is" : "are") durable." }
}
