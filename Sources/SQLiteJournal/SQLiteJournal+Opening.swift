import GRDB
import Journal
import SamovarCore

/// Opening the journal of a folder: its own, or a new one, but never a new one in the place of one that was lost, and never
/// one that has lost a part.
///
/// Three witnesses tell of a loss: `journal.id` that there was a journal and which, `head` how far it had come, and a snapshot
/// that is newer than the last batch.
struct JournalOpening {
    let folder: DataFolder
    let access: SQLiteJournal.Access
    let connection: Connection
    let identity: UniqueID
    private(set) var end = BatchChain()
    /// The last turn that anything in the folder tells of.
    private(set) var witnessed = 0
    /// What is wrong, if the journal is only examined; else the first of them is thrown.
    private(set) var findings: [JournalError] = []
    /// What a person should know, and what is no reason to stop.
    private(set) var warnings: [String] = []

    /// How many of the newest batches are looked at for holes in their numbering. That costs some milliseconds; all of a
    /// journal are looked at by `journal verify`, and those that a start replays anyway.
    private static let numberedBatches = 10_000

    init(_ folder: DataFolder, _ access: SQLiteJournal.Access) throws(JournalError) {
        try folder.requireOpen()
        try folder.requireNoReplacement()
        let path = folder.file(DataFolder.database)
        let known = try FileSystem.contents(of: folder.file(DataFolder.identity))
        if !FileSystem.exists(path) {
            if known != nil {
                throw JournalError(
                    .damaged,
                    "\(path) is gone, but \(DataFolder.identity) says that there was a journal: restore it, or archive the rest.")
            }
            if access != .readWrite { throw JournalError(.missing, "There is no journal in \(folder.path).") }
        }
        let connection = try Connection(
            path: path, mode: access == .readWrite ? .durable : .readOnly,
            emptyFile: Self.emptyFile(at: path, known: known, access: access))
        let own = try connection.identity()
        self.folder = folder
        self.access = access
        self.connection = connection
        identity = own.id
        if let known, own.text != known {
            try report(
                .damaged, "\(path) is not the journal that \(DataFolder.identity) in \(folder.path) names.")
        } else if known == nil, access == .readWrite {
            // The database comes first: a crash in between leaves a journal without an identity file, which is harmless.
            try FileSystem.synchronizeFolder(folder.path)
            try FileSystem.replace(folder.file(DataFolder.identity), with: own.text)
        }
        try check()
    }

    /// A file is empty when its creation was cut short, or when the journal in it was lost.
    private static func emptyFile(
        at path: String, known: String?, access: SQLiteJournal.Access
    ) -> Connection.EmptyFile {
        if known != nil {
            .refuse(JournalError(.damaged, "\(path) is empty, but \(DataFolder.identity) says that there was a journal."))
        } else if access != .readWrite {
            .refuse(JournalError(.missing, "\(path) is empty: no journal was begun in it."))
        } else {
            .begin(identity: randomIdentity())
        }
    }

    /// 128 random bits, as 32 hexadecimal digits.
    static func randomIdentity() -> String {
        UniqueID(high: .random(in: .min ... .max), low: .random(in: .min ... .max)).description.filter { $0 != "-" }
    }

    /// Where the batches that are kept begin.
    func anchor() throws(JournalError) -> BatchChain {
        do throws(JournalError) {
            return try connection.anchor()
        } catch {
            guard access == .examination, error.code == .damaged else { throw error }
            return BatchChain()
        }
    }

    // MARK: Checks

    private mutating func report(_ code: JournalError.Code, _ text: String) throws(JournalError) {
        let error = JournalError(code, text)
        guard access == .examination else { throw error }
        findings.append(error)
    }

    private mutating func check() throws(JournalError) {
        do throws(JournalError) {
            end = try connection.end()
        } catch {
            guard access == .examination, error.code == .damaged else { throw error }
            findings.append(error)
            return try checkHead()
        }
        if try !connection.perform("the facts cannot be read", { try Facts.areSound(in: $0) }) {
            try report(.damaged, "\(connection.path): the facts (timeline, secret, program, seed) are damaged: digest differs.")
        }
        try checkNumbers()
        witnessed = max(witnessed, end.last)
        if let newest = try folder.snapshots(of: identity).turns().first, newest > end.last {
            witnessed = max(witnessed, newest)
            try report(
                .damaged,
                "\(connection.path) ends at turn \(end.last.grouped), but has a snapshot of turn \(newest.grouped): the turns between are lost."
            )
        }
        try checkHead()
    }

    private mutating func checkNumbers() throws(JournalError) {
        do throws(JournalError) {
            if let hole = try connection.hole(inNewest: Self.numberedBatches) { throw JournalError(.damaged, hole) }
        } catch {
            guard access == .examination, error.code == .damaged else { throw error }
            findings.append(error)
        }
    }

    private mutating func checkHead() throws(JournalError) {
        let file = folder.file(DataFolder.head)
        switch try HeadFile.reading(file) {
        case .missing:
            // No refusal: the batches, their chain and `journal.id` are there, and this file alone is easily left out of a copy.
            if end.last > 0 { warnings.append("\(file) is missing: a lost end of the journal would not have been noticed") }
        case .unreadable:
            if end.last > 0 { warnings.append("\(file) is damaged: a lost end of the journal would not have been noticed") }
        case .witness(let witness): try check(witness, file)
        }
    }

    private mutating func check(_ witness: HeadWitness, _ file: String) throws(JournalError) {
        guard witness.journal == identity else {
            return try report(.damaged, "\(file) belongs to another journal than \(connection.path): parts of two are mixed.")
        }
        witnessed = max(witnessed, witness.turn)
        guard witness.turn <= end.last else {
            return try report(
                .damaged,
                """
                \(connection.path) ends at turn \(end.last.grouped), but \(file) says that turn \(witness.turn.grouped) was on disk: \
                the turns between are lost, or this is an older copy.
                """)
        }
        let digest = witness.turn == end.last ? end.digest : try connection.digest(ofBatchEndingAt: witness.turn)
        guard let digest, digest != witness.digest else { return }
        try report(
            .damaged,
            "\(connection.path) has another turn \(witness.turn.grouped) than the one that \(file) names: this is another copy.")
    }
}

extension DataFolder {
    func snapshots(of journal: UniqueID) -> SnapshotFolder {
        SnapshotFolder(path: file(Self.snapshots), journal: journal)
    }
}

extension Connection {
    fileprivate func identity() throws(JournalError) -> (text: String, id: UniqueID) {
        guard let bytes = try fact(DataFolder.identity) else {
            throw JournalError(.damaged, "\(path) has lost its identity.")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        guard let id = UniqueID(text) else { throw JournalError(.damaged, "\(path) has lost its identity.") }
        return (text, id)
    }
}
