import Testing

@testable import SamovarStore
@testable import SamovarWire

/// What one RECEIPT may hold.
@Suite struct ReceiptPartsTests {
    private func parts(_ verdicts: [Outcome.Verdict]) -> [[Int]] {
        var parts: [[Int]] = []
        let outcomes = verdicts.enumerated().map { Outcome(sequence: $0.offset, turn: $0.offset, verdict: $0.element) }
        outcomes.forEachPart { parts.append($0.map(\.sequence)) }
        return parts
    }

    private let refusal = Outcome.Verdict.refused([UInt8](repeating: 7, count: Outcome.Verdict.refusalLimit))

    @Test func `However many inputs are applied, one message tells of them`() {
        #expect(parts(Array(repeating: .applied, count: 4_096)) == [Array(0..<4_096)])
    }

    @Test func `What is refused at length comes in parts of at most one mebibyte, in order`() {
        #expect(parts(Array(repeating: refusal, count: 40)) == [Array(0..<16), Array(16..<32), Array(32..<40)])
        let mixed: [Outcome.Verdict] = (0..<34).map { $0.isMultiple(of: 2) ? .applied : refusal }
        #expect(parts(mixed) == [Array(0..<33), [33]])
    }

    @Test func `Texts count as they are written`() {
        let text = Outcome.Verdict.rejected(String(repeating: "é", count: 1_000))
        #expect(parts(Array(repeating: text, count: 1_000)).map(\.count) == [524, 476])
    }
}
