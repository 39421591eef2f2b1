import Foundation
import Journal
import JournalChain
import SamovarCore

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
        let found = try Self.reading(path)
        // A link might lead to a file that must not be written.
        descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw JournalError(errno: errno, "\(path) cannot be opened.") }
        self.path = path
        if case .witness(_, let slot, _) = found { nextSlot = 1 - slot } else { nextSlot = 0 }
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
        case witness(HighWaterMark, slot: Int, isTorn: Bool)
    }

    static func reading(_ path: String) throws(JournalError) -> Reading {
        guard let bytes = try FileSystem.bytes(of: path, limit: 2 * slotSize) else { return .missing }
        let (first, second) = (bytes.prefix(slotSize), bytes.dropFirst(slotSize))
        switch (HighWaterMark(Array(first)), HighWaterMark(Array(second))) {
        case (let a?, let b?):
            return a.end.last > b.end.last ? .witness(a, slot: 0, isTorn: false) : .witness(b, slot: 1, isTorn: false)
        case (let a?, nil): return .witness(a, slot: 0, isTorn: second.contains { $0 != 0 })
        case (nil, let b?): return .witness(b, slot: 1, isTorn: first.contains { $0 != 0 })
        case (nil, nil): return .unreadable
        }
    }

    /// - Throws: `inputOutput`. A full disk is no error here: the witness of an earlier turn is true as well.
    func write(_ end: BatchChain, of journal: UniqueID) throws(JournalError) {
        guard end.last > 0 else { return }
        let bytes = HighWaterMark(journal: journal, end: end).bytes
        guard writeAll(bytes, at: nextSlot * Self.slotSize, of: descriptor) == 0 else {
            let error = JournalError(errno: errno, "\(path) cannot be written.")
            if error.code == .full { return }
            throw error
        }
        nextSlot = 1 - nextSlot
    }

    /// At the end of a store in order there is time to make it durable.
    func synchronize() throws(JournalError) {
        try FileSystem.makeDurable(descriptor, path)
    }
}
