public import Journal

/// Putting another journal in the place of the one in a folder, after a salvage or an import: the old one goes to the archive,
/// nothing is deleted, and at no instant is the folder one that a store would begin anew in.
extension DataFolder {
    /// Where the new journal has to be, complete.
    public var replacement: String { file("replacement") }

    /// Whether one waits to be installed, as it does when its installation was cut short.
    public var hasReplacement: Bool { FileSystem.exists(replacement) }

    /// Whether a path is one in a data folder, also by a link, and whether or not something is there.
    package static func isIn(_ folder: String, _ path: String) -> Bool {
        var above = path
        // Each step up has a shorter path, so this ends.
        while !FileSystem.exists(above), FileSystem.parent(of: above) != above {
            // Where it leads nobody knows before the folder in front of it is made.
            if above.hasSuffix("/..") { return true }
            above = FileSystem.parent(of: above)
        }
        let (place, home) = (FileSystem.resolved(above), FileSystem.resolved(folder))
        return place == home || place.hasPrefix(home + "/")
    }

    func requireNoReplacement() throws(JournalError) {
        guard hasReplacement else { return }
        throw JournalError(
            .damaged,
            "The journal of \(path) was about to be replaced by \(replacement): run `journal salvage` or `journal import` again, which ends it."
        )
    }

    /// Archives the journal and moves the new one in its place. It may be cut short anywhere and called again.
    ///
    /// The identity changes last. Until then the folder is refused, because its database is gone, or is not the one that
    /// `journal.id` names.
    ///
    /// - Returns: The folder of the archive; nil if there was no journal.
    public func installReplacement() throws(JournalError) -> String? {
        try requireOpen()
        beginWriting()
        // As long as the replacement is there, no other journal is begun.
        try FileSystem.remove(file(Self.elsewhere))
        var archive: String?
        // As long as the new database has not moved, what is in the folder is old.
        if FileSystem.exists("\(replacement)/\(Self.database)") {
            archive = try self.archive(Self.content)
        }
        for name in Self.content + [Self.identity] where FileSystem.exists("\(replacement)/\(name)") {
            try FileSystem.move("\(replacement)/\(name)", to: file(name))
            try FileSystem.synchronizeFolder(path)
        }
        // Whoever has opened the draft has left a lock in it.
        try FileSystem.remove("\(replacement)/lock")
        try FileSystem.removeFolder(replacement)
        return archive
    }
}
