import MessagePack
import Testing

/// Section 2 of `docs/protocol.md`: what is a frame, and what is not.
@Suite struct FrameTests {
    /// Messages that are none of ours, by what is wrong with them.
    static let malformed: [(what: String, parts: [[UInt8]])] = {
        let ping = RawFrame(.ping).parts[0]
        func changed(_ offset: Int, to byte: UInt8) -> [[UInt8]] {
            var header = ping
            header[offset] = byte
            return [header]
        }
        return [
            ("an empty part before the header", [[], ping]), ("three parts", [ping, [], []]),
            ("a header of 31 bytes", [Array(ping.dropLast())]), ("a header of 33 bytes", [ping + [0]]),
            ("another magic", changed(3, to: 0x32)), ("another version", changed(4, to: 2)),
            ("an unknown kind", changed(5, to: 99)), ("a body that the kind does not have", [ping, [0xc0]]),
            ("no body", RawFrame(.hello, 1).parts), ("a body that is no MessagePack", [RawFrame(.send).parts[0], [0xc1]]),
            ("bytes behind the body", RawFrame(.hello, 1, [nil, 0, "client", .binary(randomID())], nil).parts),
            ("an array of another length", RawFrame(.hello, 1, [nil, 0, "client"]).parts),
            ("text in the place of BINARY", RawFrame(.hello, 1, [nil, 0, "client", "0123456789abcdef"]).parts),
            ("an identity of 15 bytes", RawFrame(.hello, 1, [nil, 0, "client", .binary(Array(randomID().dropLast()))]).parts),
            ("an unknown role", RawFrame(.hello, 1, [nil, 0, "cook", .binary(randomID())]).parts),
            ("an instance key of 129 bytes", RawFrame(.viewRequest, 0, .string(String(repeating: "x", count: 129))).parts),
        ]
    }()

    @Test func `A malformed message is counted and not answered, and the connection stands`() async throws {
        let store = try await ForeignStore()
        let peer = try RawPeer(store.front)
        for (number, (what, parts)) in Self.malformed.enumerated() {
            try await peer.send(parts: parts)
            try await peer.send(.settle, 1)
            let answer = try await peer.nextError()
            #expect(answer.code == .unknownPeer, "\(what) was answered: \(answer)")
            #expect(try await store.counter("droppedFrames") == number + 1, "\(what)")
        }
        #expect(store.log.contains("dropped a message at front: malformed frame: "), "the log has the reason of the first")
        try await peer.greet()
    }

    @Test(arguments: [0, 65_537])
    func `A worker has 1 to 65,536 slots, or its HELLO is malformed`(_ slots: Int64) async throws {
        let store = try await ForeignStore()
        for slots in [slots, 65_536, 1] {
            let worker = try RawPeer(store.work)
            let who: Value = [.binary(randomID()), .int(slots), ["default"], []]
            try await worker.hello(1, schema: store.program.schema, role: "worker", who)
            if (1...65_536).contains(slots) { _ = try await worker.welcome() }
        }
        #expect(try await store.counter("droppedFrames") == 1)
    }

    @Test func `Of a malformed frame nothing is taken`() async throws {
        let store = try await ForeignStore()
        let client = try await store.client()
        try await client.send(.send, 0, [[1, nil, binary(.increment)], [2, nil, "no BINARY"]])
        try await client.submit(.decrement)
        #expect(try await client.outcomes() == [[1, 2, 0, nil]])
        #expect(try await store.ask("inspect").value["state"]?["sync"] == -1)
    }

    @Test func `Every encoding of a value is read, the reserved bytes are not, and an empty body is none`() async throws {
        let store = try await ForeignStore()
        let client = try RawPeer(store.front)
        var header = RawFrame(.hello, 1).parts[0]
        (header[6], header[7]) = (0xff, 0xff)
        let long: [UInt8] =
            [0xdd, 0, 0, 0, 4, 0xc0, 0xd3, 0, 0, 0, 0, 0, 0, 0, 0, 0xdb, 0, 0, 0, 6] + Array("client".utf8)
            + [0xc6, 0, 0, 0, 16] + randomID()
        try await client.send(parts: [header, long])
        _ = try await client.welcome()
        try await client.send(parts: [RawFrame(.ping, timeline: client.timeline).parts[0], []])
        _ = try await client.next(.pong)
    }

    @Test func `A frame that is not for the store, or not for its listener, is misuse`() async throws {
        let store = try await ForeignStore()
        let (client, worker, admin) = (try await store.client(), try await store.worker(), try RawPeer(store.admin))
        let ofClient: [(Kind, Value?)] = [(.pong, nil), (.drain, nil), (.credit, nil), (.waiting, "what"), (.acknowledge, [])]
        for (kind, body) in ofClient {
            try await client.send(parts: RawFrame(kind, body, timeline: client.timeline).parts)
            #expect(try await client.nextError().code == .misuse, "\(kind) from a client")
        }
        let ofWorker: [(Kind, Value?)] = [(.pong, nil), (.settle, nil), (.viewRequest, Value.nil)]
        for (kind, body) in ofWorker {
            try await worker.send(parts: RawFrame(kind, body, timeline: worker.timeline).parts)
            #expect(try await worker.nextError().code == .misuse, "\(kind) from a worker")
        }
        for kind in [Kind.ping, .settle, .goodbye] {
            try await admin.send(kind)
            #expect(try await admin.nextError().code == .misuse, "\(kind) from an operator")
        }
        #expect(try await store.counter("droppedFrames") == 11)
        try await client.expectNothingBeforePong()
    }
}

extension RawFrame {
    fileprivate init(_ kind: Kind, _ body: Value?, timeline: [UInt8]) {
        self.init(kind, 1, timeline: timeline)
        if let body { self.body = [body] }
    }
}
