import Foundation
import SamovarCore
import SamovarHost
import Synchronization
import ZeroMQ

/// Wakes a loop at even intervals, to the precision of the system's sleep. A poll waits whole milliseconds, and a send that is late by
/// half of one would look like the store's latency.
final class Pacemaker: Sendable {
    let wakeup: Wakeup
    private let isStopped = Atomic<Bool>(false)

    init() throws(ZeroMQError) {
        wakeup = try Wakeup()
    }

    /// Begins to wake on a thread of its own, until `stop`. Shorter intervals than 50 µs are that long: a round of the loop takes longer.
    func run(from start: ContinuousClock.Instant, every interval: Duration) throws {
        let interval = max(interval, .microseconds(50))
        try startThread("samovar-pacemaker") { [self] in
            var next = start
            while !isStopped.load(ordering: .relaxed) {
                let wait = next - ContinuousClock.now
                // In short pieces, so that a stop is not waited for.
                if wait > .zero { Thread.sleep(forTimeInterval: Double(min(wait, .milliseconds(100)).microseconds) / 1_000_000) }
                let now = ContinuousClock.now
                guard now >= next else { continue }
                wakeup.signal()
                next = max(next + interval, now)
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }
}
