package import Journal
import SHA2
package import SamovarCore

/// SHA-256 over what is stored. Each batch's digest covers the digest before it, so that no batch can be altered, taken
/// out, put in or exchanged without the chain showing it.
package enum Digest {
    /// What the first batch of a journal is chained to.
    package static let origin = [UInt8](repeating: 0, count: SHA256.byteCount)

    package static func of(_ batch: Batch, after previous: [UInt8]) -> [UInt8] {
        hash {
            $0.add(previous)
            $0.add(batch.first)
            $0.add(batch.last)
            $0.add(batch.bytes)
        }
    }

    /// A snapshot belongs to one journal, so that one of another cannot stand in for it.
    package static func of(_ snapshot: Snapshot, in journal: UniqueID) -> [UInt8] {
        hash {
            $0.add(journal.bytes)
            $0.add(snapshot.turn)
            $0.add(snapshot.bytes)
        }
    }

    /// - Parameter facts: in the order of their names.
    package static func of(_ facts: [(name: String, value: [UInt8])]) -> [UInt8] {
        hash {
            for (name, value) in facts {
                $0.add(name.utf8.count)
                $0.add(Array(name.utf8))
                $0.add(value.count)
                $0.add(value)
            }
        }
    }

    package static func of(_ bytes: [UInt8]) -> [UInt8] { hash { $0.add(bytes) } }

    private static func hash(_ body: (inout SHA256) -> Void) -> [UInt8] {
        var hasher = SHA256()
        body(&hasher)
        return hasher.finalize()
    }
}

extension SHA256 {
    fileprivate mutating func add(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    fileprivate mutating func add(_ number: Int) {
        withUnsafeBytes(of: Int64(number).bigEndian) { update($0) }
    }
}
