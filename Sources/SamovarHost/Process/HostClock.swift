public import SamovarCore

#if canImport(Darwin)
import Darwin
#else
import Glibc
#endif

/// The one clock of a process: the wall clock at its start, advanced by the boot-time clock, so that it never jumps.
struct HostClock: Sendable {
    private let wall: Int64
    private let started = ContinuousClock.now

    init() {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        wall = Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
    }

    func now() -> Timestamp {
        Timestamp(microseconds: wall + (ContinuousClock.now - started).microseconds)
    }

    /// How long to wait for a point in time, in whole milliseconds, rounded up; nil for ever.
    func milliseconds(until time: Timestamp?) -> Int? {
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
