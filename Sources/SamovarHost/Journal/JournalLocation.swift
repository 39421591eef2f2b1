internal import Foundation
package import Journal
public import JournalChain
import SQLiteJournal
package import SamovarCore

/// Where the journal of a store is: in its data folder, or at a place that several stores reach.
///
/// The data folder belongs to one machine in either case, with the store's sockets and what it knows of its last process.
public struct JournalLocation: Sendable, CustomStringConvertible {
    /// Of the store.
    public let dataFolder: String
    let place: (any FencedJournalPlace)?
    /// Who is asked for the journal in the folder while it is in use; nil for nobody.
    private var store: StoreAccess?

    /// The journal in this folder.
    public init(dataFolder: String) {
        self.dataFolder = dataFolder
        place = nil
    }

    /// A journal that is elsewhere.
    ///
    /// - Parameters:
    ///   - address: such as `postgresql://db.example/shop`.
    ///   - kinds: that the program has.
    /// - Throws: `StoreError` for an address of no such kind, or that is none.
    public init(_ address: String, dataFolder: String, kinds: [JournalKind]) throws(StoreError) {
        let scheme = String(address.prefix { $0 != ":" })
        guard let kind = kinds.first(where: { $0.schemes.contains(scheme) }) else {
            let known = kinds.flatMap(\.schemes).map { "\($0)://" }
            // Of what is no address nothing is repeated: it may be a secret that was meant for elsewhere.
            throw StoreError(
                .configuration,
                known.isEmpty
                    ? "this program keeps its journal in its data folder only: `static var journals` of its app names other kinds"
                    : "the address of a journal begins with \(known.joined(separator: " or "))")
        }
        self.dataFolder = dataFolder
        do throws(JournalError) {
            place = try kind.place(address)
        } catch {
            throw StoreError(.configuration, "\(error)")
        }
    }

    /// The same place, whose journal is read by asking the store while one has the folder.
    public func asking(_ store: StoreAccess) -> JournalLocation {
        var location = self
        location.store = store
        return location
    }

    /// Whether it is the same journal, as far as names tell.
    package func isSame(as other: JournalLocation) -> Bool {
        if let place, let other = other.place { return place.isNamed(by: "\(other)") }
        guard place == nil, other.place == nil else { return false }
        return Self.resolved(dataFolder) == Self.resolved(other.dataFolder)
    }

    /// Whether the journal is to be in a folder that is not there.
    var hasNoFolder: Bool { place == nil && !FileManager.default.fileExists(atPath: dataFolder) }

    /// What is to be said of a data folder whose files others may replace; nil if nobody may, or it is not there. Its files are private.
    var exposure: String? {
        var status = stat()
        guard stat(dataFolder, &status) == 0, status.st_mode & 0o022 != 0 else { return nil }
        let mode = String(status.st_mode & 0o7777, radix: 8)
        return "the data folder \(dataFolder) may be changed by others (mode \(mode)): protect it with chmod 700"
    }

    /// What a journal that has gone there says of it. A folder has its whole path, for whoever reads it may work in another one.
    var fullName: String { place.map { "\($0)" } ?? Self.absolute(dataFolder) }

    /// Whether a journal that says so has gone there. A path that is not whole, as earlier builds wrote it, names what is given in the
    /// same words.
    func isNamed(by name: String) -> Bool {
        if let place { return place.isNamed(by: name) }
        return name == dataFolder || name.hasPrefix("/") && Self.resolved(name) == Self.resolved(dataFolder)
    }

    private static func absolute(_ path: String) -> String {
        let whole = path.hasPrefix("/") ? path : "\(FileManager.default.currentDirectoryPath)/\(path)"
        return URL(fileURLWithPath: whole).standardizedFileURL.path
    }

    private static func resolved(_ path: String) -> String {
        URL(fileURLWithPath: absolute(path)).resolvingSymlinksInPath().path
    }

    /// For a person.
    public var description: String { place.map { "\($0)" } ?? dataFolder }

    /// Opens the journal to read it, waiting for the lock of its folder. A place is read while a store has it.
    ///
    /// - Parameter examining: opens also what is damaged.
    package func open(examining: Bool = false, wait: Duration = .seconds(5)) throws(JournalError) -> any StoredJournal {
        let access = examining ? JournalAccess.examination : .readOnly
        if let place { return try place.open(access) }
        if let elsewhere = try DataFolder.journalElsewhere(than: dataFolder) {
            throw JournalError(.missing, "The journal of \(dataFolder) is at \(elsewhere): name it with --journal.")
        }
        return try SQLiteJournal(at: dataFolder, access: access, wait: wait, waiting: sayOnStandardError)
    }

    /// Opens the journal to read it, also that of a running store.
    ///
    /// - Parameters:
    ///   - examining: opens also what is damaged.
    ///   - wait: for the lock of the folder, if it is no store that has it.
    func openBesideStore(examining: Bool = false, wait: Duration = .seconds(5)) throws(JournalError) -> any StoredJournal {
        guard let store, place == nil else { return try open(examining: examining, wait: wait) }
        do throws(JournalError) {
            return try open(examining: examining, wait: .zero)
        } catch {
            guard error.code == .busy else { throw error }
            if let served = try ServedJournal(of: store, in: dataFolder, patience: .seconds(2)) { return served }
            return try open(examining: examining, wait: wait)
        }
    }

    /// Opens the journal of a store whose data folder is locked.
    func open(in folder: DataFolder) throws(StoreError) -> any StoredJournal {
        try requireOwn(folder)
        return try StoreError.replacing { () throws(JournalError) in
            guard let place else { return try SQLiteJournal(in: folder) }
            let journal = try place.open(.readWrite)
            try folder.note(journalAt: description)
            return journal
        }
    }

    /// A data folder has one journal: in it, or elsewhere.
    private func requireOwn(_ folder: DataFolder) throws(StoreError) {
        let elsewhere = try StoreError.replacing { () throws(JournalError) in try folder.journalElsewhere() }
        if place != nil, folder.hasJournal {
            guard let elsewhere else {
                throw StoreError(
                    .configuration,
                    "\(dataFolder) has a journal of its own: move it with `journal import --move`, or name another folder with --data"
                )
            }
            // It was moved there, and its archiving was cut short.
            try StoreError.replacing { () throws(JournalError) in try folder.archiveMoved(to: elsewhere) }
        }
        if place == nil, let elsewhere {
            throw StoreError(
                .configuration,
                "the journal of \(dataFolder) is at \(elsewhere): name it with --journal, or another folder with --data")
        }
    }

    /// Archives the journal of a store whose data folder is locked.
    ///
    /// - Returns: where it is; nil if there was none.
    func archive(_ folder: DataFolder) throws(JournalError) -> String? {
        if let place { try place.archive() } else { try folder.archive() }
    }

    /// Opens the journal of a store that does not run, to write it.
    func openToWrite() throws(StoreError) -> any StoredJournal {
        try StoreError.replacing { () throws(JournalError) in
            guard let place else { return try SQLiteJournal(at: dataFolder, waiting: sayOnStandardError) }
            try place.requireIdle()
            return try place.open(.readWrite)
        }
    }

    /// Leaves a data folder whose journal has gone to another place to the store that has it there.
    func leave(for target: JournalLocation) throws(JournalError) {
        guard place == nil, target.place != nil else { return }
        let folder = try DataFolder(at: dataFolder, creating: false, waiting: sayOnStandardError)
        defer { folder.close() }
        try folder.archiveMoved(to: target.description)
    }

    /// Waits until no store has the data folder.
    ///
    /// - Throws: `StoreError` if one has it for 5 s.
    public func waitForFolder() async throws {
        try await onJournalThread { try DataFolder(at: dataFolder, creating: false, waiting: sayOnStandardError).close() }
    }

    /// Keeps the journal of another program from being archived by a mistake. One that cannot be read may be anybody's.
    ///
    /// - Throws: `StoreError` if it is another program's.
    package func requireNoOther(than schema: Schema) async throws {
        try await onJournalThread {
            let author: String?
            do throws(StoreError) {
                let opened = try OpenedJournal(reading: self)
                defer { opened.close() }
                author = try opened.author()
            } catch {
                // What else keeps it from being read is why a new one is begun, or is told by what comes next.
                guard error.code != .busy else { throw error }
                return
            }
            guard let author, !author.hasPrefix("\(schema.name) version ") else { return }
            throw StoreError(
                .configuration,
                "\(self) holds the journal of \(author), which is another program: name another folder with --data, or move it away"
            )
        }
    }

    /// What people are told of an archive.
    package static func words(forArchive place: String) -> String {
        "archived the old timeline in \(place); `journal import` of that, with the store stopped, brings it back as a new one"
    }

    /// Archives the journal, so that the next store begins a new timeline. Nothing is deleted.
    ///
    /// - Returns: where it is; nil if there was none.
    /// - Throws: `StoreError`, also if a store has the data folder.
    public func archive() async throws -> String? {
        try await onJournalThread {
            let folder = try DataFolder(at: dataFolder, waiting: sayOnStandardError)
            defer { folder.close() }
            return try archive(folder)
        }
    }

    /// Makes an empty journal at a place, which a data folder needs not.
    ///
    /// - Parameter role: gets what a store needs there, and no more; nil for the role that makes it.
    /// - Returns: false if there is a journal already, which stays as it is.
    /// - Throws: `StoreError`.
    public func create(for role: String? = nil) async throws -> Bool {
        try await onJournalThread {
            guard let place else {
                throw StoreError(.configuration, "a data folder needs no `journal init`: name a place with --journal")
            }
            return try Self.create(at: place, for: role)
        }
    }

    private static func create(at place: any FencedJournalPlace, for role: String?) throws(StoreError) -> Bool {
        do {
            return try place.create(for: role)
        } catch {
            throw error.code == .misuse ? StoreError(.configuration, "\(error)") : StoreError(error)
        }
    }
}
