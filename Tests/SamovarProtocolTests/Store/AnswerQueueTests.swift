import SamovarCore
import Testing

@testable import SamovarProtocol

/// Answers wait in the frames that brought them.
@Suite struct AnswerQueueTests {
    private func desk(_ number: UInt64) -> Dispatcher.WorkerDesk {
        Dispatcher.WorkerDesk(
            WorkerID(high: 0, low: number), route: Route(door: .work, id: [UInt8(number)]), heard: Timestamp(microseconds: 0))
    }

    private func answers(_ turns: ClosedRange<Int>) -> [JobResult] {
        turns.map { turn in
            JobResult(effect: EffectID(turn: turn, ordinal: 0), lease: Lease(start: 1, counter: turn), token: 0, answer: .returned)
        }
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
            let (result, worker) = try #require(next)
            #expect(result.effect.turn == turn)
            #expect(worker === (turn < 3 ? one : other))
        }
        #expect(queue.isEmpty && queue.first == nil)
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
