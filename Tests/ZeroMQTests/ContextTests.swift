import Testing
import ZeroMQ

@Suite struct ContextTests {
    @Test func closesOnceItsSocketsAreClosed() throws {
        let context = try Context()
        let socket = try Socket(context, .pair, options: .front)
        let error = #expect(throws: ZeroMQError.self) { try context.close() }
        #expect(error?.code == .socketsOpen)
        #expect(error?.description == "close context: open sockets: 1")
        socket.close()
        try context.close()
        try context.close()
    }

    @Test func makesNoSocketAfterClose() throws {
        let context = try Context()
        try context.close()
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .router, options: .front) }
        #expect(error?.code == .terminated)
    }

    @Test func limitsItsSockets() throws {
        let context = try Context(maximumSockets: 1)
        let first = try Socket(context, .dealer, options: .client)
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .dealer, options: .client) }
        #expect(error?.code == .tooManyDescriptors)
        first.close()
    }

    @Test(arguments: [-1, Int.max]) func refusesSenselessLimits(_ limit: Int) {
        let error = #expect(throws: ZeroMQError.self) { _ = try Context(ioThreads: limit) }
        #expect(error?.description == "set ZMQ_IO_THREADS to \(limit): Invalid argument")
    }

    @Test func closesWithUnsentMessages() throws {
        let context = try Context()
        var sender = try Socket(context, .pair, options: .front)
        var receiver = try Socket(context, .pair, options: .front)
        try sender.bind("inproc://unsent")
        try receiver.connect("inproc://unsent")
        for _ in 0..<100 { #expect(try sender.send([1]) == .sent) }
        sender.close()
        receiver.close()
        try context.close()
    }

    @Test func raisesTheDescriptorLimit() throws {
        let limit = try raiseDescriptorLimit()
        #expect(limit.soft == min(limit.hard, DescriptorLimit.ceiling))
        #expect(try raiseDescriptorLimit() == limit)
    }
}
