import Crypto
import Journal
import SamovarCore

/// SHA-256 over what is stored. Each batch's digest covers the digest before it, so that no batch can be altered, taken
/// out, put in or exchanged without the chain showing it.
enum Digest {
    /// What the first batch of a journal is chained to.
    static let origin = [UInt8](repeating: 0, count: SHA256.byteCount)

    static func of(_ batch: Batch, after previous: [UInt8]) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(previous)
        hasher.update(batch.first)
        hasher.update(batch.last)
        hasher.update(batch.bytes)
        return Array(hasher.finalize())
    }

    /// A snapshot belongs to one journal, so that one of another cannot stand in for it.
    static func of(_ snapshot: Snapshot, in journal: UniqueID) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(journal)
        hasher.update(snapshot.turn)
        hasher.update(snapshot.bytes)
        return Array(hasher.finalize())
    }

    static func of(_ bytes: [UInt8]) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(bytes)
        return Array(hasher.finalize())
    }

    /// - Parameter facts: in the order of their names.
    static func of(_ facts: [(name: String, value: [UInt8])]) -> [UInt8] {
        var hasher = SHA256()
        for (name, value) in facts {
            hasher.update(name.utf8.count)
            hasher.update(Array(name.utf8))
            hasher.update(value.count)
            hasher.update(value)
        }
        return Array(hasher.finalize())
    }
}

extension SHA256 {
    fileprivate mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update(bufferPointer: $0) }
    }

    fileprivate mutating func update(_ number: Int) {
        withUnsafeBytes(of: Int64(number).bigEndian) { update(bufferPointer: $0) }
    }

    fileprivate mutating func update(_ id: UniqueID) {
        update(id.bytes)
    }
}
