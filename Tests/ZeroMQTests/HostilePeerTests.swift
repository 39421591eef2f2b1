import Testing
import ZeroMQ

/// What peers must not achieve.
@Suite struct HostilePeerTests {
    @Test func `Too many frames are thrown away`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()
        #expect(try dealer.send((0..<1000).map { [UInt8(truncatingIfNeeded: $0)] }) == .sent)
        #expect(try dealer.send([1], [2]) == .sent)

        var poller = Poller()
        _ = poller.add(router)
        try poller.wait(timeoutMilliseconds: patience)
        guard let message = try router.receive() else { throw TimedOut() }
        #expect(message.isTruncated)
        #expect(message.frames.count == 4)
        #expect(message.frames[1...] == [[0], [1], [2]])
        #expect(try router.next()[1...] == [[1], [2]])
    }

    @Test func `Too large frame disconnects only its sender`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        var honest = try Socket(context, .dealer, options: .client)
        var greedy = try Socket(context, .dealer, options: .client)
        try honest.connect(router.lastEndpoint)
        try greedy.connect(router.lastEndpoint)
        try honest.becomesWritable()
        try greedy.becomesWritable()

        let limit = Int(SocketOptions.front.maximumFrameBytes)
        #expect(try greedy.send([UInt8](repeating: 0, count: limit + 1)) == .sent)
        try eventually { try greedy.send([1]) == .wouldBlock }

        let largest = [UInt8](repeating: 1, count: limit)
        #expect(try honest.send(largest) == .sent)
        let request = try router.next()
        #expect(request[1] == largest)
        #expect(try router.send(request[0], [2]) == .sent)
        #expect(try honest.next() == [[2]])
    }

    @Test func `Routing IDs cannot be guessed`() throws {
        // Without a seed the first router of every process gives 006b8b4567.
        let ids = try (0..<2).map { _ in try firstRoutingID() }
        #expect(ids[0] != ids[1])
        #expect(!ids.contains([0x00, 0x6b, 0x8b, 0x45, 0x67]))
    }

    private func firstRoutingID() throws -> [UInt8] {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("inproc://id")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect("inproc://id")
        #expect(try dealer.send([1]) == .sent)
        return try router.next()[0]
    }
}
