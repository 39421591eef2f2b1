import Foundation
public import SamovarCore

/// The one clock of a process: the wall clock at its start, advanced by the boot-time clock, so that it never jumps.
package struct HostClock: Sendable {
    /// What the wall clock is ahead of the boot-time clock.
    private let offset: Int64

    package init() {
        offset = Self.microseconds(of: CLOCK_REALTIME) - Self.microseconds(of: Self.bootTime)
    }

    private init(offset: Int64) { self.offset = offset }

    /// The same clock, so far ahead.
    func ahead(by lead: Duration) -> HostClock { HostClock(offset: offset + lead.microseconds) }

    /// The wall clock, which somebody may set at any time.
    static func wall() -> Timestamp { Timestamp(microseconds: microseconds(of: CLOCK_REALTIME)) }

    package func now() -> Timestamp {
        Timestamp(microseconds: offset + Self.microseconds(of: Self.bootTime))
    }

    #if canImport(Darwin)
    private static var bootTime: clockid_t { CLOCK_MONOTONIC_RAW }
    #else
    private static var bootTime: clockid_t { CLOCK_BOOTTIME }
    #endif

    /// Not by `ContinuousClock`, whose durations of 128 bits take longer than reading the time.
    private static func microseconds(of clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    /// How long to wait for a point in time, in whole milliseconds, rounded up; nil for ever.
    package func milliseconds(until time: Timestamp?) -> Int? {
        guard let time else { return nil }
        let now = now()
        guard time > now else { return 0 }
        return Int(min(((time - now).microseconds + 999) / 1_000, 60_000))
    }
}

extension UniqueID {
    /// A new identity from the system's randomness.
    public static func random() -> UniqueID {
        UniqueID(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
    }
}
