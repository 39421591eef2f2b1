import Testing
import ZeroMQ

@Suite struct ContextTests {
    @Test func `Closes once its sockets are closed`() throws {
        let context = try Context()
        let socket = try Socket(context, .pair, options: .front)
        let error = #expect(throws: ZeroMQError.self) { try context.close() }
        #expect(error?.code == .socketsOpen)
        #expect(error?.description == "close context: open sockets: 1")
        socket.close()
        try context.close()
        try context.close()
    }

    @Test func `Makes no socket after close`() throws {
        let context = try Context()
        try context.close()
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .router, options: .front) }
        #expect(error?.code == .terminated)
    }

    @Test func `Callers of a shared context have the same`() throws {
        let first = try Context.shared()
        let second = try Context.shared()
        // Only sockets of one context find each other so.
        let address = "inproc://shared-\(UInt64.random(in: .min ... .max))"
        var binding = try Socket(first, .pair, options: .front)
        var connecting = try Socket(second, .pair, options: .front)
        try binding.bind(address)
        try connecting.connect(address)
        #expect(try connecting.send([1]) == .sent)
        #expect(try binding.next() == [[1]])

        binding.close()
        try first.close()
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(first, .pair, options: .front) }
        #expect(error?.code == .terminated)
        // The others go on.
        var third = try Socket(try Context.shared(), .pair, options: .front)
        try third.bind(address + "-3")
        var fourth = try Socket(second, .pair, options: .front)
        try fourth.connect(address + "-3")
        #expect(try fourth.send([2]) == .sent)
        #expect(try third.next() == [[2]])
    }

    @Test func `A shared context begins anew after its last holder`() throws {
        for _ in 1...20 {
            let context = try Context.shared()
            let socket = try Socket(context, .dealer, options: .client)
            #expect(throws: ZeroMQError.self) { try context.close() }
            socket.close()
            try context.close()
            try context.close()
        }
    }

    @Test func `Limits its sockets`() throws {
        let context = try Context(maximumSockets: 1)
        let first = try Socket(context, .dealer, options: .client)
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .dealer, options: .client) }
        #expect(error?.code == .tooManyDescriptors)
        first.close()
    }

    @Test(arguments: [-1, Int.max]) func `Refuses senseless limits`(_ limit: Int) {
        let error = #expect(throws: ZeroMQError.self) { _ = try Context(ioThreads: limit) }
        #expect(error?.description == "set ZMQ_IO_THREADS to \(limit): Invalid argument")
    }

    @Test func `Closes with unsent messages`() throws {
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

    @Test func `Raises the descriptor limit`() throws {
        let limit = try raiseDescriptorLimit()
        #expect(limit.soft == min(limit.hard, DescriptorLimit.ceiling))
        #expect(try raiseDescriptorLimit() == limit)
    }
}
