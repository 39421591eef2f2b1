import Testing
import ZeroMQ

/// Serialized: the storms count the signals of the whole process.
@Suite(.serialized) struct SignalTests {
    @Test func `Signals do not shorten a wait`() throws {
        var poller = Poller()
        _ = poller.add(try Wakeup())
        let signals = try underSignalStorm { () throws in
            let start = ContinuousClock.now
            #expect(try poller.wait(timeoutMilliseconds: 300) == 0)
            let waited = ContinuousClock.now - start
            #expect(waited >= .milliseconds(300))
            #expect(waited < .milliseconds(patience))
        }
        #expect(signals > 10)
    }

    @Test func `Signals do not disturb an exchange`() throws {
        let signals = try underSignalStorm { () throws in
            for _ in 0..<10 {
                let context = try Context()
                var router = try Socket(context, .router, options: .front)
                try router.bind("tcp://127.0.0.1:*")
                var dealer = try Socket(context, .dealer, options: .client)
                try dealer.connect(router.lastEndpoint)
                try dealer.becomesWritable()
                for number in 0..<50 {
                    let body = [UInt8](repeating: UInt8(number), count: 5000)
                    #expect(try dealer.send([1], body) == .sent)
                    let request = try router.next()
                    #expect(try router.send(request[0], request[2]) == .sent)
                    #expect(try dealer.next() == [body])
                }
                router.close()
                dealer.close()
            }
        }
        #expect(signals > 10)
    }
}
