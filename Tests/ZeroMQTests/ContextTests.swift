import Foundation
import Testing
import ZeroMQ

@Suite struct ContextTests {
    @Test func `Lives as long as its sockets`() throws {
        weak var ended: Context?
        do {
            var left: Socket
            do {
                let context = try Context()
                ended = context
                left = try Socket(context, .pair, options: .front)
            }
            // Whoever made it has let it go.
            let context = try #require(ended)
            var right = try Socket(context, .pair, options: .front)
            try left.bind("inproc://alive")
            try right.connect("inproc://alive")
            #expect(try right.send([1]) == .sent)
            #expect(try left.next() == [[1]])
        }
        #expect(ended == nil)
    }

    @Test func `Callers of a shared context have the same`() throws {
        var first: Context? = try Context.shared()
        let second = try Context.shared()
        // Only sockets of one context find each other so.
        let address = "inproc://shared-\(UInt64.random(in: .min ... .max))"
        var binding = try Socket(try #require(first), .pair, options: .front)
        var connecting = try Socket(second, .pair, options: .front)
        try binding.bind(address)
        try connecting.connect(address)
        #expect(try connecting.send([1]) == .sent)
        #expect(try binding.next() == [[1]])

        binding.close()
        first = nil
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
            socket.close()
        }
    }

    @Test func `Limits its sockets`() throws {
        let context = try Context(maximumSockets: 1)
        let first = try Socket(context, .dealer, options: .client)
        let error = #expect(throws: ZeroMQError.self) { _ = try Socket(context, .dealer, options: .client) }
        #expect(error?.code == .tooManyDescriptors)
        first.close()
    }

    @Test func `A shortage of the process or of the machine is told from what will not pass`() {
        for system in [EMFILE, ENFILE, ENOMEM, ENOBUFS] { #expect(ZeroMQError.Code.errno(system).isShortage, "\(system)") }
        let others: [ZeroMQError.Code] = [.addressInUse, .errno(EINVAL), .invalidTopic, .invalidEndpoint, .optionMismatch]
        for other in others { #expect(!other.isShortage, "\(other)") }
    }

    @Test(arguments: [-1, Int.max]) func `Refuses senseless limits`(_ limit: Int) {
        let error = #expect(throws: ZeroMQError.self) { _ = try Context(maximumSockets: limit) }
        #expect(error?.description == "set ZMQ_MAX_SOCKETS to \(limit): Invalid argument")
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
    }

    @Test func `Raises the descriptor limit`() throws {
        let limit = try raiseDescriptorLimit()
        #expect(limit == min(sysconf(Int32(_SC_OPEN_MAX)), 1 << 20))
        #expect(try raiseDescriptorLimit() == limit)
    }
}
