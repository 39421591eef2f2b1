import Journal
import SamovarCore
import SamovarStore
import SamovarWire

/// What `why`, `bisect` and `whatif` say of the journal that a store has left, against a look at the state after each turn, and against the other
/// history from its beginning. A sample, so that it costs a small part of a run: a few questions, of a few dozen turns.
extension InvariantChecker {
    /// Turns whose states are looked at, and turns of a history that may be another.
    private static let sample = 40

    func requirePast(_ journal: any Journal) throws(Violation) {
        guard journal.last == reference.last, journal.last > 1 else { return }
        var random = SeededRandom(seed: world.seed, "past")
        do {
            guard let whole = PastSpan(first: journal.first, last: journal.last, snapshots: try journal.snapshots()) else {
                return try require(false, .i29, expected: "a past that is known", seen: "none")
            }
            try requireSearches(journal, try part(of: whole, journal, &random), &random)
            try requireSuppositions(journal, whole, &random)
        } catch let violation as Violation {
            throw violation
        } catch {
            try require(false, .i29, expected: "a past that can be read", seen: "\(error)")
        }
    }

    /// Some turns from a snapshot or the beginning on.
    private func part(of whole: PastSpan, _ journal: any Journal, _ random: inout SeededRandom) throws -> PastSpan {
        let begin = random.pick([whole.known.lowerBound] + whole.snapshots)
        let end = min(begin + random.number(0...Self.sample), whole.known.upperBound)
        let first = begin == 1 ? journal.first : begin + 1
        if first > 1 { reference.count(.pastTrimmed) }
        let snapshots = whole.snapshots.filter { (begin...end).contains($0) }
        if snapshots.count > 1 { reference.count(.pastInPieces) }
        return PastSpan(first: first, last: end, snapshots: snapshots) ?? whole
    }

    // MARK: Searches

    private func requireSearches(_ journal: any Journal, _ span: PastSpan, _ random: inout SeededRandom) throws {
        let secret = reference.secret
        let past = SimulatedPast(journal, span) { PastMachine(TypedEngine(ModelProgram.self, secret: secret)) }
        for _ in 0..<4 { try requireLastChange(past, .drawn(&random), &random) }
        for _ in 0..<2 { try requireChanges(past, .drawn(&random)) }
        for _ in 0..<4 { try requireFirstTurn(past, .drawn(reference.states[span.known], &random), &random) }
    }

    private func requireLastChange(_ past: SimulatedPast, _ part: PastPart, _ random: inout SeededRandom) throws {
        let known = past.span.known
        let (end, firstPart) = (random.number(known), random.number(1...Self.sample))
        let found = try past.lastChange(through: end, firstPart: firstPart) { try part.find(past) }
        let expected = origin(of: part, in: past, through: end)
        if case .change = expected { reference.count(.changeFound) }
        try require(
            found == expected, .i29, expected: "\(part.name) as of turn \(end) since \(expected.text)",
            seen: "since \(found.text), in parts of \(firstPart) of \(past.span)")
    }

    private func origin(of part: PastPart, in past: SimulatedPast, through end: Int) -> PastOrigin {
        let begin = past.span.known.lowerBound
        if let change = changes(of: part, in: past, through: end).last { return .change(change) }
        return part.value(reference.states[begin]).map { .beginning(turn: begin, $0) } ?? .never
    }

    private func requireChanges(_ past: SimulatedPast, _ part: PastPart) throws {
        let end = past.span.known.upperBound
        var found: [PastChange] = []
        try past.changes(through: end) {
            try part.find(past)
        } _: {
            found.append($0)
        }
        let expected = changes(of: part, in: past, through: end)
        try require(
            found == expected, .i29, expected: "changes of \(part.name) at turns \(expected.map(\.record.turn))",
            seen: "\(found.map(\.record.turn)) in \(past.span)")
    }

    /// Found by a look at the state after each turn.
    private func changes(of part: PastPart, in past: SimulatedPast, through end: Int) -> [PastChange] {
        let begin = past.span.known.lowerBound
        // Before the first turn there is nothing.
        var former = begin == past.firstRecord ? nil : part.value(reference.states[begin])
        var changes: [PastChange] = []
        for turn in begin...end where turn > begin || begin == past.firstRecord {
            let value = part.value(reference.states[turn])
            if value != former { changes.append(PastChange(record: reference.records[turn - 1], before: former, after: value)) }
            former = value
        }
        return changes
    }

    private func requireFirstTurn(_ past: SimulatedPast, _ question: PastQuestion, _ random: inout SeededRandom) throws {
        let known = past.span.known
        let from = random.number(known)
        let to = random.number(from...known.upperBound)
        let found = try past.firstTurn(from: from, through: to) { try question.ask(past) }
        let expected = (from...to).first { question.answer(reference.states[$0]) }
        if let expected, expected > from { reference.count(.firstTurnFound) }
        try require(
            found == expected, .i29,
            expected: "turn \(expected ?? 0) as the first from \(from) to \(to) after which \(question.name)",
            seen: "turn \(found ?? 0) in \(past.span)")
    }

    // MARK: Suppositions

    private func requireSuppositions(_ journal: any Journal, _ span: PastSpan, _ random: inout SeededRandom) throws {
        let known = span.known
        guard known.lowerBound < known.upperBound else { return }
        let first = random.number(known.lowerBound + 1...known.upperBound)
        let last = endOfChain(at: min(first + Self.sample, known.upperBound))
        // Where nothing was otherwise, the program makes the same of all that came.
        let begin = ([known.lowerBound] + span.snapshots).last { $0 < first } ?? known.lowerBound
        if last - begin <= 2 * Self.sample {
            let same = SupposedCourse(state: reference.states[last])
            try require(Supposition(), whatIf(Supposition(), from: begin + 1, through: last, journal), same)
        }
        let supposition = Supposition.drawn(reference.records[first - 1..<last], &random)
        let begins = supposition.first ?? first
        let other = try OtherHistory(reference.records[..<last], supposition, from: begins, like: reference).course
        try require(supposition, whatIf(supposition, from: begins, through: last, journal), other)
        if other.lost.count > supposition.removed.count { reference.count(.lostBySupposition) }
        let inserted = supposition.inserted.values.reduce(0) { $0 + $1.count }
        if other.gained.count > inserted { reference.count(.gainedBySupposition) }
    }

    private func require(_ supposition: Supposition, _ found: WhatIf, _ expected: SupposedCourse) throws {
        let differences = try found.differences(from: expected, was: reference.states[found.last])
        try require(
            differences.isEmpty, .i29, expected: "of \(supposition) through turn \(found.last) what the program makes of it",
            seen: "others: \(differences.joined(separator: "; "))")
    }

    /// As a host has it read the journal.
    private func whatIf(_ supposition: Supposition, from first: Int, through last: Int, _ journal: any Journal) throws -> WhatIf {
        let (secret, limits) = (reference.secret, world.swarm.store.group)
        let machine = try journal.recover(through: first - 1) {
            WhatIfMachine(supposition, through: last) { TypedEngine(ModelProgram.self, secret: secret, limits: limits) }
        } restore: { (machine: inout WhatIfMachine, snapshot) in
            try machine.restore(snapshot: snapshot.bytes)
        } replay: { (machine: inout WhatIfMachine, batch) in
            try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes)
        } note: { _ in
        }
        try journal.read(from: machine.turn + 1) { batch in
            if batch.first <= last { try machine.replay(first: batch.first, last: batch.last, bytes: batch.bytes) }
        }
        return try machine.finish()
    }

    private func endOfChain(at turn: Int) -> Int {
        var end = turn
        while end < reference.last, reference.records[end].isFollowUp { end += 1 }
        return end
    }
}

extension PastOrigin {
    fileprivate var text: String {
        switch self {
        case .change(let change): "turn \(change.record.turn), from \(change.before ?? []) to \(change.after ?? [])"
        case .beginning(let turn, let part): "turn \(turn) or before: \(part)"
        case .never: "never"
        }
    }
}
