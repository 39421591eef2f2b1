package import Journal
package import JournalChain

extension SQLiteJournal: StoredJournal {
    package func chain(behind turn: Int?) throws(JournalError) -> BatchChain {
        try requireOpen()
        // As it was found: if the facts cannot be read, the batches may be sound all the same.
        return if let turn { try connection.place(behind: turn) } else { anchor }
    }
}
