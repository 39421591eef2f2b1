import Crypto
import Journal
import SamovarCore

/// SHA-256 over what is stored. Each batch's digest covers the digest before it, so that no batch can be altered, taken
/// out, put in or exchanged without the chain showing it.
enum Digest {
    /// What the first batch of a journal is chained to.
    static let origin = [UInt8](repeating: 0, count: SHA256.byteCount)

    static func of(_ batch: Batch, after previous: [UInt8]) -> [UInt8] {
        of([previous, Int64(batch.first).bytes, Int64(batch.last).bytes, batch.bytes])
    }

    /// A snapshot belongs to one journal, so that one of another cannot stand in for it.
    static func of(_ snapshot: Snapshot, in journal: UniqueID) -> [UInt8] {
        of([journal.bytes, Int64(snapshot.turn).bytes, snapshot.bytes])
    }

    /// - Parameter facts: in the order of their names.
    static func of(_ facts: [(name: String, value: [UInt8])]) -> [UInt8] {
        of(facts.flatMap { name, value in [Int64(name.utf8.count).bytes, Array(name.utf8), Int64(value.count).bytes, value] })
    }

    static func of(_ parts: [[UInt8]]) -> [UInt8] {
        var hasher = SHA256()
        for part in parts { part.withUnsafeBytes { hasher.update(bufferPointer: $0) } }
        return Array(hasher.finalize())
    }
}
