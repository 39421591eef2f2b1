import Journal

/// What a journal promises when its oldest batches are removed.
extension JournalContract {
    func checkTrimming() throws {
        var journal = try makeFilled()
        try journal.save(Snapshot(turn: 43, bytes: [1]))
        // 43 is inside of a batch, which stays.
        try trimAll(&journal, through: 43)
        for _ in 1...2 {
            try requireEqual(journal.first, 42, "first")
            try requireEqual(journal.last, 60, "last")
            try requireEqual(journal.batches(from: 42).map(\.first), [42, 45], "the batches")
            try requireEqual(journal.batches(from: 44).map(\.first), [42, 45], "the batches from the middle")
            for turn in [41, 1, 0, .min] {
                try requireError(.missing, "reading from turn \(turn)") { try journal.read(from: turn) { _ in } }
            }
            try requireEqual(journal.snapshots(), [43], "the snapshots")
            journal = try reopen(journal)
        }
        try journal.append(Batch(first: 61, last: 61, bytes: [9]))
        try trimAll(&journal, through: 5)
        try requireEqual(journal.batches(from: 42).map(\.first), [42, 45, 61], "the batches later")
    }

    func checkTrimmedAway() throws {
        var journal = try makeFilled()
        try journal.save(Snapshot(turn: 60, bytes: [1]))
        try trimAll(&journal, through: 60)
        for _ in 1...2 {
            try requireEqual(journal.first, 61, "first")
            try requireEqual(journal.last, 60, "last")
            try requireEqual(journal.batches(from: 61), [], "the batches")
            try requireError(.misuse, "appending turn 1 again") { try journal.append(Batch(first: 1, last: 1, bytes: [])) }
            journal = try reopen(journal)
        }
        try journal.append(Batch(first: 61, last: 62, bytes: [9]))
        journal = try reopen(journal)
        try requireEqual(journal.batches(from: 61), [Batch(first: 61, last: 62, bytes: [9])], "the batches later")
    }

    func checkNeeded() throws {
        var journal = try makeFilled()
        try requireError(.misuse, "trimming without a snapshot") { _ = try journal.trim(through: 1) }
        try journal.save(Snapshot(turn: 40, bytes: [1]))
        for turn in [41, 60, 61, Int.max] {
            try requireError(.misuse, "trimming through \(turn) behind a snapshot of 40") { _ = try journal.trim(through: turn) }
        }
        try requireEqual(journal.first, 1, "first")
        try requireEqual(journal.batches().count, Self.batches.count, "the number of batches")
    }

    private func trimAll(_ journal: inout any Journal, through turn: Int) throws {
        var steps = 0
        while try journal.trim(through: turn) {
            steps += 1
            try require(steps < 1_000, "trimming has no end")
        }
    }
}
