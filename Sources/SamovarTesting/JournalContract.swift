public import Journal

/// What every journal promises, as checks that need no test framework.
///
/// ```swift
/// @Test(arguments: JournalContract.Rule.allCases)
/// func keeps(_ rule: JournalContract.Rule) throws {
///     let contract = JournalContract(make: { MemoryJournal() }, reopen: { try #require($0 as? MemoryJournal).reopened() })
///     try contract.verify(rule)
/// }
/// ```
///
/// The suite writes a few hundred kilobytes for each rule. It does not kill processes and does not damage files: what a
/// journal owes then depends on where it lives.
public struct JournalContract {
    /// Makes an empty journal.
    let make: () throws -> any Journal
    /// Closes a journal and opens it again, as the next process would.
    let reopen: (any Journal) throws -> any Journal

    /// - Parameters:
    ///   - make: Makes an empty journal. It is called once for each rule.
    ///   - reopen: Gives the journal up and opens the same one again, as the next process would.
    public init(make: @escaping () throws -> any Journal, reopen: @escaping (any Journal) throws -> any Journal) {
        self.make = make
        self.reopen = reopen
    }

    /// Checks all rules, each with a journal of its own.
    ///
    /// - Throws: A ``ContractViolation`` for the first rule that is broken.
    public static func verify(
        _ make: @escaping () throws -> any Journal, reopen: @escaping (any Journal) throws -> any Journal
    ) throws {
        let contract = JournalContract(make: make, reopen: reopen)
        for rule in Rule.allCases { try contract.verify(rule) }
    }

    /// Checks one rule with a new journal.
    ///
    /// - Throws: A ``ContractViolation`` that names the rule.
    public func verify(_ rule: Rule) throws {
        if let reason = breach({ try check(rule) }) { throw ContractViolation(rule: rule, reason: reason) }
    }

    /// A promise; its raw value says it in words.
    public enum Rule: String, CaseIterable, Sendable, CustomStringConvertible {
        case empty = "a new journal ends at turn 0 and holds nothing"
        case append = "append moves the end to the last turn of the batch"
        case order = "a batch that does not follow the last turn is misuse and changes nothing"
        case roundTrip = "batches are read in order and byte for byte"
        case middle = "reading from a turn begins with the batch that holds it"
        case reentrancy = "the body of a reading may call the journal"
        case bodyError = "an error of the body ends the reading and is passed on"
        case reopening = "everything survives being opened again, and appending goes on"
        case snapshots = "snapshots are listed newest first and read byte for byte"
        case ahead = "a snapshot ahead of the journal is misuse"
        case retention = "the newest three snapshots are kept, and all batches"
        case replacement = "a snapshot replaces the one of the same turn"
        case absence = "a snapshot that is not there is missing, a fact that is not there is nil"
        case facts = "facts keep their last value, and an empty value is a value"
        case trimming = "trimming behind a snapshot removes whole batches, and the rest reads and grows as before"
        case trimmedAway = "a journal of which all was trimmed keeps its end"
        case needed = "nothing is trimmed that no snapshot stands for"
        case closing = "a closed journal refuses every call, and may be closed again"

        /// The rule in words.
        public var description: String { rawValue }
    }
}

/// A rule of a contract that an implementation breaks.
public struct ContractViolation: Error, CustomStringConvertible {
    /// Which rule it is.
    public let rule: JournalContract.Rule
    /// What was seen.
    public let reason: String

    /// Rule and finding in a sentence.
    public var description: String { "The journal breaks the rule “\(rule)”: \(reason)" }
}

struct Broken: Error {
    let reason: String
}

/// What a check finds; nil if nothing.
func breach(_ check: () throws -> Void) -> String? {
    do {
        try check()
        return nil
    } catch let broken as Broken {
        return broken.reason
    } catch {
        return "an unexpected error: \(error)"
    }
}

func require(_ condition: Bool, _ reason: @autoclosure () -> String) throws {
    if !condition { throw Broken(reason: reason()) }
}

func requireEqual<Value: Equatable>(_ found: Value, _ expected: Value, _ subject: String) throws {
    try require(found == expected, "\(subject): \(found) in place of \(expected)")
}

func requireError(_ code: JournalError.Code, _ subject: String, _ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as JournalError {
        return try requireEqual(error.code, code, "the error of \(subject)")
    }
    throw Broken(reason: "\(subject) throws nothing in place of \(code)")
}

extension Journal {
    func batches(from turn: Int = 1) throws -> [Batch] {
        var batches: [Batch] = []
        try read(from: turn) { batches.append($0) }
        return batches
    }
}

extension JournalContract {
    private func check(_ rule: Rule) throws {
        switch rule {
        case .empty: try checkEmpty()
        case .append: try checkAppend()
        case .order: try checkOrder()
        case .roundTrip: try checkRoundTrip()
        case .middle: try checkMiddle()
        case .reentrancy: try checkReentrancy()
        case .bodyError: try checkBodyError()
        case .reopening: try checkReopening()
        case .snapshots: try checkSnapshots()
        case .ahead: try checkAhead()
        case .retention: try checkRetention()
        case .replacement: try checkReplacement()
        case .absence: try checkAbsence()
        case .facts: try checkFacts()
        case .trimming: try checkTrimming()
        case .trimmedAway: try checkTrimmedAway()
        case .needed: try checkNeeded()
        case .closing: try checkClosing()
        }
    }

    private func checkEmpty() throws {
        let journal = try make()
        try requireEqual(journal.last, 0, "last")
        try requireEqual(journal.first, 1, "first")
        try requireEqual(journal.batches(), [], "the batches")
        try requireEqual(journal.snapshots(), [], "the snapshots")
    }

    private func checkAppend() throws {
        var journal = try make()
        for batch in Self.batches {
            try journal.append(batch)
            try requireEqual(journal.last, batch.last, "last")
        }
    }

    private func checkOrder() throws {
        var journal = try make()
        try requireRefused([(0, 0), (0, 3), (2, 2), (-4, -1), (1, 0)], by: &journal)
        try journal.append(Batch(first: 1, last: 5, bytes: [1]))
        try requireRefused([(1, 5), (5, 6), (7, 7), (6, 5), (.min, .max)], by: &journal)
        try requireEqual(journal.batches(), [Batch(first: 1, last: 5, bytes: [1])], "the batches")
        try journal.append(Batch(first: 6, last: 6, bytes: [2]))
        try requireEqual(journal.last, 6, "last")
    }

    private func requireRefused(_ turns: [(Int, Int)], by journal: inout any Journal) throws {
        let last = journal.last
        for (first, final) in turns {
            try requireError(.misuse, "appending \(first) to \(final) after \(last)") {
                try journal.append(Batch(first: first, last: final, bytes: []))
            }
            try requireEqual(journal.last, last, "last after a refusal")
        }
    }

    private func checkRoundTrip() throws {
        let journal = try makeFilled()
        try requireEqual(journal.batches() == Self.batches, true, "the batches are equal")
        try requireEqual(journal.batches(from: .min) == Self.batches, true, "the batches from the least turn are equal")
    }

    private func checkMiddle() throws {
        let journal = try makeFilled()
        for turn in 1...journal.last {
            let expected = Self.batches.filter { $0.last >= turn }
            let found = try journal.batches(from: turn)
            try requireEqual(found.map(\.first), expected.map(\.first), "the batches from turn \(turn)")
        }
        try requireEqual(journal.batches(from: journal.last + 1), [], "the batches behind the end")
        try requireEqual(journal.batches(from: .max), [], "the batches from the greatest turn")
    }

    private func checkReentrancy() throws {
        var journal = try makeFilled()
        try journal.record([7], as: "seed")
        var count = 0
        try journal.read(from: 1) { batch in
            count += 1
            try requireEqual(journal.fact("seed"), [7], "a fact")
            try require(journal.last >= batch.last, "last is before what is read")
        }
        try requireEqual(count, Self.batches.count, "the number of batches")
    }

    private func checkBodyError() throws {
        struct Enough: Error {}
        var journal = try makeFilled()
        var count = 0
        do {
            try journal.read(from: 1) { _ in
                count += 1
                throw Enough()
            }
            throw Broken(reason: "the error is swallowed")
        } catch is Enough {}
        try requireEqual(count, 1, "the number of batches")
        try journal.append(Batch(first: journal.last + 1, last: journal.last + 1, bytes: []))
        try requireEqual(journal.batches().count, Self.batches.count + 1, "the number of batches later")
    }

    private func checkReopening() throws {
        var journal = try make()
        for (index, batch) in Self.batches.enumerated() {
            try journal.append(batch)
            if index == 2 {
                try journal.save(Snapshot(turn: batch.last, bytes: [1, 2, 3]))
                try journal.record([4, 5], as: "timeline")
            }
            journal = try reopen(journal)
            try requireEqual(journal.last, batch.last, "last")
        }
        try requireEqual(journal.batches() == Self.batches, true, "the batches are equal")
        try requireEqual(journal.snapshots(), [Self.batches[2].last], "the snapshots")
        try requireEqual(journal.snapshot(at: Self.batches[2].last).bytes, [1, 2, 3], "the snapshot")
        try requireEqual(journal.fact("timeline"), [4, 5], "the fact")
    }

    private func checkSnapshots() throws {
        var journal = try make()
        try journal.append(Batch(first: 1, last: 10, bytes: []))
        let saved = [
            Snapshot(turn: 0, bytes: []), Snapshot(turn: 4, bytes: Self.noise(200_000, seed: 1)),
            Snapshot(turn: 10, bytes: [0]),
        ]
        for snapshot in saved { try journal.save(snapshot) }
        try requireEqual(journal.snapshots(), [10, 4, 0], "the turns")
        for snapshot in saved {
            try requireEqual(journal.snapshot(at: snapshot.turn) == snapshot, true, "snapshot \(snapshot.turn) is equal")
        }
    }

    private func checkAhead() throws {
        var journal = try make()
        try journal.append(Batch(first: 1, last: 3, bytes: []))
        for turn in [4, .max, -1] {
            try requireError(.misuse, "saving a snapshot of turn \(turn)") {
                try journal.save(Snapshot(turn: turn, bytes: []))
            }
        }
        try requireEqual(journal.snapshots(), [], "the turns")
    }

    private func checkRetention() throws {
        var journal = try make()
        for turn in 1...5 {
            try journal.append(Batch(first: turn, last: turn, bytes: [UInt8(turn)]))
            try journal.save(Snapshot(turn: turn, bytes: [UInt8(turn)]))
        }
        try requireEqual(journal.snapshots(), [5, 4, 3], "the turns")
        try requireEqual(journal.batches().map(\.first), [1, 2, 3, 4, 5], "the batches")
    }

    private func checkReplacement() throws {
        var journal = try make()
        try journal.save(Snapshot(turn: 0, bytes: [1]))
        try journal.save(Snapshot(turn: 0, bytes: [2]))
        try requireEqual(journal.snapshots(), [0], "the turns")
        try requireEqual(journal.snapshot(at: 0).bytes, [2], "the snapshot")
    }

    private func checkAbsence() throws {
        let journal = try make()
        try requireEqual(journal.fact("nothing"), nil, "the fact")
        try requireError(.missing, "reading a snapshot") { _ = try journal.snapshot(at: 1) }
    }

    private func checkFacts() throws {
        var journal = try make()
        try journal.record([1], as: "größe")
        try journal.record([2, 0, 3], as: "größe")
        try journal.record([], as: "empty")
        try requireEqual(journal.fact("größe"), [2, 0, 3], "the replaced fact")
        try requireEqual(journal.fact("empty"), [], "the empty fact")
        try requireEqual(journal.fact("EMPTY"), nil, "a fact of another name")
    }

    private func checkClosing() throws {
        var journal = try make()
        try journal.append(Batch(first: 1, last: 1, bytes: []))
        try journal.close()
        try requireError(.misuse, "append") { try journal.append(Batch(first: 2, last: 2, bytes: [])) }
        try requireError(.misuse, "read") { try journal.read(from: 1) { _ in } }
        try requireError(.misuse, "save") { try journal.save(Snapshot(turn: 1, bytes: [])) }
        try requireError(.misuse, "snapshots") { _ = try journal.snapshots() }
        try requireError(.misuse, "snapshot") { _ = try journal.snapshot(at: 1) }
        try requireError(.misuse, "fact") { _ = try journal.fact("seed") }
        try requireError(.misuse, "record") { try journal.record([], as: "seed") }
        try requireError(.misuse, "trim") { _ = try journal.trim(through: 0) }
        try journal.close()
    }
}

extension JournalContract {
    /// Batches of one turn and of many, without bytes and with more than a page of them.
    static let batches = [
        Batch(first: 1, last: 1, bytes: [1]),
        Batch(first: 2, last: 2, bytes: []),
        Batch(first: 3, last: 40, bytes: noise(100, seed: 2)),
        Batch(first: 41, last: 41, bytes: noise(300_000, seed: 3)),
        Batch(first: 42, last: 44, bytes: noise(8192, seed: 4)),
        Batch(first: 45, last: 60, bytes: [0, 0, 0]),
    ]

    func makeFilled() throws -> any Journal {
        var journal = try make()
        for batch in Self.batches { try journal.append(batch) }
        return journal
    }

    /// Bytes in which a misplaced page or a lost tail shows.
    private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
        var state = seed
        return (0..<count).map { _ in
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return UInt8(truncatingIfNeeded: state >> 56)
        }
    }
}
