/// What a stored journal is opened for.
public enum JournalAccess: Sendable {
    /// To write it. One in a folder is created if it is not there; of one that is there, no file is changed, but for its mode, before
    /// `beginWriting` or the first write: a store has yet to see whether it can serve it. One in a database is taken with the first write,
    /// away from whoever has it: its lease tells whether that may be.
    case readWrite
    /// To read it, and never to write; the journal must be there.
    case readOnly
    /// As `readOnly`, and opens also what the others refuse: what is wrong is in the `findings` of the journal.
    case examination
}
