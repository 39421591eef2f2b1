import SamovarCore
import Testing

@testable import SamovarProtocol

/// Answers wait in the frames that brought them.
@Suite struct AnswerQueueTests {
    private func desk(_ number: UInt64) -> Dispatcher.WorkerDesk {
        Dispatcher.WorkerDesk(
            WorkerID(high: 0, low: number), route: Route(door: .work, id: [UInt8(number)]), heard: Timestamp(microseconds: 0))
    }

    private func result(_ turn: Int, _ answer: JobResult.Answer) -> JobResult {
        JobResult(
            effect: EffectID(turn: turn, ordinal: 0), lease: Lease(start: 1, counter: turn), token: UInt64(turn), answer: answer)
    }

    private func answers(_ turns: ClosedRange<Int>) -> JobResults {
        JobResults(turns.map { result($0, .returned) })
    }

    @Test func `They come out in the order in which they came, each with its worker`() throws {
        var queue = AnswerQueue()
        let (one, other) = (desk(1), desk(2))
        #expect(queue.isEmpty && queue.first == nil)
        queue.append(answers(1...2), of: one)
        queue.append([], of: other)
        queue.append(answers(3...3), of: other)
        for turn in 1...3 {
            #expect(queue.first?.turn == turn)
            let next = queue.popFirst()
            let row = try #require(next)
            #expect(row.effect.turn == turn)
            #expect(queue.worker === (turn < 3 ? one : other))
            #expect(queue.answer(of: row) == .returned)
        }
        let none = queue.popFirst()
        #expect(queue.isEmpty && queue.first == nil && none == nil)
    }

    @Test func `What an answer says stands in its frame until the next answer is taken`() throws {
        let results: JobResults = [result(1, .done([[1, 2]])), result(2, .done([]))]
        guard case .result(let read, _) = try Envelope(parts: Envelope(.result(results, credit: 1), timeline: .zero).parts).frame
        else { return #expect(Bool(false), "it was another frame") }
        var queue = AnswerQueue()
        queue.append(read, of: desk(1))
        queue.append(answers(3...3), of: desk(2))
        var next = queue.popFirst()
        let first = try #require(next)
        #expect(first.token == 1 && queue.answer(of: first) == .done([[1, 2]]))
        next = queue.popFirst()
        let second = try #require(next)
        #expect(queue.answer(of: second) == .done([]) && queue.worker?.id.low == 1)
        queue.letGo()
        #expect(queue.worker?.id.low == 1, "another answer waits")
        _ = queue.popFirst()
        #expect(queue.worker?.id.low == 2)
        queue.letGo()
        #expect(queue.worker == nil && queue.isEmpty)
    }

    @Test func `The first answer of a round that is to be acknowledged names its worker`() {
        var queue = AnswerQueue()
        let desk = desk(1)
        queue.append(answers(1...2), of: desk)
        #expect(queue.acknowledge(Lease(start: 1, counter: 1)) == nil, "none was taken")
        _ = queue.popFirst()
        #expect(queue.acknowledge(Lease(start: 1, counter: 1)) === desk)
        _ = queue.popFirst()
        #expect(queue.acknowledge(Lease(start: 1, counter: 2)) == nil)
        #expect(desk.acknowledged.map(\.counter) == [1, 2])
    }

    @Test func `Those of one worker are told without those that were taken`() throws {
        var queue = AnswerQueue()
        let (one, other) = (desk(1), desk(2))
        queue.append(answers(1...3), of: one)
        queue.append(answers(4...5), of: other)
        queue.append(answers(6...7), of: one)
        _ = queue.popFirst()
        #expect(queue.of(one.id).map(\.effect.turn) == [2, 3, 6, 7])
        #expect(queue.of(other.id).map(\.effect.turn) == [4, 5])
    }
}
