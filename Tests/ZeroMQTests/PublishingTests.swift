import Testing
import ZeroMQ

@Suite struct PublishingTests {
    @Test func `Subscriber gets its topic only`() throws {
        let context = try Context()
        var publisher = try Socket(context, .publisher, options: .view)
        try publisher.bind("tcp://127.0.0.1:*")
        var subscriber = try Socket(context, .subscriber, options: .subscriber)
        let topic: [UInt8] = Array("a".utf8) + [0]
        let longer: [UInt8] = Array("ab".utf8) + [0]
        try subscriber.subscribe(topic)
        try subscriber.connect(publisher.lastEndpoint)

        // The subscription takes its time to the publisher; what was sent before is lost.
        var poller = Poller()
        let slot = poller.add(subscriber)
        try eventually {
            #expect(try publisher.send(longer, [1]) == .sent)
            #expect(try publisher.send(topic, [2]) == .sent)
            return try poller.wait(timeoutMilliseconds: 1) > 0 && poller.isReadable(slot)
        }
        while let message = try subscriber.receive() { #expect(message.frames == [topic, [2]]) }
    }

    @Test func `An extended publisher is told of each new topic and of each that is gone, once`() throws {
        let context = try Context()
        var publisher = try Socket(context, .extendedPublisher, options: .view)
        try publisher.bind("tcp://127.0.0.1:*")
        let topic: [UInt8] = Array("a".utf8) + [0]
        func subscriber() throws -> Socket {
            var socket = try Socket(context, .subscriber, options: .subscriber)
            try socket.subscribe(topic)
            try socket.connect(publisher.lastEndpoint)
            return socket
        }
        var reports: [[UInt8]] = []
        func hear() throws { while let report = try publisher.receive() { reports.append(report.frames[0]) } }
        do {
            var first = try subscriber()
            try eventually {
                // A socket subscribes in one of its calls, once it is connected.
                #expect(try first.receive() == nil)
                try hear()
                return reports == [[1] + topic]
            }
            // The second one of this topic is reported to nobody, but gets what is published, as from any publisher.
            var second = try subscriber()
            try eventually {
                #expect(try publisher.send(topic, [7]) == .sent)
                return try second.receive() != nil && first.receive() != nil
            }
            try hear()
            #expect(reports == [[1] + topic])
        }
        try eventually {
            try hear()
            return reports == [[1] + topic, [0] + topic]
        }
    }

    /// The publisher never blocks, although its reports are left where they are.
    @Test func `An extended publisher drops what a subscriber does not take`() throws {
        let context = try Context()
        var publisher = try Socket(context, .extendedPublisher, options: .view)
        try publisher.bind("tcp://127.0.0.1:*")
        var subscriber = try Socket(context, .subscriber, options: .subscriber)
        try subscriber.subscribe([0])
        try subscriber.connect(publisher.lastEndpoint)
        try eventually {
            #expect(try publisher.send([0], [1]) == .sent)
            return try subscriber.receive() != nil
        }
        let large = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<200 { #expect(try publisher.send([0], large) == .sent) }
    }

    @Test func `No more than a few views wait for a subscriber that does not take them`() throws {
        let directory = try RuntimeDirectory()
        let context = try Context()
        var publisher = try Socket(context, .extendedPublisher, options: .view)
        let address = "ipc://" + directory.path + "/view"
        try publisher.bind(address)
        var options = SocketOptions.subscriber
        options.receiveHighWaterMark = 1
        var subscriber = try Socket(context, .subscriber, options: options)
        try subscriber.subscribe([0])
        try subscriber.connect(address)
        try eventually {
            #expect(try publisher.send([0], []) == .sent)
            return try subscriber.receive() != nil
        }
        // Larger than what the system keeps for a connection.
        let large = [UInt8](repeating: 1, count: 1 << 20)
        for _ in 0..<40 { #expect(try publisher.send([0], large) == .sent) }
        var waited = 0
        try eventually {
            #expect(try publisher.send([0], [2]) == .sent)
            while let message = try subscriber.receive() {
                if message.frames[1] == [2] { return true }
                if message.frames[1].count == large.count { waited += 1 }
            }
            return false
        }
        // Eight, less up to three that were taken before and of which the sender has not heard: it hears of four at a time. And what is on
        // its way: one here, and two at the subscriber's side.
        #expect((5...12).contains(waited), "\(waited) views")
    }

    @Test func `Longest topic arrives`() throws {
        let context = try Context()
        var publisher = try Socket(context, .publisher, options: .view)
        try publisher.bind("tcp://127.0.0.1:*")
        var subscriber = try Socket(context, .subscriber, options: .subscriber)
        let topic = [UInt8](repeating: 1, count: Socket.maximumTopicBytes - 1) + [0]
        try subscriber.subscribe(topic)
        try subscriber.connect(publisher.lastEndpoint)
        try eventually {
            #expect(try publisher.send(topic) == .sent)
            guard let message = try subscriber.receive() else { return false }
            return message.frames == [topic]
        }
    }

    @Test(arguments: [
        ([UInt8](repeating: 0, count: 201), "subscribe: the topic has 201 bytes, the limit is 200"),
        ([1], "subscribe: the topic does not end in 0x00"),
        ([], "subscribe: the topic does not end in 0x00"),
    ])
    func `Refuses topic`(_ topic: [UInt8], _ text: String) throws {
        let context = try Context()
        var subscriber = try Socket(context, .subscriber, options: .subscriber)
        let error = #expect(throws: ZeroMQError.self) { try subscriber.subscribe(topic) }
        #expect(error?.code == .invalidTopic)
        #expect(error?.description == text)
    }

    @Test func `Only subscribers subscribe`() throws {
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        #expect(throws: ZeroMQError.self) { try dealer.subscribe([0]) }
    }
}
