import GRDB
import Journal
import JournalChain
import SamovarCore

/// Opening the journal of a folder: its own, or a new one, but never a new one in the place of one that was lost, and never
/// one that has lost a part. No file is changed by it but for its mode, unless there is no journal at all and one is begun.
///
/// These tell of a loss: `journal.id` that there was a journal and which; `head` and `marker` how far it had come; a snapshot that
/// is newer than the last batch; and where none of them names the end, the frames of the log that SQLite did not read.
struct JournalOpening {
    let folder: DataFolder
    let access: SQLiteJournal.Access
    let connection: SQLiteConnection
    let identity: UniqueID
    /// What `journal.id` has to say, if it is missing.
    let missingIdentity: String?
    /// Keeps the files from which a damaged log is read.
    let mended: MendedLog?
    private(set) var end = BatchChain()
    /// Whether `head` or `marker` names the end as it is: then nothing after it is lost.
    private(set) var isWitnessed = false
    /// Whether timeline, secret and the other facts are what was written.
    private(set) var hasSoundFacts = true
    /// The turn that `head` names; nil if it names none of this journal, or is damaged in part.
    private var headTurn: Int?
    private var headProblem: String?
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
        var emptyFile = try Self.emptyFile(folder, access, isKnown: known != nil)
        // SQLite removes the log of a file that has nothing in it, so such a one is not shown to it.
        let isEmpty = FileSystem.size(of: path) == 0
        if case .refuse(let error) = emptyFile {
            if isEmpty || !FileSystem.exists(path) { throw error }
            // What a file that is not empty does not show may be in its log, behind damage.
            if error.code == .lost {
                emptyFile = .refuse(JournalError(.damaged, "\(path) shows nothing of the journal that it had."))
            }
        }
        let (connection, mended) = try Self.connect(folder, access, emptyFile)
        var own: (text: String, id: UniqueID)
        do throws(JournalError) {
            own = try connection.identity()
        } catch {
            // Of a journal that is only examined the batches may be sound all the same.
            guard access == .examination, error.code == .damaged, let known, let id = UniqueID(known) else { throw error }
            own = (known, id)
            findings.append(error)
        }
        self.folder = folder
        self.access = access
        self.connection = connection
        self.mended = mended
        identity = own.id
        missingIdentity = known == nil ? own.text : nil
        if let mended { findings.append(mended.finding) }
        if let known, own.text != known {
            try report("\(path) is not the journal that \(DataFolder.identity) in \(folder.path) names.")
        }
        try check()
    }

    private static func connect(
        _ folder: DataFolder, _ access: SQLiteJournal.Access, _ emptyFile: SQLiteConnection.EmptyFile
    ) throws(JournalError) -> (SQLiteConnection, MendedLog?) {
        let path = folder.file(DataFolder.database)
        func open(_ mended: MendedLog? = nil) throws(JournalError) -> SQLiteConnection {
            try SQLiteConnection(
                path: path, file: mended?.database, mode: access == .readWrite ? .durable : .readOnly, emptyFile: emptyFile)
        }
        let database = FileSystem.resolved(path)
        guard access == .examination, let log = try WriteAheadLog(of: database) else { return (try open(), nil) }
        // As SQLite reads it, with the sound frames behind the damage, without the log, if that is not the database's: which of them
        // tells most is told by the digests. One after the other, because each locks the file.
        var best = soundEnd { () throws(JournalError) in try open() }
        var chosen: MendedLog.Frames?
        if try best < folder.witnessedTurn() || log.commitsBehindDamage > 0 || log.isOlder(than: database) {
            for frames in [MendedLog.Frames.sound, .none] {
                let mended = try MendedLog(log, frames, of: database, in: folder)
                let end = soundEnd { () throws(JournalError) in try open(mended) }
                try mended.remove()
                if end > best { (best, chosen) = (end, frames) }
            }
        }
        let mended = try chosen.map { frames throws(JournalError) in try MendedLog(log, frames, of: database, in: folder) }
        return (try open(mended), mended)
    }

    /// The last turn up to which all batches are sound; -1 if nothing can be read.
    private static func soundEnd(_ connect: () throws(JournalError) -> SQLiteConnection) -> Int {
        var chain = BatchChain(last: -1)
        do throws(JournalError) {
            let connection = try connect()
            chain = try connection.anchor()
            while let stored = try connection.page(after: chain.last, size: 1).first,
                chain.advance(over: stored.batch, digest: stored.digest) == nil
            {}
            try connection.close()
        } catch {
            // What is wrong is found again by whoever reads.
        }
        return chain.last
    }

    /// A file is empty, or not there, when no journal was ever begun, when its creation was cut short, or when it was lost.
    private static func emptyFile(
        _ folder: DataFolder, _ access: SQLiteJournal.Access, isKnown: Bool
    ) throws(JournalError) -> SQLiteConnection.EmptyFile {
        let path = folder.file(DataFolder.database)
        let exists = FileSystem.exists(path)
        let remains = isKnown ? "\(DataFolder.identity) says that there was a journal" : try folder.remains()
        if let remains {
            return .refuse(
                JournalError(
                    .lost,
                    "\(path) is \(exists ? "empty" : "gone"), but \(remains): put back what is lost, or begin anew with --fresh."))
        }
        if access == .readWrite { return .begin(identity: randomIdentity()) }
        return .refuse(
            JournalError(
                .missing, exists ? "\(path) is empty: no journal was begun in it." : "There is no journal in \(folder.path)."))
    }

    static func randomIdentity() -> UniqueID {
        UniqueID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
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

    private mutating func report(_ damage: String) throws(JournalError) {
        try note(JournalError(.damaged, damage))
    }

    /// Of a journal that is only examined, damage is a finding.
    private mutating func note(_ error: JournalError) throws(JournalError) {
        guard access == .examination, error.code == .damaged else { throw error }
        findings.append(error)
    }

    private mutating func check() throws(JournalError) {
        do throws(JournalError) {
            end = try connection.end()
        } catch {
            try note(error)
            return try checkWitnesses()
        }
        try checkFacts()
        try checkNumbers()
        witnessed = max(witnessed, end.last)
        if let newest = try SnapshotFolder(of: identity, in: folder.path).turns().first, newest > end.last {
            witnessed = max(witnessed, newest)
            try report(
                "\(connection.path) ends at turn \(end.last.grouped), but has a snapshot of turn \(newest.grouped): the turns between are lost."
            )
        }
        try checkWitnesses()
        try checkSize()
        try checkLog()
    }

    /// The database never has more pages than its log knows of, nor does it shrink. An older log hides what has come since, and older
    /// witnesses agree with it.
    private mutating func checkSize() throws(JournalError) {
        let database = FileSystem.resolved(connection.path)
        let log = database + SQLiteConnection.logSuffix
        guard mended == nil, let size = FileSystem.size(of: database), FileSystem.size(of: log) ?? 0 > WriteAheadLog.headerSize
        else { return }
        let pages = try connection.perform("the pages cannot be counted") { db in
            (count: try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0, size: try Int.fetchOne(db, sql: "PRAGMA page_size") ?? 1)
        }
        guard size / pages.size > pages.count else { return }
        try report(
            """
            \(log) is older than \(connection.path), which has more pages than the log knows of: \
            a newer log is lost, or parts of two copies are mixed.
            """)
    }

    private mutating func checkWitnesses() throws(JournalError) {
        try checkHead()
        try checkMarker()
        if let headProblem, end.last > 0, !isWitnessed { warnings.append(headProblem) }
    }

    private mutating func checkFacts() throws(JournalError) {
        do throws(JournalError) {
            if try !connection.perform("the facts cannot be read", { try Facts.areSound(in: $0) }) {
                throw JournalError(
                    .damaged, "\(connection.path): the facts (timeline, secret, program, seed) are damaged: digest differs.")
            }
        } catch {
            hasSoundFacts = false
            try note(error)
        }
    }

    private mutating func checkNumbers() throws(JournalError) {
        do throws(JournalError) {
            if let hole = try connection.hole(inNewest: Self.numberedBatches) { throw JournalError(.damaged, hole) }
        } catch {
            try note(error)
        }
    }

    private mutating func checkHead() throws(JournalError) {
        let file = folder.file(DataFolder.head)
        switch try HeadFile.reading(file) {
        case .missing:
            // No refusal: the batches, their chain and `journal.id` are there, and this file alone is easily left out of a copy.
            headProblem = "\(file) is missing: a lost end of the journal would not have been noticed"
        case .unreadable:
            headProblem = "\(file) is damaged: a lost end of the journal would not have been noticed"
        case .witness(let witness, _, let isTorn): try check(witness, isTorn: isTorn, file)
        }
    }

    private mutating func check(_ witness: HighWaterMark, isTorn: Bool, _ file: String) throws(JournalError) {
        guard witness.journal == identity else {
            return try report("\(file) belongs to another journal than \(connection.path): parts of two are mixed.")
        }
        witnessed = max(witnessed, witness.end.last)
        guard witness.end.last <= end.last else { return try reportLoss(upTo: witness.end.last, by: file) }
        if isTorn {
            headProblem = "a part of \(file) is damaged: a lost end of the journal may not have been noticed"
        } else {
            headTurn = witness.end.last
        }
        if witness.end == end { isWitnessed = true }
        let digest = witness.end.last == end.last ? end.digest : try connection.digest(ofBatchEndingAt: witness.end.last)
        guard let digest, digest != witness.end.digest else { return }
        let turn = witness.end.last.grouped
        try report("\(connection.path) has another turn \(turn) than the one that \(file) names: this is another copy.")
    }
}

extension JournalOpening {
    private mutating func checkMarker() throws(JournalError) {
        let file = folder.file(DataFolder.marker)
        guard case .end(identity, let turn) = try MarkedEnd.reading(at: file) else { return }
        if turn == end.last { isWitnessed = true }
        guard turn > end.last, turn > witnessed else { return }
        witnessed = turn
        try reportLoss(upTo: turn, by: file)
    }

    private mutating func reportLoss(upTo turn: Int, by file: String) throws(JournalError) {
        try report(
            """
            \(connection.path) ends at turn \(end.last.grouped), but \(file) says that turn \(turn.grouped) was on disk: \
            the turns between are lost, or this is an older copy.
            """)
    }

    /// What the log itself tells of an end that no witness names: they are behind after the death of the machine, or are older copies
    /// or lost themselves.
    private mutating func checkLog() throws(JournalError) {
        guard !isWitnessed, end.last > 0, mended == nil else { return }
        // The connection is asked: to open the database beside it, and close it again, would let go of SQLite's locks on it.
        let pageSize = try connection.perform("the size of a page cannot be read") { db in
            try Int.fetchOne(db, sql: "PRAGMA page_size") ?? SQLiteConnection.pageSize
        }
        let file = FileSystem.resolved(connection.path) + SQLiteConnection.logSuffix
        let log = try WriteAheadLog(at: file, pageSize: pageSize)
        if let log, log.commitsBehindDamage > 1 { return try note(log.problem) }
        if log?.pages == nil, let headTurn, headTurn < end.last {
            try report(
                """
                \(folder.file(DataFolder.head)) is older than \(connection.path), which ends at turn \(end.last.grouped) and has no log: \
                whether later turns are lost cannot be told. Put the newer file back; if you know that nothing is lost, remove the older one.
                """)
        }
        if let log, log.endsInPieces {
            warnings.append(
                """
                \(log.path) ends with a commit that is not whole: a power failure has cut it off, or turns after \(end.last.grouped) \
                are lost
                """)
        }
    }
}

extension WriteAheadLog {
    /// Whether the database has more pages than the log knows of.
    fileprivate func isOlder(than database: String) -> Bool {
        guard let pages, let size = FileSystem.size(of: database) else { return false }
        return size / pageSize > pages
    }

    /// The log of a database to which this process has no connection: the file is opened and closed, which lets go of its locks.
    fileprivate init?(of database: String) throws(JournalError) {
        // Bytes 16 and 17 of the database: the size of its pages; 1 stands for 65,536.
        let header = try FileSystem.bytes(of: database, limit: 18) ?? []
        let size = header.count == 18 ? Int(header[16]) << 8 | Int(header[17]) : SQLiteConnection.pageSize
        try self.init(at: database + SQLiteConnection.logSuffix, pageSize: size == 1 ? 65_536 : size)
    }
}

extension DataFolder {
    /// The latest turn that `head` or `marker` names, of whatever journal; 0 if none.
    func witnessedTurn() throws(JournalError) -> Int {
        var turn = 0
        if case .end(_, let marked) = try MarkedEnd.reading(at: file(Self.marker)) { turn = marked }
        if case .witness(let witness, _, _) = try HeadFile.reading(file(Self.head)) { turn = max(turn, witness.end.last) }
        return turn
    }

    /// What tells of a journal in a folder without one, in the words of an error; nil if nothing does.
    func remains() throws(JournalError) -> String? {
        if case .end(_, let turn) = try MarkedEnd.reading(at: file(Self.marker)) {
            return "\(Self.marker) says that turn \(turn.grouped) was on disk"
        }
        if case .witness(let witness, _, _) = try HeadFile.reading(file(Self.head)) {
            return "\(Self.head) says that turn \(witness.end.last.grouped) was on disk"
        }
        if let turn = try SnapshotFolder(of: .zero, in: path).turns().first {
            return "there is a snapshot of turn \(turn.grouped)"
        }
        if !FileSystem.exists(file(Self.database)), FileSystem.size(of: file(Self.database) + SQLiteConnection.logSuffix) ?? 0 > 0 {
            return "its log is there"
        }
        if case .used = try MarkedEnd.reading(at: file(Self.marker)) { return "\(Self.marker) says that a store has served here" }
        return nil
    }
}

extension SQLiteConnection {
    fileprivate func identity() throws(JournalError) -> (text: String, id: UniqueID) {
        let text = String(decoding: try fact(DataFolder.identity) ?? [], as: UTF8.self)
        guard let id = UniqueID(text) else { throw JournalError(.damaged, "\(path) has lost its identity.") }
        return (text, id)
    }
}

extension MarkedEnd {
    /// What a file says; nothing if there is none, or no process has made calls yet.
    fileprivate static func reading(at path: String) throws(JournalError) -> Reading {
        guard FileSystem.size(of: path) != nil, let bytes = try FileSystem.bytes(of: path, limit: offset + byteCount) else {
            return .nothing
        }
        return bytes.withUnsafeBytes { reading($0) }
    }
}
