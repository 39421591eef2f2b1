import Journal
import SamovarCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The file `head`: two slots, each a sector of its own, written in turn, so that a torn write leaves the one before.
///
/// A commit writes it after its own sync and does not sync it. What is in the file is durable in the journal already, so it may
/// be behind but never ahead; the death of the process loses nothing of it, and after that of the machine it tells of the turns
/// up to some seconds before. So it detects a journal that lost its end while the machine stayed up.
final class HeadFile {
    private static let slotSize = 512

    private let path: String
    private let descriptor: CInt
    private var nextSlot: Int

    /// Opens the file for writing, or makes it.
    init(at path: String) throws(JournalError) {
        let found = try Self.read(path)
        // A link might lead to a file that must not be written.
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(path) cannot be opened.") }
        self.path = path
        nextSlot = found.map { 1 - $0.newest } ?? 0
    }

    deinit {
        close(descriptor)
    }

    /// What the file says.
    enum Reading: Equatable {
        case missing
        /// There is a file, and neither of its slots can be read.
        case unreadable
        /// - Parameter isTorn: the other slot cannot be read, so it may have held a later one.
        case witness(HighWaterMark, isTorn: Bool)
    }

    static func reading(_ path: String) throws(JournalError) -> Reading {
        if let found = try read(path) { return .witness(found.witness, isTorn: found.isTorn) }
        return FileSystem.exists(path) ? .unreadable : .missing
    }

    private static func read(_ path: String) throws(JournalError) -> (witness: HighWaterMark, newest: Int, isTorn: Bool)? {
        guard let bytes = try FileSystem.bytes(of: path, limit: 2 * slotSize) else { return nil }
        let slots = [HighWaterMark(Array(bytes.prefix(HighWaterMark.size))), HighWaterMark(Array(bytes.dropFirst(slotSize)))]
        switch (slots[0], slots[1]) {
        case (let a?, let b?): return a.turn > b.turn ? (a, 0, false) : (b, 1, false)
        case (let a?, nil): return (a, 0, bytes.dropFirst(slotSize).contains { $0 != 0 })
        case (nil, let b?): return (b, 1, bytes.prefix(slotSize).contains { $0 != 0 })
        case (nil, nil): return nil
        }
    }

    /// - Throws: `inputOutput`. A full disk is no error here: the witness of an earlier turn is true as well.
    func write(_ witness: HighWaterMark) throws(JournalError) {
        let bytes = witness.bytes
        guard pwrite(descriptor, bytes, bytes.count, off_t(nextSlot * Self.slotSize)) == bytes.count else {
            let error = JournalError(errno: errno, "\(path) cannot be written.")
            if error.code == .full { return }
            throw error
        }
        nextSlot = 1 - nextSlot
    }

    /// At the end of a store in order there is time to make it durable.
    func synchronize() throws(JournalError) {
        guard writeThrough(descriptor) == 0 else { throw JournalError(errno: errno, "\(path) cannot be made durable.") }
    }
}

extension HeadFile {
    func write(_ end: BatchChain, of journal: UniqueID) throws(JournalError) {
        guard end.last > 0 else { return }
        try write(HighWaterMark(journal: journal, turn: end.last, digest: end.digest))
    }
}
