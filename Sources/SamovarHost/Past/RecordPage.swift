import Journal
import SamovarWire

/// The batches around the record that was asked for last: a turn is most often asked for next to another, as one cause after the other is.
struct RecordPage {
    /// Turns before and behind the one that is asked for.
    static let reach = 250
    /// Bytes that are kept beside the batch of that turn.
    static let maximumBytes = 1 << 20

    private var batches: [Batch] = []

    /// The record of a turn that is kept.
    ///
    /// - Parameters:
    ///   - kept: all turns that are.
    ///   - read: the batches of some turns.
    mutating func record(
        of turn: Int, among kept: ClosedRange<Int>, read: (ClosedRange<Int>, (Batch) throws -> Void) throws -> Void
    ) throws -> Record? {
        if !batches.contains(where: { $0.holds(turn) }) {
            let turns = turns(around: turn).clamped(to: kept)
            do {
                batches = try Self.page(of: turns, around: turn, read)
            } catch {
                // What is damaged, or gone by now, may be a neighbour.
                guard turns.count > 1 else { throw error }
                batches = try Self.page(of: turn...turn, around: turn, read)
            }
        }
        guard let batch = batches.first(where: { $0.holds(turn) }) else { return nil }
        var found: Record?
        do {
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { record in
                guard record.turn == turn else { return }
                found = record
                throw Enough()
            }
        } catch is Enough {}
        return found
    }

    /// A turn alone, unless it is near what is kept. Of large batches fewer turns are near.
    private func turns(around turn: Int) -> ClosedRange<Int> {
        guard let first = batches.first?.first, let last = batches.last?.last else { return turn...turn }
        let bytesOfTurn = batches.reduce(0) { $0 + $1.bytes.count } / (last - first + 1)
        let reach = min(Self.reach, Self.maximumBytes / 2 / max(1, bytesOfTurn))
        return turn >= first - reach && turn <= last + reach ? turn - reach...turn + reach : turn...turn
    }

    private static func page(
        of turns: ClosedRange<Int>, around turn: Int, _ read: (ClosedRange<Int>, (Batch) throws -> Void) throws -> Void
    ) throws -> [Batch] {
        var page: [Batch] = []
        var bytes = 0
        do {
            try read(turns) { batch in
                page.append(batch)
                bytes += batch.bytes.count
                while bytes > maximumBytes, let first = page.first, first.last < turn {
                    bytes -= first.bytes.count
                    page.removeFirst()
                }
                if bytes > maximumBytes, batch.last >= turn { throw Enough() }
            }
        } catch is Enough {}
        return page
    }
}

extension Batch {
    fileprivate func holds(_ turn: Int) -> Bool { (first...last).contains(turn) }
}
