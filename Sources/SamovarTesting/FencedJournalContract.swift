public import Journal

/// What a journal promises that several processes reach, beside ``JournalContract``.
///
/// ```swift
/// let contract = FencedJournalContract(make: { try make() }, takeOver: { try open($0, .takeover) })
/// try contract.verify(.fence)
/// ```
public struct FencedJournalContract {
    /// Makes an empty journal.
    let make: () throws -> any FencedJournal
    /// Opens the same journal as another process would that does not wait for this one.
    let takeOver: (any FencedJournal) throws -> any FencedJournal

    /// - Parameters:
    ///   - make: Makes an empty journal. It is called once for each rule.
    ///   - takeOver: Opens the same journal a second time, to take it over.
    public init(
        make: @escaping () throws -> any FencedJournal, takeOver: @escaping (any FencedJournal) throws -> any FencedJournal
    ) {
        self.make = make
        self.takeOver = takeOver
    }

    /// A promise; its raw value says it in words.
    public enum Rule: String, CaseIterable, Sendable, CustomStringConvertible {
        case epoch = "the epoch rises when the journal is taken, and only then"
        case fence = "who had the journal before writes nothing any more, and is told so"
        case end = "who takes the journal goes on from its end"
        case moved = "who has seen an earlier end does not take the journal"
        case beyond = "the epoch rises beyond what was asked for"
        case following = "who has not taken the journal reads on what others write, and takes it then"
        case late = "who was fenced stays fenced, whatever it tries"
        case reading = "who was fenced still reads what was written"

        /// The rule in words.
        public var description: String { rawValue }
    }

    /// Checks one rule with a new journal.
    ///
    /// - Throws: A ``FencedContractViolation`` that names the rule.
    public func verify(_ rule: Rule) throws {
        if let reason = breach({ try check(rule) }) { throw FencedContractViolation(rule: rule, reason: reason) }
    }

    private func check(_ rule: Rule) throws {
        switch rule {
        case .epoch: try checkEpoch()
        case .fence: try checkFence()
        case .end: try checkEnd()
        case .moved: try checkMoved()
        case .beyond: try checkBeyond()
        case .following: try checkFollowing()
        case .late: try checkLate()
        case .reading: try checkReading()
        }
    }

    private func checkEpoch() throws {
        var former = try make()
        let before = former.epoch
        _ = try former.beginWriting(beyond: 0)
        try requireEqual(former.epoch, before + 1, "the epoch when it is taken")
        _ = try former.beginWriting(beyond: 0)
        try former.append(Batch(first: 1, last: 1, bytes: [1]))
        try requireEqual(former.epoch, before + 1, "the epoch after an append")
        var latter = try takeOver(former)
        try requireEqual(latter.epoch, before + 1, "the epoch before it is taken over")
        _ = try latter.beginWriting(beyond: 0)
        try requireEqual(latter.epoch, before + 2, "the epoch when it is taken over")
    }

    private func checkFence() throws {
        for write in Self.writes {
            var former = try make()
            try former.append(Batch(first: 1, last: 3, bytes: [1]))
            var latter = try takeOver(former)
            _ = try latter.beginWriting(beyond: 0)
            try requireError(.fenced, write.what) { try write.body(&former) }
            try requireEqual(former.last, 3, "last of who was fenced")
            try latter.append(Batch(first: 4, last: 4, bytes: [2]))
            try requireEqual(latter.batches().map(\.last), [3, 4], "the batches")
            try requireEqual(latter.fact("seed"), nil, "the fact")
        }
    }

    private func checkEnd() throws {
        var former = try make()
        try former.append(Batch(first: 1, last: 7, bytes: [1]))
        try former.record([3], as: "seed")
        var latter = try takeOver(former)
        try requireEqual(latter.last, 7, "last")
        try latter.append(Batch(first: 8, last: 9, bytes: [2]))
        try requireEqual(latter.batches().map(\.first), [1, 8], "the batches")
        try requireEqual(latter.fact("seed"), [3], "the fact")
    }

    private func checkMoved() throws {
        var former = try make()
        try former.append(Batch(first: 1, last: 1, bytes: [1]))
        var latter = try takeOver(former)
        try former.append(Batch(first: 2, last: 2, bytes: [2]))
        try requireError(.busy, "taking a journal that has grown") { _ = try latter.beginWriting(beyond: 0) }
        try former.append(Batch(first: 3, last: 3, bytes: [3]))
        try requireEqual(former.batches().map(\.last), [1, 2, 3], "the batches")
    }

    private func checkBeyond() throws {
        var former = try make()
        let before = former.epoch
        try requireEqual(try former.beginWriting(beyond: before + 6), before + 7, "the epoch")
        var latter = try takeOver(former)
        try requireEqual(try latter.beginWriting(beyond: before + 3), before + 8, "the epoch of who comes next")
    }

    private func checkFollowing() throws {
        var former = try make()
        try former.append(Batch(first: 1, last: 1, bytes: [1]))
        var latter = try takeOver(former)
        try former.append(Batch(first: 2, last: 4, bytes: [2]))
        try requireEqual(latter.batches().map(\.last), [1], "the batches before")
        try latter.refresh()
        try requireEqual(latter.last, 4, "last")
        try requireEqual(latter.batches().map(\.last), [1, 4], "the batches")
        _ = try latter.beginWriting(beyond: 0)
        try requireError(.fenced, "append") { try former.append(Batch(first: 5, last: 5, bytes: [3])) }
        try latter.append(Batch(first: 5, last: 5, bytes: [4]))
        try requireError(.misuse, "refreshing what was taken") { try latter.refresh() }
    }

    private func checkLate() throws {
        var former = try make()
        try former.append(Batch(first: 1, last: 1, bytes: [1]))
        var latter = try takeOver(former)
        try latter.append(Batch(first: 2, last: 2, bytes: [2]))
        for _ in 1...2 {
            for write in Self.writes { try requireError(.fenced, write.what) { try write.body(&former) } }
            try requireError(.fenced, "taking it again") { _ = try former.beginWriting(beyond: 0) }
        }
        try latter.append(Batch(first: 3, last: 3, bytes: [3]))
        try requireEqual(latter.batches().map(\.last), [1, 2, 3], "the batches")
    }

    private func checkReading() throws {
        var former = try make()
        try former.append(Batch(first: 1, last: 2, bytes: [1]))
        var latter = try takeOver(former)
        try latter.append(Batch(first: 3, last: 3, bytes: [2]))
        try requireError(.fenced, "append") { try former.append(Batch(first: 3, last: 3, bytes: [9])) }
        try requireEqual(former.batches().map(\.last), [2], "the batches that it knows of")
    }

    private static let writes: [(what: String, body: @Sendable (inout any FencedJournal) throws -> Void)] = [
        ("append", { try $0.append(Batch(first: $0.last + 1, last: $0.last + 1, bytes: [9])) }),
        ("record", { try $0.record([9], as: "seed") }),
        ("save", { try $0.save(Snapshot(turn: $0.last, bytes: [9])) }),
    ]
}

/// A rule of a contract that an implementation breaks.
public struct FencedContractViolation: Error, CustomStringConvertible {
    /// Which rule it is.
    public let rule: FencedJournalContract.Rule
    /// What was seen.
    public let reason: String

    /// Rule and finding in a sentence.
    public var description: String { "The journal breaks the rule “\(rule)”: \(reason)" }
}
