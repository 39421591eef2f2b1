package import SamovarCore
import Synchronization

/// A witness of how far a journal has come, beside it: three words in the page of the file `marker`, which the host has mapped into memory
/// for another purpose.
///
/// It costs a store to memory for each batch and no system call. It tells of what is durable already: it is complete after the death of the
/// process, and behind after that of the machine.
///
/// The turn shares its word with a checksum, so that a process that dies at any instant leaves the old one or the new one.
///
/// `@unchecked Sendable`, because all that it points to is written under the lock of its journal; the page has to outlive it.
package struct MarkedEnd: @unchecked Sendable {
    /// Where the words are in the page, in bytes.
    package static let offset = 4_096 - 6 * 8
    package static let byteCount = 3 * 8

    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    private let journal: UniqueID

    /// - Parameters:
    ///   - page: of at least ``offset`` + ``byteCount`` bytes; it has to outlive this. Nil makes none.
    ///   - turn: where the journal ends.
    package init?(_ page: UnsafeMutableRawPointer?, of journal: UniqueID, at turn: Int) {
        guard let page else { return nil }
        words = (page + Self.offset).bindMemory(to: Atomic<UInt64>.self, capacity: 3)
        self.journal = journal
        // What it said of another journal shall not be taken for this one's.
        store(0, at: 2)
        store(journal.high, at: 0)
        store(journal.low, at: 1)
        write(turn)
    }

    package func write(_ turn: Int) {
        store(Self.word(turn, of: journal), at: 2)
    }

    private func store(_ word: UInt64, at place: Int) {
        words[place].store(word, ordering: .sequentiallyConsistent)
    }

    private static func word(_ turn: Int, of journal: UniqueID) -> UInt64 {
        let turn = UInt64(truncatingIfNeeded: turn) & (1 << 48 - 1)
        let hash = (turn ^ journal.high ^ journal.low) &* 0x9e37_79b9_7f4a_7c15
        return turn << 16 | hash >> 48
    }
}

extension MarkedEnd {
    /// What a page says.
    package enum Reading: Equatable {
        /// There is none, or no process has made calls yet.
        case nothing
        /// A store has served here, and no more is known.
        case used
        case end(journal: UniqueID, turn: Int)
    }

    /// - Parameter bytes: of the page; fewer if its file was cut off.
    package static func reading(_ bytes: UnsafeRawBufferPointer) -> Reading {
        // In the machine's own byte order, as the whole page is.
        let words = stride(from: offset, to: bytes.count - 7, by: 8).prefix(3).map { place in
            bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self)
        }
        if words.count == 3 {
            let turn = Int(words[2] >> 16)
            let journal = UniqueID(high: words[0], low: words[1])
            if turn > 0, word(turn, of: journal) == words[2] { return .end(journal: journal, turn: turn) }
        }
        return bytes.allSatisfy { $0 == 0 } ? .nothing : .used
    }
}
