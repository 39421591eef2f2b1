import Testing
import ZeroMQ

@Suite struct ConnectionMonitorTests {
    @Test func `Tells that the peer left`() throws {
        let context = try Context()
        var router = try Socket(context, .router, options: .front)
        try router.bind("tcp://127.0.0.1:*")
        var dealer = try Socket(context, .dealer, options: .client)
        var monitor = try ConnectionMonitor(dealer, in: context)
        try dealer.connect(router.lastEndpoint)
        try dealer.becomesWritable()
        #expect(try monitor.connectionEnd() == nil)

        router.close()
        // What it tells before is that the connection has begun.
        var poller = Poller()
        let slot = poller.add(monitor)
        try eventually {
            try poller.wait(timeoutMilliseconds: patience)
            expect(poller.isReadable(slot))
            return try monitor.connectionEnd() != nil
        }
        #expect(try monitor.connectionEnd() == nil)
    }

    @Test func `Tells that nobody listens`() throws {
        let context = try Context()
        var dealer = try Socket(context, .dealer, options: .client)
        var monitor = try ConnectionMonitor(dealer, in: context)
        try dealer.connect("tcp://127.0.0.1:1")
        try eventually { try monitor.connectionEnd() != nil }
    }

    @Test func `May outlive its socket`() throws {
        let context = try Context()
        let dealer = try Socket(context, .dealer, options: .client)
        var monitor: ConnectionMonitor? = try ConnectionMonitor(dealer, in: context)
        dealer.close()
        monitor = nil
        let isGone = monitor == nil
        #expect(isGone)
    }

    /// Where an event goes to a monitor that nobody reads any more, the I/O thread of libzmq stands still, and with it all sockets.
    @Test func `The context goes on, whichever of a socket, its peer and its monitor is closed first`() throws {
        // Closed sockets count for a while.
        let context = try Context(maximumSockets: 4_096)
        // Whoever fails ends no context whose thread stands still.
        let held = Unmanaged.passRetained(context)
        for _ in 0..<1_000 {
            var router = try Socket(context, .router, options: .front)
            try router.bind("tcp://127.0.0.1:*")
            var dealer = try Socket(context, .dealer, options: .client)
            let monitor = try ConnectionMonitor(dealer, in: context)
            try dealer.connect(router.lastEndpoint)
            try dealer.becomesWritable()
            router.close()
            dealer.close()
            _ = consume monitor
        }
        held.release()
    }
}
