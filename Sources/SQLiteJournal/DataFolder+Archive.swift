public import Journal

/// The names of what a journal keeps in its folder.
extension DataFolder {
    static let database = "journal.sqlite"
    /// The identity of the journal, outside of the journal: it tells a lost journal from one that never was.
    static let identity = "journal.id"
    /// How far the journal had come, outside of the journal.
    static let head = "head"
    static let snapshots = "snapshots"
    /// The page of the host, in which the journal has some words.
    static let marker = "marker"
    /// Where the journal is, if it is not in the folder.
    static let elsewhere = "journal.place"

    /// In the order in which they are archived, before the identity. The database goes first and the identity last, so that a folder
    /// whose archiving was cut short is refused, never opened without the tail in `-wal` nor taken for a new one.
    static let content = [database, database + "-wal", database + "-shm", database + "-journal", head, snapshots]
}

extension DataFolder {
    /// Moves the journal into `archive/<time>/` of this folder, so that the next one begins a new timeline. Deletes
    /// nothing. The journal must be closed.
    ///
    /// If it is cut short, the folder is refused until `archive` has moved the rest to the same place.
    ///
    /// - Returns: The folder that holds the old journal, or `nil` if there was none.
    /// - Throws: ``JournalError/Code/inputOutput`` or ``JournalError/Code/full``.
    @discardableResult
    public func archive() throws(JournalError) -> String? {
        try requireOpen()
        // The marker goes after all, because it tells that a store has served here.
        return try archive(Self.content + [Self.identity, Self.marker, Self.elsewhere])
    }

    /// Moves those of some files that are there. One that was cut short goes on in the folder where it began.
    func archive(_ names: [String]) throws(JournalError) -> String? {
        let names = names.filter { FileSystem.exists(file($0)) }
        if names.isEmpty { return nil }
        beginWriting()
        let begun = try begunArchive(of: names)
        let destination = if let begun { begun } else { try beginArchive() }
        for name in names {
            try FileSystem.move(file(name), to: "\(destination)/\(name)")
            // Each move is durable before the next: their order is what makes a power failure harmless.
            try FileSystem.synchronizeFolder(destination)
            try FileSystem.synchronizeFolder(path)
        }
        return destination
    }

    /// Makes a folder that names the journal and how far it had come, before any file is moved: without the tail in `-wal`, which
    /// `head` tells of, the folder is refused as a journal.
    func beginArchive() throws(JournalError) -> String {
        let destination = try makeArchiveFolder()
        for name in [Self.head, Self.identity] {
            guard let bytes = try FileSystem.bytes(of: file(name)) else { continue }
            try FileSystem.replace("\(destination)/\(name)", with: [bytes])
        }
        return destination
    }

    /// The folder in which an archiving of this journal was cut short; nil if there is none.
    ///
    /// It names the journal, and the same end of it, and has nothing yet of what is still here. A whole archive of the same journal,
    /// as a salvage without a loss leaves it, has.
    private func begunArchive(of names: [String]) throws(JournalError) -> String? {
        guard let identity = try FileSystem.bytes(of: file(Self.identity)) else { return nil }
        let head = try FileSystem.bytes(of: file(Self.head))
        let rest = names.filter { $0 != Self.identity && $0 != Self.head }
        for name in try FileSystem.names(in: file("archive")) {
            let folder = file("archive/\(name)")
            guard FileSystem.exists("\(folder)/\(Self.identity)"), !rest.contains(where: { FileSystem.exists("\(folder)/\($0)") }),
                try FileSystem.bytes(of: "\(folder)/\(Self.identity)") == identity
            else { continue }
            let end = try FileSystem.bytes(of: "\(folder)/\(Self.head)")
            if head == nil || head == end { return folder }
        }
        return nil
    }

    private func makeArchiveFolder() throws(JournalError) -> String {
        try FileSystem.makeFolder(file("archive"))
        let time = FileSystem.timestamp()
        var destination = file("archive/\(time)")
        var number = 1
        while try !FileSystem.makeFolder(destination) {
            number += 1
            destination = file("archive/\(time)-\(number)")
        }
        return destination
    }
}

extension DataFolder {
    /// Whether the folder has a journal, or has had one that is lost.
    public var hasJournal: Bool { FileSystem.exists(file(Self.database)) || FileSystem.exists(file(Self.identity)) }

    /// Where the journal of its store is, for a person; nil if it is in the folder.
    public func journalElsewhere() throws(JournalError) -> String? { try Self.journalElsewhere(than: path) }

    /// The same of a folder that need not be there.
    public static func journalElsewhere(than folder: String) throws(JournalError) -> String? {
        try FileSystem.contents(of: "\(folder)/\(elsewhere)").map { String($0.prefix { $0 != "\n" }) }
    }

    /// Moves a journal that goes on elsewhere into the archive. If it is cut short, the folder says already where the journal is.
    public func archiveMoved(to place: String) throws(JournalError) {
        try note(journalAt: place)
        _ = try archive(Self.content + [Self.identity, Self.marker])
    }

    /// Writes down that the journal of its store is elsewhere, so that no other one is begun here.
    public func note(journalAt place: String) throws(JournalError) {
        guard try journalElsewhere() != place else { return }
        beginWriting()
        try FileSystem.replace(file(Self.elsewhere), with: place + "\n")
    }
}
