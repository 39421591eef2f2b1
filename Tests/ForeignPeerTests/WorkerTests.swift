import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// Section 3 of `docs/protocol.md`: credit, jobs, leases and tokens.
@Suite struct WorkerTests {
    /// A client that has ordered the counter's effect in turn 2.
    private func ordered(_ store: ForeignStore) async throws -> RawPeer {
        let client = try await store.client()
        try await client.submit(.incrementAsync)
        _ = try await client.outcomes()
        return client
    }

    @Test func `A task has its effect, lease, token, attempt, instance, queue, timeout, place and payload`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let worker = try await store.worker()
        let frame = try await worker.next(.task)
        #expect(frame.number == 1)
        let task = try RawTask(try #require(frame.body.first?[0]))
        #expect([task.turn, task.ordinal, task.lease] == [2, 0, [1, 1]])
        #expect([task.attempt, task.instance, task.queue, task.timeout, task.resume] == [1, nil, "default", 10_000, nil])
        #expect(try task.payload.unpacked == .case("addOne", ["to": 0]))
    }

    @Test func `No task comes beyond the credit, which is absolute, never falls, and is zero after HELLO`() async throws {
        let store = try await ForeignStore(.contract)
        let (client, id) = (try await store.client(), randomID())
        let worker = try await store.worker(id, credit: 0)
        for number in 1...4 as ClosedRange<Int64> {
            try await client.submit(.hang(id: "\(number)"), from: number)
            _ = try await client.outcomes()
        }
        try await worker.expectNothingBeforePong(0)
        try await worker.send(.credit, 2)
        #expect(try await worker.first(.task).number <= 2)
        var held = try await worker.tasksHeld(upTo: 2)
        try await worker.send(.credit, 2)
        try await worker.send(.credit, 1)
        try await worker.expectNothingBeforePong(0)
        try await worker.send(.ping, 3)
        let third = try await worker.first(.task)
        #expect(third.number == 3)
        held = 3
        // After HELLO the store hands out nothing before it is given credit, and counts from 1.
        let again = try RawPeer(store.work, options: .worker)
        try await again.greet(worker: id, epoch: 2, slots: 4, schema: store.program.schema)
        try await again.expectNothingBeforePong()
        try await again.send(.credit, 1)
        #expect(try await again.next(.task).number == 1)
        #expect(held == 3)
    }

    @Test func `PONG has the number of the last task`() async throws {
        let store = try await ForeignStore()
        let worker = try await store.worker()
        try await worker.send(.ping, 1)
        #expect(try await worker.next(.pong).number == 0)
        _ = try await ordered(store)
        _ = try await worker.task()
        try await worker.send(.ping, 1)
        #expect(try await worker.next(.pong).number == 1)
    }

    @Test func `A result that is sent twice is acknowledged twice and applied once`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let worker = try await store.worker()
        let task = try await worker.task()
        for count in [1, 7] as [Int64] {
            try await worker.answer(task.done(.finished(count)))
            #expect(try await worker.acknowledged() == [task.lease])
        }
        #expect(try await store.ask("inspect").value["state"]?["async"] == 1)
        #expect(try await store.counter("lateResults") == 1)
    }

    @Test func `A result with another token is counted and not answered, and the others of its frame are taken`() async throws {
        let store = try await ForeignStore()
        let client = try await ordered(store)
        let worker = try await store.worker()
        let task = try await worker.task()
        let forged: Value = [task.turn, task.ordinal, task.lease, 1, 0, [binary(.finished(99))]]
        let unknown: Value = [task.turn, task.ordinal, [1, 77], task.token, 0, [binary(.finished(99))]]
        try await worker.answer(forged, unknown, task.done(.finished(1)))
        #expect(try await worker.acknowledged() == [task.lease])
        #expect(try await store.counter("droppedFrames") == 2)
        try await client.send(.settle, 2)
        _ = try await client.first(.settled)
        #expect(try await store.ask("inspect").value["state"]?["async"] == 1)
    }

    @Test func `A message that is none of the program fails the attempt for good, as unhandled`() async throws {
        let store = try await ForeignStore()
        let client = try await ordered(store)
        let worker = try await store.worker()
        try await worker.answer(try await worker.task().done(.case("ended")))
        _ = try await worker.acknowledged()
        try await client.send(.settle, 2)
        _ = try await client.first(.settled)
        let problem = try await store.ask("inspect").value["state"]?["problem"]?.string
        #expect(problem?.contains("unknown case \"ended\"") == true, "\(problem ?? "none")")
    }

    @Test func `A failed attempt is followed by another under a greater lease, a permanent one is not`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let worker = try await store.worker(credit: 9)
        let first = try await worker.task()
        try await worker.answer(first.failed())
        _ = try await worker.acknowledged()
        let second = try RawTask(try #require(try await worker.first(.task).body.first?[0]))
        #expect(second.attempt == 2 && second.effect == first.effect)
        #expect((second.lease[1]?.integer ?? 0) > (first.lease[1]?.integer ?? 0))
        try await worker.answer(second.failed(String(repeating: "x", count: 2_000), permanent: true))
        _ = try await worker.acknowledged()
        let problem = try await store.ask("inspect").value["state"]?["problem"]?.string ?? ""
        let letters = problem.filter { $0 == "x" }.count
        #expect((900...1_000).contains(letters) && problem.contains("(2000 bytes)"), "its text is cut and says how long it was")
    }

    @Test func `A job that is returned goes to a worker again, and spends no attempt`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let worker = try await store.worker(credit: 2)
        let first = try await worker.task()
        try await worker.answer(first.returned, credit: 2)
        let second = try RawTask(try #require(try await worker.first(.task).body.first?[0]))
        #expect(second.attempt == 1 && second.lease != first.lease)
    }

    // MARK: Claims

    @Test func `A job that HELLO claims stays with its worker, and one that it does not claim is handed out again`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let id = randomID()
        let first = try await store.worker(id)
        let task = try await first.task()
        let claiming = try await store.worker(id, epoch: 2, credit: 1, claims: [task.claim], timeline: first.timeline)
        try await claiming.expectNothingBeforePong(1)
        try await claiming.answer(task.done(.finished(1)), credit: 1)
        #expect(try await claiming.acknowledged() == [task.lease])
        let client = try await store.client()
        try await client.submit(.incrementAsync)
        let lost = try await claiming.task()
        let forgetful = try await store.worker(id, epoch: 3, credit: 1, timeline: first.timeline)
        let again = try await forgetful.task()
        #expect(again.effect == lost.effect && again.lease != lost.lease)
    }

    @Test func `A claim without its token is counted, one of an effect that is not open is cancelled`() async throws {
        let store = try await ForeignStore()
        _ = try await ordered(store)
        let id = randomID()
        let worker = try await store.worker(id)
        let task = try await worker.task()
        try await worker.answer(task.done(.finished(1)))
        _ = try await worker.acknowledged()
        let claims: [Value] = [task.claim, [2, 0, [1, 9], 4]]
        let again = try await store.worker(id, epoch: 2, claims: claims, timeline: worker.timeline)
        #expect(try await again.next(.cancel).body == [[task.lease]])
        #expect(try await store.counter("droppedFrames") == 1)
    }

    @Test func `A silent worker is taken for dead, and its job goes to another`() async throws {
        // A job without a timeout of its own, so that only the silence can end this attempt.
        let store = try await ForeignStore(.contract, silence: 15)
        let client = try await store.client()
        try await client.submit(.hang())
        let silent = try await store.worker()
        let lost = try await silent.task()
        var other = try await store.worker()
        let begun = ContinuousClock.now
        var pings = 0
        while true {
            try await other.send(.ping, 1)
            pings += 1
            let frame = try await other.next()
            // On a machine that stood still, this one was silent as well.
            if frame.kind == Kind.error.rawValue { other = try await store.worker() }
            if frame.kind == Kind.task.rawValue {
                let task = try RawTask(try #require(frame.body.first?[0]))
                #expect(task.effect == lost.effect && task.lease != lost.lease)
                break
            }
            guard ContinuousClock.now < begun + patience else { throw Unexpected("nobody gets the job: \(pings)") }
            try await Task.sleep(for: .milliseconds(100))
        }
        try await silent.send(.ping, 1)
        #expect(try await silent.nextError().code == .unknownPeer)
    }

    // MARK: Leaving, queues, cancelling

    @Test func `After DRAIN no task comes whatever the credit, and GOODBYE frees what is held`() async throws {
        let store = try await ForeignStore(.contract)
        let client = try await store.client()
        let (leaving, other) = (try await store.worker(credit: 9), try await store.worker(credit: 0))
        try await client.submit(.hang(id: "a"))
        let task = try await leaving.task()
        try await leaving.send(.drain)
        try await leaving.send(.credit, 50)
        // Two sockets have no order between them: the store has to know of DRAIN before the input.
        try await leaving.expectNothingBeforePong(49)
        try await client.submit(.hang(id: "b"), from: 2)
        _ = try await client.first(.receipt) { $0.body.first?[0]?[0] == 2 }
        try await leaving.expectNothingBeforePong(50)
        try await leaving.send(.goodbye)
        try await other.send(.credit, 9)
        var effects: Set<String> = []
        while effects.count < 2 { for task in try await other.tasks() { effects.insert(task.effect) } }
        #expect(effects.contains(task.effect))
    }

    @Test func `A worker gets jobs of its queues alone, and of a queue with a limit no more than that`() async throws {
        let store = try await ForeignStore(.contract)
        let client = try await store.client()
        let publish = Value.case("publish", ["text": "x"])
        try await client.submit(publish, publish, publish, .hang())
        let worker = try await store.worker(credit: 9, queues: [["mail", 2], "search"])
        var queues: [String] = []
        while queues.count < 5 { queues += try await worker.tasks().compactMap(\.queue.string) }
        #expect(queues.sorted() == ["mail", "mail", "search", "search", "search"])
        try await worker.expectNothingBeforePong(9)
    }

    @Test func `CANCEL names the lease of a job that is not wanted any more, and is counted behind PONG`() async throws {
        let store = try await ForeignStore(.contract)
        let client = try await store.client()
        let worker = try await store.worker()
        try await client.submit(.hang())
        let task = try await worker.task()
        try await client.submit(.cancel(), from: 2)
        let cancel = try await worker.next(.cancel)
        #expect(cancel.number == 1 && cancel.body == [[task.lease]])
        try await worker.send(.ping, 1)
        _ = try await worker.next(.pong)
        let count = try await worker.next(.cancel)
        #expect(count.number == 1 && count.body == [[]])
        try await worker.answer(task.done(.noted("late")))
        #expect(try await worker.acknowledged() == [task.lease])
        #expect(try await store.ask("inspect").value["state"]?["notes"] == [])
    }
}

extension RawPeer {
    /// Waits until PONG counts so many tasks.
    fileprivate func tasksHeld(upTo number: Int64) async throws -> Int64 {
        var sent: Int64 = 0
        while sent < number {
            try await send(.ping, number)
            sent = try await first(.pong).number
        }
        return sent
    }
}
