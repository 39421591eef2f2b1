import MachineSupport
import SamovarCore
import Testing

@testable import SamovarStore
@testable import SamovarWire

/// Answers wait in the frames that brought them.
@Suite struct AnswerQueueTests {
    private func workerState(_ number: UInt64) -> Dispatcher.WorkerState {
        Dispatcher.WorkerState(
            WorkerID(high: 0, low: number), route: Route(listener: .work, id: [UInt8(number)]), heard: Timestamp(microseconds: 0))
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
        let (one, other) = (workerState(1), workerState(2))
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
        #expect(queue.waiting == 0 && queue.waitingBytes == 0)
    }

    @Test func `What an answer says stands in its frame until the next answer is taken`() throws {
        let results: JobResults = [result(1, .done([[1, 2]])), result(2, .done([]))]
        guard case .result(let read, _) = try Envelope(parts: Envelope(.result(results, credit: 1), timeline: .zero).parts).frame
        else { return #expect(Bool(false), "it was another frame") }
        var queue = AnswerQueue()
        queue.append(read, of: workerState(1))
        queue.append(answers(3...3), of: workerState(2))
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

    @Test func `The first answer of a round that is to be acknowledged adds its worker`() {
        var queue = AnswerQueue()
        let workerState = workerState(1)
        queue.append(answers(1...2), of: workerState)
        queue.acknowledge(Lease(start: 1, counter: 1))
        #expect(queue.acknowledged.isEmpty, "none was taken")
        for counter in 1...2 {
            _ = queue.popFirst()
            queue.acknowledge(Lease(start: 1, counter: counter))
            #expect(queue.acknowledged.count == 1 && queue.acknowledged.first === workerState)
        }
        #expect(workerState.acknowledged.map(\.counter) == [1, 2])
        queue.letGo()
        #expect(queue.worker == nil && queue.acknowledged.count == 1, "its frame is gone, and it is still to be told")
        queue.endRound()
        #expect(queue.acknowledged.isEmpty)
    }

    @Test func `Those of one worker are told without those that were taken`() throws {
        var queue = AnswerQueue()
        let (one, other) = (workerState(1), workerState(2))
        queue.append(answers(1...3), of: one)
        queue.append(answers(4...5), of: other)
        queue.append(answers(6...7), of: one)
        _ = queue.popFirst()
        #expect(queue.of(one.id).map(\.effect.turn) == [2, 3, 6, 7])
        #expect(queue.of(other.id).map(\.effect.turn) == [4, 5])
    }

    @Test func `The end of an attempt waits for its own effect alone, if it is newer and was not taken`() {
        var queue = AnswerQueue()
        let streamed = result(4, .streamed(index: 1, message: [1], checkpoint: nil))
        queue.append(answers(1...3), of: workerState(1))
        queue.append([streamed, result(5, .returned)], of: workerState(2))
        // The lease of each has the number of its turn.
        func hasEnd(_ turn: Int, after counter: Int) -> Bool {
            queue.hasEnd(of: EffectID(turn: turn, ordinal: 0), after: Lease(start: 1, counter: counter))
        }
        #expect((1...6).filter { hasEnd($0, after: $0 - 1) } == [1, 2, 3, 5], "the effect of turn 4 goes on")
        #expect((1...6).filter { hasEnd($0, after: $0) } == [], "the newer ones are of other effects")
        for _ in 1...2 { _ = queue.popFirst() }
        #expect((1...6).filter { hasEnd($0, after: $0 - 1) } == [3, 5])
        #expect((1...6).filter { hasEnd($0, after: $0) } == [])
    }

    // MARK: Answers that came twice

    @Test func `What came twice is taken out when more wait than usual, and what differs stays in its order`() {
        var queue = AnswerQueue()
        let (one, other) = (workerState(1), workerState(2))
        queue.append(answers(1...3), of: one)
        _ = queue.popFirst()
        queue.append(answers(1...4), of: one)
        queue.append(answers(3...5), of: other)
        queue.removeRepeated(beyond: 7, bytes: .max)
        #expect(queue.waiting == 7, "as many as usual")
        queue.removeRepeated(beyond: 6, bytes: .max)
        // What was taken may come again: its acknowledgement may be lost. What still waits may not.
        #expect(queue.of(one.id).map(\.effect.turn) == [2, 3, 1, 4])
        #expect(queue.of(other.id).map(\.effect.turn) == [5])
        #expect(queue.waiting == 3)
    }

    @Test func `The next look comes when twice as many wait as were left`() {
        var queue = AnswerQueue()
        let workerState = workerState(1)
        queue.append(answers(1...5), of: workerState)
        queue.removeRepeated(beyond: 4, bytes: .max)
        #expect(queue.waiting == 5)
        queue.append(answers(1...5), of: workerState)
        queue.append(answers(1...4), of: workerState)
        queue.removeRepeated(beyond: 4, bytes: .max)
        #expect(queue.waiting == 14)
        queue.append(answers(5...5), of: workerState)
        queue.removeRepeated(beyond: 4, bytes: .max)
        #expect(queue.waiting == 5)
    }

    @Test func `Many bytes are looked at as many answers are`() throws {
        var queue = AnswerQueue()
        let workerState = workerState(1)
        let frame = try #require(try Self.read([result(1, .done([[UInt8](repeating: 1, count: 100)]))]))
        queue.append(frame, of: workerState)
        queue.append(frame, of: workerState)
        let bytes = queue.waitingBytes
        #expect(bytes > 200)
        queue.removeRepeated(beyond: 99, bytes: bytes)
        #expect(queue.waiting == 2 && queue.waitingBytes == bytes)
        queue.removeRepeated(beyond: 99, bytes: bytes - 1)
        #expect(queue.waiting == 1 && queue.waitingBytes < bytes)
        _ = queue.popFirst()
        #expect(queue.waiting == 0 && queue.waitingBytes == 0)
    }

    @Test func `The next look comes when twice as many bytes wait as were left`() throws {
        var queue = AnswerQueue()
        let workerState = workerState(1)
        let frame = try #require(try Self.read([result(1, .done([[1, 2, 3]]))]))
        queue.append(frame, of: workerState)
        queue.removeRepeated(beyond: 99, bytes: 0)
        let left = queue.waitingBytes
        #expect(queue.waiting == 1 && left > 0)
        queue.append(frame, of: workerState)
        queue.removeRepeated(beyond: 99, bytes: 0)
        #expect(queue.waiting == 2 && queue.waitingBytes == 2 * left)
        queue.append(frame, of: workerState)
        queue.removeRepeated(beyond: 99, bytes: 0)
        #expect(queue.waiting == 1 && queue.waitingBytes == left)
    }

    @Test func `Messages of one job are told apart by their numbers`() {
        var queue = AnswerQueue()
        let streamed = (1...2).map { result(1, .streamed(index: $0, message: [1], checkpoint: nil)) }
        queue.append(JobResults(streamed + [result(1, .done([]))]), of: workerState(1))
        queue.append(JobResults(streamed + [result(1, .done([]))]), of: workerState(1))
        queue.removeRepeated(beyond: 0, bytes: 0)
        #expect(queue.waiting == 3)
    }

    private static func read(_ results: JobResults) throws -> JobResults? {
        guard case .result(let read, _) = try Envelope(parts: Envelope(.result(results, credit: 1), timeline: .zero).parts).frame
        else { return nil }
        return read
    }
}
