package import SamovarWire

/// A turn that changed a part of a state or of a view.
package struct PastChange: Equatable, Sendable {
    package let record: Record
    /// The part in MessagePack; nil where there was nothing.
    package let before: [UInt8]?
    package let after: [UInt8]?

    package init(record: Record, before: [UInt8]?, after: [UInt8]?) {
        (self.record, self.before, self.after) = (record, before, after)
    }
}

/// Since when a part is what it is.
package enum PastOrigin: Equatable, Sendable {
    case change(PastChange)
    /// Since the first turn that is known, whose record is not kept, or before.
    case beginning(turn: Int, [UInt8])
    /// It has never been there.
    case never
}

/// What is found by looking at states, one after the other.
extension PastReader {
    /// The last turn that changed a part, as of a turn.
    ///
    /// Pieces of the past are looked through from the newest backwards, each from its beginning to its end: that a part is equal at both proves
    /// nothing, since it may have been another in between.
    ///
    /// - Parameters:
    ///   - firstPart: turns in the first part of the newest piece that is looked through.
    ///   - part: in the present state.
    /// - Throws: also for a turn that is not known.
    package func lastChange(through end: Int, firstPart: Int, of part: () throws -> [UInt8]?) throws -> PastOrigin {
        try requireKnown(end)
        let pieces = span.pieces(through: end)
        for piece in pieces.prefix(1).flatMap({ parts(of: $0, first: firstPart) }) + pieces.dropFirst() {
            try move(to: piece.from)
            var found: PastChange?
            try laterChanges(through: piece.through, of: part) { found = $0 }
            if let found { return .change(found) }
        }
        try move(to: min(end, span.known.lowerBound))
        guard let part = try part() else { return .never }
        guard turn == 1, let record = try record(of: 1) else { return .beginning(turn: turn, part) }
        return .change(PastChange(record: record, before: nil, after: part))
    }

    /// Every turn that changed a part, oldest first.
    ///
    /// - Throws: also for a turn that is not known, and then `body` is told of none.
    package func changes(through end: Int, of part: () throws -> [UInt8]?, _ body: (PastChange) throws -> Void) throws {
        try requireKnown(end)
        try move(to: span.known.lowerBound)
        if turn == 1, let part = try part(), let record = try record(of: 1) {
            try body(PastChange(record: record, before: nil, after: part))
        }
        try laterChanges(through: end, of: part, body)
    }

    /// The first turn of some after which something is true: each is looked at, since it may be true, and false again. It is the present one then.
    package func firstTurn(from first: Int, through last: Int, where isTrue: () throws -> Bool) throws -> Int? {
        try move(to: first)
        var found = try isTrue() ? turn : nil
        guard found == nil else { return found }
        try walk(through: last) { record in
            guard mayDiffer(after: record), try isTrue() else { return true }
            found = record.turn
            return false
        }
        return found
    }

    /// Who moves to a turn that is not known is told why it is not.
    private func requireKnown(_ turn: Int) throws {
        if !span.known.contains(turn) { try move(to: turn) }
    }

    /// The newest piece in parts, newest first, the next one always ten times as long: to replay the turns before a part costs less than to look at
    /// the value after each of them, and most values that are asked for have changed lately.
    private func parts(of piece: (from: Int, through: Int), first: Int) -> [(from: Int, through: Int)] {
        var parts: [(from: Int, through: Int)] = []
        var (end, length) = (piece.through, first)
        while end > piece.from {
            parts.append((max(piece.from, end - length), end))
            (end, length) = (parts[parts.count - 1].from, length * 10)
        }
        return parts
    }

    /// Whether the state after a record can be another than before: behind turns of an older version it begins anew at each snapshot.
    package func mayDiffer(after record: Record) -> Bool { record.mayChangeState || span.snapshots.contains(record.turn) }

    /// Tells of each turn after the present one that changes the part.
    private func laterChanges(through end: Int, of part: () throws -> [UInt8]?, _ body: (PastChange) throws -> Void) throws {
        var former = try part()
        try walk(through: end) { record in
            guard mayDiffer(after: record) else { return true }
            let part = try part()
            // States are encoded in one order: equal bytes are equal values, and others are not, or have other floats, such as −0.0 and 0.0.
            if part != former { try body(PastChange(record: record, before: former, after: part)) }
            former = part
            return true
        }
    }
}

extension Record {
    /// Whether the state after it can be another than before.
    package var mayChangeState: Bool {
        switch event {
        case .started, .applied, .streamed: true
        default: false
        }
    }
}
