import Testing
import ZeroMQ

@Suite struct SendingTests {
    @Test func `Router knows no stranger`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        #expect(try router.send([0, 1, 2, 3, 4], [1], [2]) == .unreachable)
    }

    @Test func `Full queue would block`() throws {
        let context = try Context()
        var options = SocketOptions.front
        options.sendHighWaterMark = 2
        options.receiveHighWaterMark = 2
        var router = try Socket(context, .router, options: options)
        try router.bind("inproc://full")
        var dealer = try Socket(context, .dealer, options: options)
        try dealer.connect("inproc://full")
        #expect(try dealer.send([0]) == .sent)
        let peer = try router.next()[0]

        var accepted: UInt8 = 0
        while try router.send(peer, [accepted], [0]) == .sent { accepted += 1 }
        #expect(accepted == 4)
        #expect(try router.send(peer, [9], [9]) == .wouldBlock)

        // What was refused left nothing behind.
        for number in 0..<accepted { #expect(try dealer.next() == [[number], [0]]) }
        try eventually { try router.send(peer, [42], [0]) == .sent }
        #expect(try dealer.next() == [[42], [0]])
    }

    @Test func `Nobody connected would block`() throws {
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        // Port 1 of the loopback: nobody listens there.
        try dealer.connect("tcp://127.0.0.1:1")
        #expect(try dealer.send([1], [2]) == .wouldBlock)
    }

    @Test func `Peer that left would block`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()
        #expect(try dealer.send([1]) == .sent)
        let peer = try router.next()[0]

        router.close()
        try eventually { try dealer.send([1]) == .wouldBlock }
        dealer.close()

        var successor = try Socket(context, .router, options: .front)
        try successor.bind("tcp://127.0.0.1:*")
        #expect(try successor.send(peer, [1]) == .unreachable)
    }

    @Test func `Client that left is unreachable`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()
        #expect(try dealer.send([1]) == .sent)
        let peer = try router.next()[0]
        dealer.close()
        try eventually { try router.send(peer, [1]) == .unreachable }
    }

    @Test func `Subscriber cannot send`() throws {
        let context = try Context()
        var subscriber = try Socket(context, .subscriber, options: .subscriber)
        let error = #expect(throws: ZeroMQError.self) { _ = try subscriber.send([1]) }
        #expect(error?.operation == "send")
    }
}
