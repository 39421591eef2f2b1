import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// Section 3 of `docs/protocol.md`: HELLO, identities, timelines.
@Suite struct GreetingTests {
    @Test(arguments: [false, true])
    func `Whoever has not said HELLO is unknownPeer, and may say it on the same socket`(_ isWorker: Bool) async throws {
        let store = try await ForeignStore()
        let peer = try RawPeer(isWorker ? store.work : store.front)
        for frame in [RawFrame(.ping), RawFrame(isWorker ? .credit : .settle, 1), RawFrame(.goodbye)] {
            try await peer.send(parts: frame.parts)
            #expect(try await peer.nextError().code == .unknownPeer)
        }
        if isWorker {
            try await peer.greet(worker: randomID(), schema: store.program.schema)
        } else {
            try await peer.greet()
        }
        try await peer.expectNothingBeforePong()
        try await peer.send(.goodbye)
        try await peer.send(.ping)
        #expect(try await peer.nextError().code == .unknownPeer, "after GOODBYE the peer is unknown")
    }

    @Test func `WELCOME tells a client program, next number, credit, newest turn and silence`() async throws {
        let store = try await ForeignStore(silence: 6)
        let welcome = try await eventually("the first turn is durable") {
            let welcome = try await RawPeer(store.front).greet(role: "durable", schema: store.program.schema)
            return welcome[4] == 0 ? Value?.none : welcome
        }
        #expect(welcome == ["Counter", 1, 1, 4_096, 1, 6_000])
        let worker = try await RawPeer(store.work).greet(worker: randomID(), schema: store.program.schema)
        #expect(worker.elements.dropLast(2) == ["Counter", 1, 1, 0], "number and credit mean nothing to a worker")
    }

    @Test func `A client belongs to the front listener, a worker to the work listener, and nobody greets at the admin listener`()
        async throws
    {
        let store = try await ForeignStore()
        let client: Value = .binary(randomID())
        let worker: Value = [.binary(randomID()), 1, ["default"], []]
        for (listener, role, who) in [
            (store.work, "client", client), (store.front, "worker", worker), (store.admin, "client", client),
        ] {
            let peer = try RawPeer(listener)
            try await peer.hello(1, schema: store.program.schema, role: .string(role), who)
            #expect(try await peer.nextError().code == .misuse, "\(role) at \(listener)")
        }
    }

    @Test func `Another program or version is refused, and so is a worker that names none`() async throws {
        let store = try await ForeignStore()
        let client: Value = .binary(randomID())
        let worker: Value = [.binary(randomID()), 1, ["default"], []]
        for schema: Value in [["Counter", 2], ["Other", 1], nil] {
            let peer = try RawPeer(store.work)
            try await peer.hello(1, schema: schema, role: "worker", worker)
            let error = try await peer.nextError()
            #expect(error.code == .schema && error.text.contains("this store runs Counter version 1"), "\(error)")
            guard schema != nil else { continue }
            let other = try RawPeer(store.front)
            try await other.hello(1, schema: schema, role: "client", client)
            #expect(try await other.nextError().code == .schema)
        }
        try await RawPeer(store.front).greet(schema: nil)
    }

    // MARK: Timelines

    @Test(arguments: [false, true])
    func `A frame of another timeline is answered unknownPeer and not looked into`(_ isWorker: Bool) async throws {
        let store = try await ForeignStore()
        let peer = isWorker ? try await store.worker() : try await store.client()
        let timeline = peer.timeline
        for other in [RawFrame.noTimeline, randomID()] {
            peer.timeline = other
            if isWorker { try await peer.send(.credit, 5) } else { try await peer.submit(.increment) }
            #expect(try await peer.nextError().code == .unknownPeer)
        }
        peer.timeline = timeline
        try await peer.expectNothingBeforePong()
        #expect(try await store.ask("inspect").value["state"]?["sync"] == 0)
        // The answer is in the store's timeline.
        peer.timeline = randomID()
        try await peer.send(.ping)
        #expect(try await peer.next(.error).timeline == timeline)
    }

    @Test func `A HELLO of another timeline is welcomed, and its newest turn and its claims mean nothing`() async throws {
        let store = try await ForeignStore()
        let client = try RawPeer(store.front)
        client.timeline = randomID()
        try await client.hello(1, witness: 1_000_000, role: "client", .binary(randomID()))
        _ = try await client.welcome()
        let worker = try RawPeer(store.work, options: .worker)
        worker.timeline = randomID()
        try await worker.greet(worker: randomID(), claims: [[900, 0, [1, 1], 5]], schema: store.program.schema)
        try await worker.expectNothingBeforePong()
        #expect(try await store.counter("droppedFrames") == 0)
    }

    @Test func `WELCOME has the number of the start, and who knows a later one is sent on`() async throws {
        let store = try await ForeignStore()
        let peer = try await store.client()
        for (start, isOurs) in [(1, true), (2, false)] as [(Int64, Bool)] {
            let other = try RawPeer(store.front)
            other.timeline = peer.timeline
            try await other.send(.hello, 1, [nil, 0, "client", .binary(randomID()), .int(start)])
            if isOurs {
                #expect(try await other.next(.welcome).number == 1)
            } else {
                #expect(try await other.nextError().code == .retryLater)
            }
        }
        #expect(try await store.counter("laterStarts") == 1)
        try await peer.expectNothingBeforePong()
    }

    @Test func `At the admin listener timelines do not matter`() async throws {
        let store = try await ForeignStore()
        let peer = try RawPeer(store.admin)
        peer.timeline = randomID()
        try await peer.send(.request, 0, [1, "status", nil])
        #expect(try await peer.next(.reply).timeline != peer.timeline)
    }

    // MARK: Identities

    @Test func `The newer of two connections with one session wins, and the older is told and unknown`() async throws {
        let store = try await ForeignStore()
        let session = randomID()
        let (older, newer) = (try RawPeer(store.front), try RawPeer(store.front))
        try await older.greet(session: session, epoch: 1)
        try await newer.greet(session: session, epoch: 2)
        #expect(try await older.nextError().code == .superseded)
        try await older.send(.ping)
        #expect(try await older.nextError().code == .unknownPeer)
        try await newer.expectNothingBeforePong()
    }

    @Test func `The same holds of a worker's identity`() async throws {
        let store = try await ForeignStore()
        let id = randomID()
        let older = try await store.worker(id)
        let newer = try await store.worker(id, epoch: 1)
        #expect(try await older.nextError().code == .superseded)
        try await newer.expectNothingBeforePong()
    }

    @Test func `A smaller number on another connection is late and superseded, an equal one takes over`() async throws {
        let store = try await ForeignStore()
        let session = randomID()
        let (first, late, equal) = (try RawPeer(store.front), try RawPeer(store.front), try RawPeer(store.front))
        try await first.greet(session: session, epoch: 5)
        try await late.hello(4, role: "client", .binary(session))
        #expect(try await late.nextError().code == .superseded)
        try await first.expectNothingBeforePong()
        try await equal.greet(session: session, epoch: 5)
        #expect(try await first.nextError().code == .superseded)
    }

    @Test func `The store does not see that a process died: its identity is taken until the silence has passed`() async throws {
        let store = try await ForeignStore(silence: 6)
        let session = randomID()
        var dead: RawPeer? = try RawPeer(store.front)
        try await dead?.greet(session: session, epoch: 5)
        dead = nil
        let begun = ContinuousClock.now
        while true {
            let next = try RawPeer(store.front)
            try await next.hello(1, role: "client", .binary(session))
            let answer = try await next.next()
            if answer.kind == Kind.welcome.rawValue { break }
            #expect(answer.body[0][0] == .int(Code.superseded.rawValue))
            guard ContinuousClock.now < begun + .seconds(30) else { throw TimedOut("it is never welcomed") }
            try await Task.sleep(for: .milliseconds(200))
        }
        #expect(ContinuousClock.now - begun > .seconds(3), "it is welcomed only when the silence has passed")
    }

    @Test func `A HELLO that is repeated begins no count anew`() async throws {
        let store = try await ForeignStore()
        let (id, client) = (randomID(), try await store.client())
        let worker = try await store.worker(id, epoch: 3, credit: 1)
        try await client.submit(.incrementAsync)
        let task = try await worker.task()
        try await worker.greet(worker: id, epoch: 3, claims: [task.claim], schema: store.program.schema)
        try await worker.send(.ping, 1)
        #expect(try await worker.next(.pong).number == 1, "the task still counts")
        try await worker.answer(task.done(.finished(1)))
        #expect(try await worker.acknowledged() == [task.lease])
        // A higher number begins anew.
        try await worker.greet(worker: id, epoch: 4, schema: store.program.schema)
        try await worker.send(.ping)
        #expect(try await worker.next(.pong).number == 0)
    }

    @Test func `A client that repeats HELLO is welcomed again, and goes on from the number that WELCOME says`() async throws {
        let store = try await ForeignStore()
        let (client, session) = (try RawPeer(store.front), randomID())
        try await client.greet(session: session)
        try await client.submit(.increment, .increment)
        #expect(try await client.outcomes().count == 2)
        #expect(try await client.greet(session: session)[2] == 3)
        try await client.submit(.increment, from: 3)
        #expect(try await client.outcomes()[0][0] == 3)
    }
}
