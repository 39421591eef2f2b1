import MessagePack
import Testing

/// Section 3 of `docs/protocol.md`: messages before the end of a job, and progress.
@Suite struct StreamTests {
    /// A store with a job whose messages the test streams, and the worker that has it.
    private func running() async throws -> (ForeignStore, RawPeer, RawTask) {
        let store = try await ForeignStore(.contract)
        let client = try await store.client()
        try await client.submit(.hang())
        let worker = try await store.worker()
        return (store, worker, try await worker.task())
    }

    private func streamed(_ store: ForeignStore) async throws -> Value? {
        try await store.ask("inspect").value["state"]?["streamed"]
    }

    @Test func `Streamed messages are applied in order, and STREAMED has the newest that is on disk`() async throws {
        let (store, worker, task) = try await running()
        try await worker.answer(task.streamed(1), task.streamed(2), task.streamed(3))
        var mark: Value?
        while mark != [task.lease, 3] { mark = try await worker.next(.streamed).body.first?[0] }
        #expect(try await streamed(store) == [1, 2, 3])
        try await worker.answer(task.done())
        #expect(try await worker.acknowledged() == [task.lease])
    }

    @Test func `A number that was applied is acknowledged again, one beyond the next is left alone, 0 is misuse`() async throws {
        let (store, worker, task) = try await running()
        try await worker.answer(task.streamed(1))
        #expect(try await worker.next(.streamed).body == [[[task.lease, 1]]])
        try await worker.answer(task.streamed(1))
        #expect(try await worker.next(.streamed).body == [[[task.lease, 1]]])
        try await worker.answer(task.streamed(3))
        try await worker.answer(task.streamed(0))
        #expect(try await worker.nextError().code == .misuse)
        try await worker.answer(task.streamed(2))
        #expect(try await worker.next(.streamed).body == [[[task.lease, 2]]])
        #expect(try await streamed(store) == [1, 2])
    }

    @Test func `The next attempt is told number and checkpoint, and the one before it is cancelled and not applied`() async throws {
        let (store, first, task) = try await running()
        try await first.answer(task.streamed(1, checkpoint: .binary([7])), task.streamed(2))
        var mark: Value?
        while mark != [task.lease, 2] { mark = try await first.next(.streamed).body.first?[0] }
        try await first.answer(task.returned, credit: 9)
        // What turns ordered leaves before what tells of answers.
        let second = try await first.task()
        #expect(try await first.acknowledged() == [task.lease])
        #expect(second.resume == [2, .binary([7])])
        try await first.answer(second.streamed(3))
        #expect(try await first.next(.streamed).body == [[[second.lease, 3]]])
        try await first.answer(task.streamed(4))
        #expect(try await first.next(.cancel).body == [[task.lease]])
        #expect(try await first.next(.streamed).body == [[[task.lease, 4]]])
        #expect(try await streamed(store) == [1, 2, 3])
    }

    @Test func `Progress is shown while the job runs, cut and clamped, and an integer is no fraction`() async throws {
        let (store, worker, task) = try await running()
        func progress(_ fraction: Value, _ text: Value) -> Value { [task.turn, task.ordinal, task.lease, fraction, text] }
        try await worker.send(.progress, 0, [progress(7.5, .string(String(repeating: "x", count: 300)))])
        try await worker.expectNothingBeforePong(1)
        let shown = try await store.ask("effects").value["open"]?[0]?["progress"]
        #expect(shown?["fraction"] == 1.0 && shown?["text"]?.string?.count == 200)
        try await worker.send(.progress, 0, [progress(1, nil)])
        try await worker.expectNothingBeforePong(1)
        #expect(try await store.counter("droppedFrames") == 1)
    }
}
