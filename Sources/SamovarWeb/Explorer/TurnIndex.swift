import SamovarCore
import SamovarWire

/// What is known of turns without reading the journal again: of each its kind and its origin, of some their times, and which chains pass
/// through which blocks.
///
/// It is filled block by block. What is not known yet has to be looked for in the journal.
struct TurnIndex {
    /// So many turns have one block.
    static let blockTurns = 4_096
    /// Of each so many turns the time is kept.
    static let timeStride = 16
    /// 12 KiB each. Older turns than these tell are looked for in the journal.
    static let maximumBlocks = 8_192
    /// Read at once if none of them is known: what a store answers may hold several.
    private static let blocksAtOnce = 16

    /// A row of turns without a hole.
    struct Block {
        let first: Int
        fileprivate(set) var marks: [TurnMark] = []
        /// Microseconds, of the first turn and of each that is a multiple of the stride.
        fileprivate var times: [Int64] = []
        /// The time of the newest turn.
        fileprivate var newest: Int64 = 0
        fileprivate var roots = TurnSet()
        fileprivate var causes = TurnSet()

        var last: Int { first + marks.count - 1 }
        var turns: Range<Int> { first..<first + marks.count }

        subscript(turn: Int) -> TurnMark { marks[turn - first] }

        /// False only if none of its turns belongs to the chain that this turn began.
        func mayHold(chainOf root: Int) -> Bool { turns.contains(root) || roots.mayHold(root) }

        /// False only if none of its turns follows from this one.
        func mayHold(followUpOf turn: Int) -> Bool { causes.mayHold(turn) }
    }

    private(set) var blocks: [Int: Block] = [:]

    static func number(of turn: Int) -> Int { (turn - 1) / blockTurns }

    /// The turns that belong to the block of this one.
    static func turns(around turn: Int) -> ClosedRange<Int> {
        let first = number(of: turn) * blockTurns + 1
        return first...first + blockTurns - 1
    }

    /// The block that tells of this turn, if it is known.
    func block(of turn: Int) -> Block? {
        guard let block = blocks[Self.number(of: turn)], block.turns.contains(turn) else { return nil }
        return block
    }

    /// What is to be read next: the newest turns first. Nil if there is nothing more to know.
    ///
    /// - Parameter kept: the turns whose records the journal has.
    func missing(of kept: ClosedRange<Int>) -> ClosedRange<Int>? {
        let newest = Self.number(of: kept.upperBound)
        let oldest = max(Self.number(of: kept.lowerBound), newest - Self.maximumBlocks + 1)
        for number in stride(from: newest, through: oldest, by: -1) {
            let turns = Self.turns(around: number * Self.blockTurns + 1).clamped(to: kept)
            if let block = blocks[number] {
                if block.last < turns.upperBound { return block.last + 1...turns.upperBound }
                continue
            }
            let lowest = max(oldest, number - Self.blocksAtOnce + 1)
            let first = (lowest..<number).last { blocks[$0] != nil }.map { $0 + 1 } ?? lowest
            return Self.turns(around: first * Self.blockTurns + 1).clamped(to: kept).lowerBound...turns.upperBound
        }
        return nil
    }

    /// Learns of the next turn of its block.
    mutating func note(_ record: Record) {
        let number = Self.number(of: record.turn)
        blocks[number, default: Block(first: record.turn)].note(record)
        guard blocks.count > Self.maximumBlocks, let oldest = blocks.keys.min() else { return }
        blocks[oldest] = nil
    }
}

extension TurnIndex.Block {
    fileprivate mutating func note(_ record: Record) {
        // What lies between was trimmed: a row has no hole, and what is before it is not kept any more.
        if record.turn > last + 1 { self = Self(first: record.turn) }
        // A turn that is known is none of what follows.
        guard record.turn == last + 1 else { return }
        if marks.isEmpty || record.turn.isMultiple(of: TurnIndex.timeStride) { times.append(record.time.microseconds) }
        newest = record.time.microseconds
        marks.append(TurnMark(of: record))
        if record.root != record.turn { roots.insert(record.root) }
        if let cause = record.causeTurn { causes.insert(cause) }
    }

    /// Between two turns whose times are known, as if they came evenly.
    fileprivate func time(of turn: Int) -> Int64 {
        let stride = TurnIndex.timeStride
        let place = turn / stride - first / stride
        let begin = max(first, turn / stride * stride)
        let end = min(last, (turn / stride + 1) * stride)
        guard end > begin else { return times[place] }
        let later = place + 1 < times.count ? times[place + 1] : newest
        return times[place] + Int64(Double(later - times[place]) * Double(turn - begin) / Double(end - begin))
    }
}

// MARK: Density

extension TurnIndex {
    /// How the turns lie in time, in at most so many buckets of equally many turns.
    struct Density: Equatable {
        /// So many turns has each bucket but the last.
        var each = 1
        /// Of the first turn of each bucket, and behind the last; in microseconds, nil where it is not known.
        var times: [Int64?] = []
        /// How many of its turns were refused, and how many were failures.
        var refused: [Int] = []
        var failed: [Int] = []
    }

    static let buckets = 1_000

    func density(of turns: ClosedRange<Int>) -> Density {
        var density = Density(each: max(1, (turns.count + Self.buckets - 1) / Self.buckets))
        for first in stride(from: turns.lowerBound, through: turns.upperBound, by: density.each) {
            let trouble = trouble(in: first...min(first + density.each - 1, turns.upperBound))
            density.times.append(block(of: first)?.time(of: first))
            density.refused.append(trouble.refused)
            density.failed.append(trouble.failed)
        }
        density.times.append(block(of: turns.upperBound)?.time(of: turns.upperBound))
        return density
    }

    private func trouble(in turns: ClosedRange<Int>) -> (refused: Int, failed: Int) {
        var (refused, failed) = (0, 0)
        for number in Self.number(of: turns.lowerBound)...Self.number(of: turns.upperBound) {
            guard let block = blocks[number], !block.marks.isEmpty, turns.overlaps(block.first...block.last) else { continue }
            let part = turns.clamped(to: block.first...block.last)
            for mark in block.marks[part.lowerBound - block.first...part.upperBound - block.first] {
                if mark.kind == .refused { refused += 1 } else if mark.kind.isFailure { failed += 1 }
            }
        }
        return (refused, failed)
    }
}

/// A set of turns that may say of one that it is in it when it is not, never the other way round (a Bloom filter of 4 KiB with two hashes: with 4,096
/// turns in it, it is wrong of one in twenty).
struct TurnSet {
    private static let bits = 32_768
    private var words: [UInt64] = []

    private static func places(of turn: Int) -> (Int, Int) {
        let mixed = UInt64(truncatingIfNeeded: turn) &* 0x9E37_79B9_7F4A_7C15
        return (Int(mixed >> 49), Int((mixed >> 30) & 0x7FFF))
    }

    mutating func insert(_ turn: Int) {
        if words.isEmpty { words = [UInt64](repeating: 0, count: Self.bits / 64) }
        let places = Self.places(of: turn)
        for place in [places.0, places.1] { words[place / 64] |= 1 << UInt64(place % 64) }
    }

    func mayHold(_ turn: Int) -> Bool {
        guard !words.isEmpty else { return false }
        let (one, other) = Self.places(of: turn)
        return words[one / 64] >> UInt64(one % 64) & 1 == 1 && words[other / 64] >> UInt64(other % 64) & 1 == 1
    }
}
