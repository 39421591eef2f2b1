import MessagePack
import SamovarProtocol

/// Which turns changed a part of the state or of the view.
struct ChangeSearch: Sendable {
    struct Change: Sendable {
        let record: Record
        /// Nil where there was nothing.
        let before: EncodedPart?
        let after: EncodedPart?
        let causes: CauseChain
    }

    enum Answer: Sendable {
        case since(Change)
        /// It is what it was at the first turn that is known, whose record is not kept.
        case unchanged(since: Int, EncodedPart)
        /// It has never been there; in words.
        case never(String)
    }

    let path: ValuePath
    /// As of this turn; nil for the newest.
    var turn: Int?
    /// Turns in the first part of the past that is looked through.
    var firstPart = 1_000

    /// The last change.
    ///
    /// Pieces of the past are looked through from the newest backwards, each from its beginning to its end: that a part is equal at both proves
    /// nothing, since it may have been another in between.
    func last(in past: any PastReader) throws -> Answer {
        let end = turn ?? past.span.known.upperBound
        let pieces = past.span.pieces(through: end)
        for piece in pieces.prefix(1).flatMap(parts) + pieces.dropFirst() {
            try past.move(to: piece.from)
            var found: (record: Record, before: [UInt8]?, after: [UInt8]?)?
            try changes(in: past, through: piece.through) { found = ($0, $1, $2) }
            if let found { return .since(try change(found.record, found.before, found.after, past)) }
        }
        try past.move(to: min(end, past.span.known.lowerBound))
        guard let part = try part(of: past) else { return .never(try missing(at: end, past)) }
        guard past.turn == 1, let record = try past.record(of: 1) else {
            return .unchanged(since: past.turn, EncodedPart(bytes: part[...]))
        }
        return .since(try change(record, nil, part, past))
    }

    /// The newest piece in parts, newest first, the next one always ten times as long: to replay the turns before a part costs less than to look at
    /// the value after each of them, and most values that are asked for have changed lately.
    private func parts(of piece: (from: Int, through: Int)) -> [(from: Int, through: Int)] {
        var parts: [(from: Int, through: Int)] = []
        var (end, length) = (piece.through, firstPart)
        while end > piece.from {
            parts.append((max(piece.from, end - length), end))
            (end, length) = (parts[parts.count - 1].from, length * 10)
        }
        return parts
    }

    /// Every change, oldest first.
    ///
    /// - Returns: why there is none, in words; nil if there was one.
    func all(in past: any PastReader, _ body: (Change) throws -> Void) throws -> String? {
        let end = turn ?? past.span.known.upperBound
        var count = 0
        func tell(_ record: Record, _ before: [UInt8]?, _ after: [UInt8]?) throws {
            count += 1
            try body(try change(record, before, after, past))
        }
        try past.move(to: past.span.known.lowerBound)
        if past.turn == 1, let part = try part(of: past), let record = try past.record(of: 1) { try tell(record, nil, part) }
        try changes(in: past, through: end, tell)
        guard count == 0 else { return nil }
        return try missing(at: end, past)
    }

    /// Tells of each turn after the present one that changes the part.
    private func changes(
        in past: any PastReader, through end: Int, _ body: (Record, [UInt8]?, [UInt8]?) throws -> Void
    ) throws {
        var former = try part(of: past)
        try past.walk(through: end) { record in
            guard record.mayChangeState else { return true }
            let part = try part(of: past)
            // Encoded states are canonical: equal bytes are equal values, and others are not.
            if part != former { try body(record, former, part) }
            former = part
            return true
        }
    }

    private func part(of past: any PastReader) throws -> [UInt8]? {
        try path.find(in: try whole(of: past)).map { Array($0) }
    }

    private func whole(of past: any PastReader) throws -> [UInt8] { try path.root == .state ? past.state() : past.view() }

    private func missing(at turn: Int, _ past: any PastReader) throws -> String {
        try past.move(to: turn)
        return try path.missing(in: try whole(of: past)) ?? "\(path) has not changed since turn \(past.span.known.lowerBound)"
    }

    private func change(_ record: Record, _ before: [UInt8]?, _ after: [UInt8]?, _ past: any PastReader) throws -> Change {
        Change(
            record: record, before: before.map { EncodedPart(bytes: $0[...]) }, after: after.map { EncodedPart(bytes: $0[...]) },
            causes: try CauseChain(of: record) { try past.record(of: $0) })
    }
}
