import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// Section 1 of `docs/protocol.md`: addresses, sockets, sizes.
@Suite struct ListenerTests {
    @Test func `The listeners of an ipc endpoint are files of its folder`() async throws {
        let store = try await ForeignStore()
        let (client, worker) = (try await store.client(), try await store.worker())
        try await client.submit(.increment)
        #expect(try await client.outcomes().count == 1)
        try await worker.expectNothingBeforePong(1)
        #expect(try await store.ask("status").value["turn"] != nil)
        let subscriber = try RawSubscriber(store.view)
        #expect(try await subscriber.next(.tick).frame.body.count == 3)
    }

    @Test func `Nothing can be sent before the connection stands`() async throws {
        let scratch = try Scratch()
        let peer = try RawPeer("ipc://\(scratch.folder("nobody"))")
        #expect(try !peer.trySend(RawFrame(.ping).parts))
        try await peer.waitForDisconnect()
        #expect(try !peer.trySend(RawFrame(.ping).parts), "the socket does not connect again by itself")
    }

    @Test(arguments: [("front", 2 << 20), ("work", 5 << 20), ("admin", 1 << 20)])
    func `A part of the largest size is read, and one byte more costs the connection and no more`(
        _ listener: String, _ limit: Int
    ) async throws {
        let store = try await ForeignStore()
        let address = "ipc://\(store.scratch.folder("s"))/\(listener)"
        let fits = try RawPeer(address)
        try await fits.send(parts: [RawFrame(.ping).parts[0], [UInt8](repeating: 0, count: limit)])
        try await fits.send(.ping)
        // The large one is malformed, and dropped without an answer; the small one was read after it.
        _ = try await fits.next(.error)
        #expect(try await store.counter("droppedFrames") >= 1)
        let large = try RawPeer(address)
        try await large.send(parts: [RawFrame(.ping).parts[0], [UInt8](repeating: 0, count: limit + 1)])
        try await large.waitForDisconnect()
        try await fits.send(.ping)
        _ = try await fits.next(.error)
        #expect(try await store.ask("status").value["starts"] == 1)
    }

    @Test func `Views come by the topic of their instance, as whole messages of three parts`() async throws {
        let store = try await ForeignStore()
        let subscriber = try RawSubscriber(store.view, topic: Array("view/main".utf8) + [0])
        let stranger = try RawSubscriber(store.view, topic: Array("view/mai".utf8) + [0])
        _ = try await subscriber.next(.tick)
        let client = try await store.client()
        try await client.submit(.increment)
        let turn = try #require(try await client.outcomes()[0][1]?.integer)
        let view = try await subscriber.first(.view) { $0.number == turn }
        #expect(view.topic == Array("view/main".utf8) + [0])
        #expect(view.frame.timeline == client.timeline)
        #expect(view.frame.body[0] == Value.nil && view.frame.body[1]["sync"] == "1")
        let tick = try await subscriber.first(.tick) { $0.number == turn }
        #expect(tick.frame.body == [.nil, .int(turn), true], "nothing is left to do")
        #expect(try stranger.receive() == nil)
    }
}
