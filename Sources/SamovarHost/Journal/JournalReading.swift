import Journal

/// Reading a journal that others write: what is still to be read may be trimmed meanwhile (`--retain`).
enum JournalReading {
    static let attempts = 5

    /// Opens and reads a journal, from its new beginning if what was to be read next is missing by then.
    ///
    /// - Parameter body: throws a `StoreError` if there is no journal, or if something else is missing.
    static func run<Result>(_ body: () throws -> Result) throws -> Result {
        for _ in 1...attempts {
            do {
                return try body()
            } catch let error as JournalError where error.code == .missing {
                // Nothing is left of what was read, and the next attempt is a whole one.
            }
        }
        throw StoreError(.again, "the journal was trimmed (`--retain`) each time that it was read: do it again")
    }
}
