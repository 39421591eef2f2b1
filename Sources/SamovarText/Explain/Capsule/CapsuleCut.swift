package import SamovarCore
package import SamovarStore
import SamovarWire

/// Cuts a capsule out of the past of a journal.
package enum CapsuleCut {
    /// Turns of which the records are read to find the beginning and the end of a chain: as many as one may have, and the messages of an answer.
    private static let maximumMoves = 10_000

    /// - Parameter secret: of the capsule.
    /// - Throws: `CommandFailure`; what reading throws.
    package static func content(
        of turns: ClosedRange<Int>, in past: any PastReader, schema: Schema, secret: Secret
    ) throws -> CapsuleContent {
        let known = past.span.known
        guard turns.lowerBound >= known.lowerBound, turns.upperBound <= known.upperBound else {
            throw CommandFailure(
                .configuration,
                "turns \(turns.lowerBound) to \(turns.upperBound): known are \(known.lowerBound) to \(known.upperBound)")
        }
        let (first, last) = (try begin(of: turns.lowerBound, past), try end(of: turns.upperBound, past))
        var content = CapsuleContent(schema: schema, secret: secret, turn: 0, state: [], last: last, items: [])
        if first > 1 {
            guard first > known.lowerBound else {
                throw CommandFailure(
                    .configuration,
                    "the state before turn \(first) is not known: the journal was trimmed up to turn \(known.lowerBound)")
            }
            try past.move(to: first - 1)
            content.turn = first - 1
            content.state = try past.state()
        } else {
            try past.move(to: 1)
            guard let start = try past.record(of: 1) else { throw CommandFailure(.badData, "turn 1 is not kept") }
            try require(past, isOf: schema)
            content.note(start)
        }
        var size = content.state.count
        try past.walk(through: last) { record in
            try require(past, isOf: schema)
            size += record.size
            guard content.items.count < CapsuleContent.maximumItems, size <= CapsuleContent.maximumBytes else {
                throw CommandFailure(
                    .badData,
                    "turns \(first) to \(last) are too many for a capsule: at most \(CapsuleContent.maximumItems) records and \(CapsuleContent.maximumBytes >> 20) MiB"
                )
            }
            content.note(record)
            return true
        }
        return content
    }

    /// What is in a capsule is read by no migration.
    private static func require(_ past: any PastReader, isOf schema: Schema) throws {
        guard let author = past.author, author != schema.version else { return }
        throw CommandFailure(
            .configuration,
            "turn \(past.turn) was written by version \(author) of \(schema.name), and a capsule has turns of version \(schema.version) alone: name later ones"
        )
    }

    /// A chain is never torn: in the middle of it, follow-ups wait that are in no state.
    private static func begin(of turn: Int, _ past: any PastReader) throws -> Int {
        var turn = turn
        for _ in 0..<maximumMoves where turn > 1 {
            guard let record = try past.record(of: turn), record.continuesGroup else { return turn }
            turn -= 1
        }
        return turn
    }

    private static func end(of turn: Int, _ past: any PastReader) throws -> Int {
        var turn = turn
        for _ in 0..<maximumMoves where turn < past.span.known.upperBound {
            guard let record = try past.record(of: turn + 1), record.continuesGroup else { return turn }
            turn += 1
        }
        return turn
    }
}

extension Record {
    /// About how many bytes it takes.
    fileprivate var size: Int {
        switch event {
        case .applied(let message, _, _): message.count + 64
        case .streamed(let message, _, let checkpoint): message.count + (checkpoint?.count ?? 0) + 64
        default: 64
        }
    }
}
