package import Journal

/// A place between two batches: where the one before ends, and what the one after is chained to.
package struct BatchChain: JournalEnd {
    package var last: Int
    package var digest: [UInt8]

    /// The beginning of a journal unless it says otherwise.
    package init(last: Int = 0, digest: [UInt8] = Digest.origin) {
        self.last = last
        self.digest = digest
    }

    /// The place behind the batch that follows here.
    ///
    /// - Throws: ``JournalError/Code/misuse`` if another one would.
    package func behind(_ batch: Batch) throws(JournalError) -> BatchChain {
        try batch.requireFollowing(last)
        return BatchChain(last: batch.last, digest: Digest.of(batch, after: digest))
    }

    /// Moves behind `batch` if it is the one that follows here; otherwise tells why it is not.
    package mutating func advance(over batch: Batch, digest: [UInt8]) -> String? {
        if let problem = problem(ofNext: batch) { return problem }
        guard Digest.of(batch, after: self.digest) == digest else { return "digest differs" }
        last = batch.last
        self.digest = digest
        return nil
    }

    /// Why this one cannot be the next by its numbers; nil if it can.
    package func problem(ofNext batch: Batch) -> String? {
        guard batch.last >= batch.first else { return "it ends before it begins" }
        // In this order: numbers of a damaged file may be any.
        guard batch.first > last else { return "it overlaps the batch before it" }
        guard batch.first - 1 == last else {
            let hole = Batch(first: last + 1, last: batch.first - 1, bytes: [])
            return "a hole in the numbering before it, \(hole.turns) missing"
        }
        return nil
    }

    package var bytes: [UInt8] { Int64(last).bytes + digest }

    /// Nil if these bytes are no place.
    package init?(_ bytes: [UInt8]) {
        var reader = FixedReader(bytes)
        guard let last = reader.number(), last >= 0, let digest = reader.bytes(Digest.origin.count) else { return nil }
        self.init(last: last, digest: digest)
    }
}

/// A batch as it is stored, and what its digest is said to be.
package struct StoredBatch: Sendable {
    package let batch: Batch
    package let digest: [UInt8]

    package init(batch: Batch, digest: [UInt8]) {
        self.batch = batch
        self.digest = digest
    }
}
