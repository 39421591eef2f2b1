import Journal
import SamovarCore
import SamovarWire
import Testing

@testable import SamovarHost

/// What is read of a journal for one record after the other.
@Suite struct RecordPageTests {
    private struct Gone: Error {}

    /// A batch for each turn.
    private struct Turns {
        let count: Int
        private let message: [UInt8]
        /// What comes before this turn cannot be read.
        private let first: Int
        /// What was read.
        private(set) var reads: [ClosedRange<Int>] = []
        private var page = RecordPage()

        init(_ count: Int, bytes: Int = 1, first: Int = 1) {
            self.count = count
            self.first = first
            message = [UInt8](repeating: 0, count: bytes)
        }

        mutating func read(_ turns: ClosedRange<Int>, _ body: (Batch) throws -> Void) throws {
            reads.append(turns)
            guard turns.lowerBound >= first else { throw Gone() }
            for turn in turns {
                var batch = RecordBatch(after: turn - 1)
                batch.append(
                    Record(
                        turn: turn, time: Timestamp(microseconds: Int64(turn)),
                        event: .applied(message: message, hash: 0, closes: false)))
                try body(Batch(first: turn, last: turn, bytes: batch.bytes))
            }
        }

        mutating func record(_ turn: Int) throws -> Int? {
            var page = page
            defer { self.page = page }
            return try page.record(of: turn, among: 1...count) { try read($0, $1) }?.turn
        }
    }

    @Test func `A chain of neighbouring turns is read a page at a time`() throws {
        var turns = Turns(1_000)
        for turn in (700...900).reversed() { #expect(try turns.record(turn) == turn) }
        #expect(turns.reads == [900...900, 649...1_000])
        for turn in 990...1_000 { #expect(try turns.record(turn) == turn) }
        #expect(turns.reads.count == 2)
        #expect(try turns.record(3) == 3)
        #expect(turns.reads.last == 3...3, "it is near nothing that was asked for")
    }

    @Test func `Of large turns few are read`() throws {
        var turns = Turns(1_000, bytes: 100 << 10)
        for turn in (400...500).reversed() { #expect(try turns.record(turn) == turn) }
        #expect(turns.reads.allSatisfy { $0.count <= 11 })
        var larger = Turns(10, bytes: 2 << 20)
        for turn in (1...10).reversed() { #expect(try larger.record(turn) == turn) }
        #expect(larger.reads.allSatisfy { $0.count == 1 })
    }

    @Test func `A neighbour that cannot be read keeps nobody from a turn that can`() throws {
        var turns = Turns(1_000, first: 500)
        for turn in [501, 500] { #expect(try turns.record(turn) == turn) }
        #expect(turns.reads == [501...501, 250...750, 500...500])
        #expect(throws: Gone.self) { try turns.record(499) }
    }
}
