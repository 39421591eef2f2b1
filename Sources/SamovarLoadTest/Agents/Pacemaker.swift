import Foundation
import SamovarCore
import SamovarHost
import Synchronization
import ZeroMQ

/// Wakes a loop at given moments, to the precision of the system's sleep. A poll waits whole milliseconds, and a send that is late by
/// half of one would look like the store's latency.
final class Pacemaker: Sendable {
    let wakeup: Wakeup
    private let isStopped = Atomic<Bool>(false)

    init() throws(ZeroMQError) {
        wakeup = try Wakeup()
    }

    /// Begins to wake on a thread of its own, until `stop`, and at most each 50 µs: a round of the loop takes longer.
    ///
    /// - Parameter next: the moment that follows a time, both from the start. Whatever was late, those after it are at their times.
    func run(from start: ContinuousClock.Instant, at next: @escaping @Sendable (Duration) -> Duration) throws {
        try startThread("samovar-pacemaker") { [self] in
            var time = start
            while !isStopped.load(ordering: .relaxed) {
                let wait = time - ContinuousClock.now
                // In short pieces, so that a stop is not waited for.
                if wait > .zero { Thread.sleep(forTimeInterval: Double(min(wait, .milliseconds(100)).microseconds) / 1_000_000) }
                let now = ContinuousClock.now
                guard now >= time else { continue }
                wakeup.signal()
                time = max(start + next(now - start), now + .microseconds(50))
            }
        }
    }

    func stop() {
        isStopped.store(true, ordering: .relaxed)
    }
}
