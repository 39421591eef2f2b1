import MessagePack
package import SamovarStore
package import SamovarWire

/// The first turn after which something is true: linear, and so exact, also for what is true, and false again.
package struct Bisection: Sendable {
    package enum Goal: Sendable {
        case expression(Predicate)
        /// The place of one of the program's invariants, which is no longer kept.
        case broken(invariant: Int)
    }

    package struct Finding: Sendable {
        package let record: Record
        package let causes: CauseChain
        /// Of the state, to that of the turn before; nil for the first turn that is known.
        package let changes: ValueChanges?
        /// Whether it is the first turn that was looked at, so that it may have been true before.
        package let isFirst: Bool
    }

    package enum Outcome: Sendable {
        case found(Finding)
        /// - unknown: why paths of the expression led nowhere in all turns, in words.
        case never(turns: ClosedRange<Int>, unknown: [String])
    }

    package let goal: Goal
    package var from: Int?
    package var to: Int?

    package init(goal: Goal, from: Int? = nil, to: Int? = nil) {
        (self.goal, self.from, self.to) = (goal, from, to)
    }

    package func run(on past: any PastReader) throws -> Outcome {
        let last = to ?? past.span.known.upperBound
        let first = from ?? past.span.known.lowerBound
        // Who asks for turns that are trimmed away is told so, whatever is true behind them.
        if last < past.span.known.lowerBound { try past.move(to: last) }
        var trial = Trial(goal: goal)
        let found = try past.firstTurn(from: first, through: last) { try trial.isTrue(past) }
        guard let found else {
            return .never(turns: first...last, unknown: try trial.unknown(past))
        }
        return .found(try finding(found, isFirst: found == first, past))
    }

    private func finding(_ turn: Int, isFirst: Bool, _ past: any PastReader) throws -> Finding {
        let path = ValuePath(root: .state)
        var before: [UInt8]?
        if turn > past.span.known.lowerBound {
            try past.move(to: turn - 1)
            before = try past.state()
        }
        try past.move(to: turn)
        let after = try past.state()
        guard let record = try past.record(of: turn) else {
            throw CommandFailure(.badData, "it is true after turn \(turn) already, whose record is not kept any more")
        }
        return Finding(
            record: record, causes: try CauseChain(of: record) { try past.record(of: $0) },
            changes: try before.map { try ValueChanges(from: $0, to: after, at: path) }, isFirst: isFirst)
    }
}

/// Asks one state after the other.
private struct Trial {
    let goal: Bisection.Goal
    /// Paths of the expression that have led to something.
    var known: Set<ValuePath> = []

    mutating func isTrue(_ past: any PastReader) throws -> Bool {
        switch goal {
        case .broken(let index): return try !past.keeps(invariant: index)
        case .expression(let predicate):
            let state = predicate.usesState ? try past.state() : []
            let view = predicate.usesView ? try past.view() : []
            return try predicate.holds { path in
                let part = try path.find(in: path.root == .state ? state : view)
                if part != nil { known.insert(path) }
                return part
            }
        }
    }

    /// Why paths have led nowhere, as the newest state has it.
    func unknown(_ past: any PastReader) throws -> [String] {
        guard case .expression(let predicate) = goal else { return [] }
        return try predicate.paths.subtracting(known).map { path in
            try path.missing(in: path.root == .state ? past.state() : past.view()) ?? "\(path) was not asked for"
        }.sorted()
    }
}
