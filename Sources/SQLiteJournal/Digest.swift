import Crypto
import Journal

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

    static func of(_ snapshot: Snapshot) -> [UInt8] {
        var hasher = SHA256()
        hasher.update(snapshot.turn)
        hasher.update(snapshot.bytes)
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
}
