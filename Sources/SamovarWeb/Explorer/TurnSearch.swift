import MessagePack
import SamovarStore
import SamovarWire

/// Looks for turns, in pieces: what the index knows narrows them, and the records of the rest are read.
struct TurnSearch {
    /// Turns whose records are looked at together, at most.
    static let piece = 1_024
    static let maximumFollowUps = 1_000

    let filter: TurnFilter
    let count: Int
    let index: TurnIndex
    let past: any FollowedPast

    /// Rows, newest first, and how far was looked.
    ///
    /// The first piece is one turn, or a whole list where nothing is left out, and is looked at in any case: so each search comes on,
    /// however large its turns are. Those that follow are larger and larger, and one that takes too long is left out.
    func rows(at place: ExplorerRequest.Place, isEnough: () -> Bool) throws -> MessagePackValue {
        let known = past.span.known
        var found: [Record] = []
        var looked: Int
        // A list that leaves nothing out reads no more than it shows.
        var (size, isFirst) = (filter.isEmpty ? count : 1, true)
        if case .after(let turn) = place {
            looked = max(turn, known.lowerBound - 1)
            while looked < known.upperBound, found.count < count {
                let end = min(looked + size, known.upperBound)
                let more = try matches(in: looked + 1...end, newest: false) { !isFirst && isEnough() }
                guard let more else { break }
                found += more
                (looked, size, isFirst) = (end, min(2 * size, Self.piece), false)
            }
        } else {
            if case .before(let turn) = place { looked = min(turn, known.upperBound + 1) } else { looked = known.upperBound + 1 }
            while looked > known.lowerBound, found.count < count {
                let begin = max(looked - size, known.lowerBound)
                let more = try matches(in: begin...looked - 1, newest: true) { !isFirst && isEnough() }
                guard let more else { break }
                found += more
                (looked, size, isFirst) = (begin, min(2 * size, Self.piece), false)
            }
        }
        if found.count > count { looked = found[count - 1].turn }
        var rows = found.prefix(count).map { TurnText.row(of: $0) }
        if case .after = place { rows.reverse() }
        return [
            "rows": .array(rows), "looked": .int(Int64(looked)),
            "first": .int(Int64(known.lowerBound)),
            "last": .int(Int64(known.upperBound)),
        ]
    }

    /// Those of some turns, at most one more than are wanted; nil if it was enough before all were looked at.
    private func matches(in turns: ClosedRange<Int>, newest: Bool, isEnough: () -> Bool) throws -> [Record]? {
        guard !isEnough() else { return nil }
        guard var range = narrowed(turns) else { return [] }
        if !filter.isEmpty, !filter.needsRecords, let block = index.block(of: range.lowerBound), block.last >= range.upperBound {
            // The index tells exactly which they are.
            let all = filter.candidates(in: block, range)
            let wanted = newest ? all.suffix(count + 1) : all.prefix(count + 1)
            guard let first = wanted.first, let last = wanted.last else { return [] }
            range = first...last
        }
        var found: [Record] = []
        var isWhole = true
        try past.records(of: range) { record in
            guard !isEnough() else {
                isWhole = false
                return false
            }
            if filter.matches(record) { found.append(record) }
            return newest || found.count <= count
        }
        guard isWhole else { return nil }
        return newest ? found.reversed() : found
    }

    /// Without those of which the index knows that they do not match; nil if none is left.
    private func narrowed(_ turns: ClosedRange<Int>) -> ClosedRange<Int>? {
        guard !filter.isEmpty else { return turns }
        var (first, last): (Int?, Int?)
        var turn = turns.lowerBound
        while turn <= turns.upperBound {
            let end = min(TurnIndex.turns(around: turn).upperBound, turns.upperBound)
            let part = turn...end
            if let block = index.block(of: turn), block.last >= end {
                let candidates = filter.candidates(in: block, part)
                first = first ?? candidates.first
                last = candidates.last ?? last
            } else {
                first = first ?? turn
                last = end
            }
            turn = end + 1
        }
        guard let first, let last else { return nil }
        return first...last
    }

    /// What follows from a turn, oldest first, and whether that is all.
    func followUps(of turn: Int, isEnough: () -> Bool) throws -> (rows: [MessagePackValue], isWhole: Bool) {
        let last = past.span.known.upperBound
        var rows: [MessagePackValue] = []
        var next = turn + 1
        while next <= last {
            let end = min(TurnIndex.turns(around: next).upperBound, last)
            defer { next = end + 1 }
            if let block = index.block(of: next), block.last >= end, !block.mayHold(followUpOf: turn) { continue }
            var isWhole = true
            try past.records(of: next...end) { record in
                guard rows.count < Self.maximumFollowUps, !isEnough() else {
                    isWhole = false
                    return false
                }
                if record.causeTurn == turn { rows.append(TurnText.row(of: record)) }
                return true
            }
            guard isWhole else { return (rows, false) }
        }
        return (rows, true)
    }
}
