import Foundation
import Logging
import SamovarCore
import SamovarStore

/// Looks at the calls of the store's loop into the program, from a thread of its own, and logs those that do not return.
final class WatchdogThread: Sendable {
    private let ending = DispatchSemaphore(value: 0)

    /// Runs until `end`.
    init(_ pulse: WatchdogPulse, limit: Duration, logger: Logger) throws {
        try startThread("samovar-watch") { [ending] in
            var watch = Watchdog(limit: limit)
            let clock = HostClock()
            let interval = DispatchTimeInterval.milliseconds(Int(watch.interval.microseconds / 1_000))
            while ending.wait(timeout: .now() + interval) == .timedOut {
                guard let event = watch.look(pulse.look(), now: clock.now()) else { continue }
                switch event {
                case .lasts: logger.error("\(event)")
                case .returned: logger.notice("\(event)")
                }
            }
        }
    }

    func end() {
        ending.signal()
    }
}
