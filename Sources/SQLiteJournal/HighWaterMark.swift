import Journal
import JournalChain
import SamovarCore

/// How far a journal had come: a witness outside of it, for SQLite ends a damaged write-ahead log in silence at the first bad
/// frame, and an older copy of the file looks as sound as the newest.
struct HighWaterMark: Equatable, Sendable {
    let journal: UniqueID
    /// The last durable turn, and the digest of the batch that ends with it.
    let end: BatchChain

    /// What the bytes of a slot begin with.
    private static let mark = Array("SAMVHEAD".utf8)
    private static let digestSize = Digest.origin.count
    static let size = mark.count + 16 + 8 + 2 * digestSize

    /// With a checksum at the end, because a write may be torn.
    var bytes: [UInt8] {
        let content = Self.mark + journal.bytes + Int64(end.last).bytes + end.digest
        return content + Digest.of(content)
    }
}

extension HighWaterMark {
    /// Nil if these are not the bytes of a witness.
    init?(_ bytes: [UInt8]) {
        var reader = FixedReader(bytes)
        guard reader.bytes(Self.mark.count) == Self.mark, let journal = reader.id(), let turn = reader.number(),
            let digest = reader.bytes(Self.digestSize), let checksum = reader.bytes(Self.digestSize), turn > 0,
            Digest.of(Array(bytes.prefix(Self.size - Self.digestSize))) == checksum
        else { return nil }
        self.init(journal: journal, end: BatchChain(last: turn, digest: digest))
    }
}
