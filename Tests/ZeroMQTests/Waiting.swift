import ZeroMQ

/// What a test waited for did not come in time.
struct TimedOut: Error {}

/// How many milliseconds a test waits for what should come at once: a machine with other things to do may take so long.
let patience = 60_000

extension Socket {
    /// The frames of the next message.
    mutating func next(within milliseconds: Int = patience) throws -> [[UInt8]] {
        var poller = Poller()
        _ = poller.add(self)
        guard try poller.wait(timeoutMilliseconds: milliseconds) > 0, let message = try receive() else {
            throw TimedOut()
        }
        return message.frames
    }

    /// Waits until a peer is connected and has room.
    func becomesWritable(within milliseconds: Int = patience) throws {
        var poller = Poller()
        _ = poller.add(self, for: .writable)
        guard try poller.wait(timeoutMilliseconds: milliseconds) > 0 else { throw TimedOut() }
    }
}

/// Tries again until `condition` holds.
func eventually(_ condition: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .milliseconds(patience)
    var poller = Poller()
    // A poller with an unsignalled wake-up gives the other threads a millisecond.
    _ = poller.add(try Wakeup())
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw TimedOut() }
        try poller.wait(timeoutMilliseconds: 1)
    }
}
