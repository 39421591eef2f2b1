import Foundation
import Journal
import JournalChain
import Synchronization

/// A damaged journal as it can still be read: the database, and beside it the sound frames of its log, in a folder of their own
/// that is removed at the end.
///
/// A page that is written again and again stands in the log many times, and only its newest frame counts. So most damage to a log
/// has hit what nobody needs any more, if only SQLite read on. Whether it has is told by the digests of the batches, and not here.
final class MendedLog: Sendable {
    /// What is kept of the log.
    enum Frames {
        case sound
        /// Nothing: it is not the log of the database as it is.
        case none
    }

    private let folder: String
    private let isRemoved = Atomic(false)
    /// What is wrong with the log.
    let finding: JournalError

    var database: String { "\(folder)/\(DataFolder.database)" }

    init(_ log: WriteAheadLog, _ frames: Frames, of database: String, in folder: DataFolder) throws(JournalError) {
        self.folder = folder.file("examination")
        finding =
            frames == .sound
            ? log.problem
            : JournalError(.damaged, "\(log.path) is not the log of the database as it is, and is left out.")
        try clear()
        try FileSystem.makeFolder(self.folder)
        if link(database, self.database) != 0 { try FileSystem.copy(database, to: self.database) }
        if frames == .sound { try log.writeSoundFrames(to: self.database + SQLiteConnection.logSuffix) }
    }

    /// Once: afterwards the folder is another's.
    func remove() throws(JournalError) {
        if !isRemoved.exchange(true, ordering: .sequentiallyConsistent) { try clear() }
    }

    private func clear() throws(JournalError) {
        for suffix in ["", SQLiteConnection.logSuffix, "-journal"] { try FileSystem.remove(database + suffix) }
        try FileSystem.removeFolder(folder)
    }

    deinit {
        // The next one removes what is left.
        try? remove()
    }
}

extension WriteAheadLog {
    var problem: JournalError {
        JournalError(
            .damaged,
            "\(path) is damaged at byte \(damage.grouped), and SQLite does not read what was committed behind it.")
    }

    /// Writes a log of the sound frames alone.
    fileprivate func writeSoundFrames(to copy: String) throws(JournalError) {
        try FileSystem.rewrite(path, to: copy) { (source, write) throws(JournalError) in
            let words: [UInt32] = [isBigEndian ? 0x377f_0683 : 0x377f_0682, 3_007_000, UInt32(pageSize), 0]
            var header = words.flatMap(\.bytes) + salts
            var sum = LogSum().adding(header[...], isBigEndian: isBigEndian)
            header += sum.bytes
            try write(header, 0)
            var place = Self.headerSize
            for frame in soundFrames {
                var bytes = try FileSystem.bytes(from: frame.offset, count: Self.frameHeaderSize + pageSize, of: source, at: path)
                sum = sum.adding(bytes[0..<8], isBigEndian: isBigEndian)
                    .adding(bytes[Self.frameHeaderSize...], isBigEndian: isBigEndian)
                bytes.replaceSubrange(8..<Self.frameHeaderSize, with: salts + sum.bytes)
                try write(bytes, place)
                place += bytes.count
            }
        }
    }
}
