import Foundation
import Testing
import ZeroMQ

@Suite struct PollerTests {
    @Test func `Wakes from another thread`() throws {
        let wakeup = try Wakeup()
        var poller = Poller()
        let slot = poller.add(wakeup)
        #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
        expect(!poller.isReadable(slot))

        Thread.detachNewThread { wakeup.signal() }
        #expect(try poller.wait(timeoutMilliseconds: patience) == 1)
        expect(poller.isReadable(slot))
        wakeup.drain()
        #expect(try poller.wait(timeoutMilliseconds: 0) == 0)
    }

    @Test func `Many signals are one wake up`() throws {
        let wakeup = try Wakeup()
        var poller = Poller()
        _ = poller.add(wakeup)
        for _ in 0..<100_000 { wakeup.signal() }
        #expect(try poller.wait(timeoutMilliseconds: nil) == 1)
        wakeup.drain()
        #expect(try poller.wait(timeoutMilliseconds: -1) == 0)
    }

    @Test func `Waits for one signal and no longer than it may`() throws {
        let wakeup = try Wakeup()
        var start = ContinuousClock.now
        wakeup.wait(microseconds: 5_000)
        #expect(ContinuousClock.now - start >= .milliseconds(5))
        start = .now
        Thread.detachNewThread { wakeup.signal() }
        wakeup.wait(microseconds: patience * 1_000)
        #expect(ContinuousClock.now - start < .milliseconds(patience))
        // The signal is still there for the poller.
        var poller = Poller()
        _ = poller.add(wakeup)
        #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
    }

    @Test func `Tells slots apart`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("inproc://slots")
        var dealer = try Socket(context, .dealer, options: .client)
        try dealer.connect("inproc://slots")
        let wakeup = try Wakeup()
        var poller = Poller()
        let routerSlot = poller.add(router)
        let dealerSlot = poller.add(dealer, for: [.readable, .writable])
        let wakeupSlot = poller.add(wakeup)

        #expect(try poller.wait(timeoutMilliseconds: 0) == 1)
        expect(poller.isWritable(dealerSlot))
        expect(!poller.isReadable(dealerSlot))

        poller.setInterest(.readable, for: dealerSlot)
        #expect(try dealer.send([1]) == .sent)
        #expect(try poller.wait(timeoutMilliseconds: patience) == 1)
        expect(poller.isReadable(routerSlot))
        expect(!poller.isWritable(dealerSlot))

        wakeup.signal()
        #expect(try poller.wait(timeoutMilliseconds: patience) == 2)
        expect(poller.isReadable(wakeupSlot))
        poller.remove(wakeupSlot)
        #expect(try poller.wait(timeoutMilliseconds: patience) == 1)
        expect(!poller.isReadable(wakeupSlot))
    }

    @Test func `Skips a closed socket until it is replaced`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("inproc://replaced")
        var poller = Poller()
        let dealer = try Socket(context, .dealer, options: .client)
        let slot = poller.add(dealer, for: .writable)
        dealer.close()
        #expect(try poller.wait(timeoutMilliseconds: 0) == 0)

        var successor = try Socket(context, .dealer, options: .client)
        try successor.connect("inproc://replaced")
        poller.remove(slot)
        let place = poller.add(successor, for: .writable)
        #expect(place == slot)
        #expect(try poller.wait(timeoutMilliseconds: patience) == 1)
        expect(poller.isWritable(place))
    }

    @Test func `Waits as long as asked`() throws {
        var poller = Poller()
        _ = poller.add(try Wakeup())
        let start = ContinuousClock.now
        #expect(try poller.wait(timeoutMilliseconds: 50) == 0)
        #expect(ContinuousClock.now - start >= .milliseconds(50))
    }
}
