package import Journal
package import JournalChain

extension SQLiteJournal: StoredJournal {
    /// Nobody else has the folder, so that the number is the next one.
    package func beginWriting(beyond starts: Int) throws(JournalError) -> Int {
        try beginWriting()
        return starts + 1
    }

    package func chain(behind turn: Int?) throws(JournalError) -> BatchChain {
        try requireOpen()
        // As it was found: if the facts cannot be read, the batches may be sound all the same.
        return if let turn { try connection.place(behind: turn) } else { anchor }
    }
}
