import MessagePack
package import SamovarStore
package import SamovarWire

/// Which turns changed a part of the state or of the view.
package struct ChangeSearch: Sendable {
    package struct Change: Sendable {
        package let record: Record
        /// Nil where there was nothing.
        package let before: EncodedPart?
        package let after: EncodedPart?
        package let causes: CauseChain
    }

    package enum Answer: Sendable {
        case since(Change)
        /// It is what it was at the first turn that is known, whose record is not kept.
        case unchanged(since: Int, EncodedPart)
        /// It has never been there; in words.
        case never(String)
    }

    /// Causes of each of many changes: where effects follow from effects without an end, all of each would grow with the square of the journal.
    static let causesOfEach = 20

    package let path: ValuePath
    /// As of this turn; nil for the newest.
    package var turn: Int?
    /// Turns in the first part of the past that is looked through.
    var firstPart: Int

    package init(path: ValuePath, turn: Int? = nil, firstPart: Int = 1_000) {
        (self.path, self.turn, self.firstPart) = (path, turn, firstPart)
    }

    /// The last change.
    package func last(in past: any PastReader) throws -> Answer {
        let end = turn ?? past.span.known.upperBound
        switch try past.lastChange(through: end, firstPart: firstPart, of: { try part(of: past) }) {
        case .change(let found): return .since(try change(found, past))
        case .beginning(let turn, let part): return .unchanged(since: turn, EncodedPart(bytes: part[...]))
        case .never: return .never(try missing(at: end, past))
        }
    }

    /// Every change, oldest first.
    ///
    /// - Returns: why there is none, in words; nil if there was one.
    package func all(in past: any PastReader, _ body: (Change) throws -> Void) throws -> String? {
        let end = turn ?? past.span.known.upperBound
        var count = 0
        try past.changes(through: end, of: { try part(of: past) }) {
            count += 1
            try body(try change($0, past, causes: Self.causesOfEach))
        }
        guard count == 0 else { return nil }
        return try missing(at: end, past)
    }

    private func part(of past: any PastReader) throws -> [UInt8]? {
        try path.find(in: try whole(of: past)).map { Array($0) }
    }

    private func whole(of past: any PastReader) throws -> [UInt8] { try path.root == .state ? past.state() : past.view() }

    private func missing(at turn: Int, _ past: any PastReader) throws -> String {
        try past.move(to: turn)
        return try path.missing(in: try whole(of: past)) ?? "\(path) has not changed since turn \(past.span.known.lowerBound)"
    }

    private func change(
        _ found: PastChange, _ past: any PastReader, causes limit: Int = CauseChain.maximumCauses
    ) throws -> Change {
        Change(
            record: found.record, before: found.before.map { EncodedPart(bytes: $0[...]) },
            after: found.after.map { EncodedPart(bytes: $0[...]) },
            causes: try CauseChain(of: found.record, limit: limit) { try past.record(of: $0) })
    }
}
