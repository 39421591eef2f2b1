import MessagePack
import ProcessSupport
import Testing

/// What peers can do that err, lie or are late: nothing to the store, and nothing to others.
@Suite struct StrangerTests {
    @Test(arguments: [Value.int(1_000_000), [1_000_000, 7]])
    func `A HELLO with a turn that it cannot prove is served, counted and logged`(_ witness: Value) async throws {
        let store = try await ForeignStore()
        let known = try await store.client()
        let stranger = try RawPeer(store.front)
        stranger.timeline = known.timeline
        try await stranger.send(.hello, 1, [nil, witness, "client", .binary(randomID())])
        _ = try await stranger.welcome()
        #expect(try await store.counter("unprovenWitnesses") == 1)
        #expect(store.log.contains("it cannot prove that, and is served"))
        try await known.submit(.increment)
        #expect(try await known.outcomes()[0][2] == 0, "and the store goes on")
    }

    @Test func `The text of a rejection is bounded, however large the input was`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.submit(.case(String(repeating: "x", count: 900_000)))
        let outcome = try #require(try await client.outcomes().first)
        #expect(outcome[2] == 2)
        #expect((1...4_000).contains(outcome[3]?.string?.utf8.count ?? 0), "\(outcome.text.prefix(200))")
    }

    @Test func `A session that has ended with GOODBYE is not begun again`() async throws {
        let store = try await ForeignStore()
        let session = randomID()
        for attempt in 1...3 {
            let client = try RawPeer(store.front)
            try await client.hello(Int64(attempt), role: "client", .binary(session))
            guard attempt == 1 else {
                #expect(try await client.nextError().code == .sessionExpired)
                continue
            }
            _ = try await client.welcome()
            try await client.submit(.increment)
            _ = try await client.outcomes()
            try await client.send(.goodbye)
        }
        #expect(try await store.ask("inspect").value["state"]?["sync"] == 1)
    }

    @Test func `A session that an input has ended repeats its outcome to who has sent one, and takes nothing more`()
        async throws
    {
        let store = try await ForeignStore()
        let session = randomID()
        let submission: Value = [1, nil, binary(.increment)]
        var first: [Value] = []
        for epoch in 1...3 as ClosedRange<Int64> {
            let client = try RawPeer(store.front)
            try await client.send(.hello, epoch, flags: 2, [nil, 0, "client", .binary(session)])
            #expect(try await client.welcome()[2] == (epoch == 1 ? 1 : 2))
            try await client.send(.send, 0, flags: 2, [submission])
            let outcomes = try await client.outcomes()
            if epoch == 1 { first = outcomes }
            #expect(outcomes == first && outcomes.count == 1)
            try await client.submit(.increment, from: 2, confirmed: 1)
            #expect(try await client.nextError().code == .sessionExpired)
        }
        let other = try RawPeer(store.front)
        try await other.hello(4, role: "client", .binary(session))
        #expect(try await other.nextError().code == .sessionExpired, "it has not said that it has sent one")
        #expect(try await store.ask("inspect").value["state"]?["sync"] == 1)
    }

    @Test func `An answer of an attempt whose effect another worker has is acknowledged and does not count`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        let id = randomID()
        let first = try await store.worker(id)
        try await client.submit(.incrementAsync)
        let task = try await first.task()
        // Its process begins anew and knows nothing of the job.
        let late = try await store.worker(id, epoch: 2, credit: 0, timeline: first.timeline)
        let second = try await store.worker()
        let again = try await second.task()
        #expect(again.effect == task.effect && again.lease != task.lease)
        try await late.answer(task.done(.finished(100)), credit: 0)
        #expect(try await late.acknowledged() == [task.lease])
        try await second.answer(again.done(.finished(5)))
        #expect(try await second.acknowledged() == [again.lease])
        #expect(try await store.ask("inspect").value["state"]?["async"] == 5)
    }
}
