import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Outputs that are kept for those who ask, and those that are forgotten.
@Suite struct OutputLogTests {
    private func id(_ turn: Int) -> EffectID { EffectID(turn: turn, ordinal: 0) }

    private func output(_ turn: Int, bytes: Int = 1) -> EmittedOutput {
        EmittedOutput(id: id(turn), bytes: Array(repeating: 0, count: bytes))
    }

    private func book(_ turns: ClosedRange<Int>, bytes: Int = 1) -> OutputLog {
        var book = OutputLog()
        for turn in turns { book.append(output(turn, bytes: bytes)) }
        return book
    }

    @Test func `So many are kept, and the newest that is not is known`() {
        var book = book(1...OutputLog.limit, bytes: 0)
        #expect(book.outputs.count == OutputLog.limit && book.forgotten == nil)
        book.append(output(OutputLog.limit + 1, bytes: 0))
        #expect(book.outputs.count == OutputLog.limit && book.forgotten == id(1))
        #expect(book.outputs(after: id(0), bytes: 9) == nil)
        #expect(book.outputs(after: id(1), bytes: 0)?.first?.id == id(2))
    }

    @Test func `So many bytes are kept, but always the newest output, also after a restart`() {
        let half = OutputLog.byteLimit / 2
        var book = book(1...2, bytes: half)
        #expect(book.forgotten == nil)
        var restored = OutputLog()
        restored.restore(Array(book.outputs), forgotten: nil)
        #expect(restored == book)
        restored.append(output(3, bytes: 0))
        #expect(restored.forgotten == nil)
        restored.append(output(4))
        #expect(restored.forgotten == id(1) && restored.outputs.map(\.id) == [2, 3, 4].map(id))
        book.append(output(3, bytes: half))
        book.append(output(4, bytes: 0))
        #expect(book.forgotten == id(1), "what has gone makes room")
        book.append(output(5, bytes: 3 * half))
        #expect(book.outputs.map(\.id) == [id(5)] && book.forgotten == id(4) && book.last == id(5))
    }

    @Test func `A page has as many as fit, and at least one`() {
        let book = book(1...9, bytes: 10)
        #expect(book.outputs(after: id(0), bytes: 30)?.map(\.id.turn) == [1, 2, 3])
        #expect(book.outputs(after: id(3), bytes: 29)?.map(\.id.turn) == [4, 5])
        #expect(book.outputs(after: id(8), bytes: 1)?.map(\.id.turn) == [9])
        #expect(book.outputs(after: EffectID(turn: 8, ordinal: 1), bytes: 99)?.map(\.id.turn) == [9])
        #expect(book.outputs(after: id(9), bytes: 99) == [])
    }

    @Test func `The last output is known though none is kept`() {
        var book = OutputLog()
        #expect(book.last == nil)
        book.restore([], forgotten: id(7))
        #expect(book.last == id(7))
        #expect(book.outputs(after: id(6), bytes: 9) == nil && book.outputs(after: id(7), bytes: 9) == [])
    }
}
