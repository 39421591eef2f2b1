/// When a timer is due, and what becomes of times that were missed.
///
/// A schedule is a function from one nominal time to the next. All it needs is what the journal holds, so timers survive a
/// restart without a clock of their own.
public struct Schedule: Hashable, Sendable {
    /// How one time follows from another.
    public enum Rule: Hashable, Sendable {
        /// Each is the one before plus this.
        case every(Duration)
        /// There is one.
        case at(Timestamp)
        /// The minutes of a calendar, in UTC.
        case cron(Cron)
    }

    /// The least time between two firings.
    public static let shortest: Duration = .milliseconds(1)

    /// How one time follows from another.
    public let rule: Rule
    /// What becomes of times that passed before the store could send.
    public let missed: Missed

    /// A schedule of this rule. An interval is taken in whole microseconds.
    @inlinable
    public init(_ rule: Rule, missed: Missed) {
        if case .every(let interval) = rule { self.rule = .every(interval.inWholeMicroseconds) } else { self.rule = rule }
        self.missed = missed
    }

    /// The first time of a subscription that begins at `time`; nil if there is none.
    public func first(from time: Timestamp) -> Timestamp? {
        if case .at(let time) = rule { time } else { next(after: time) }
    }

    /// The time after the nominal one; nil if that was the last.
    public func next(after nominal: Timestamp) -> Timestamp? {
        switch rule {
        case .every(let interval): nominal + max(interval, Self.shortest)
        case .at: nil
        case .cron(let cron): cron.next(after: nominal)
        }
    }

    /// The nominal time to send for, when `due` has come and it is `now`.
    public func nominal(due: Timestamp, now: Timestamp) -> Timestamp {
        guard missed != .all, due < now else { return due }
        switch rule {
        case .every(let interval):
            let step = UInt64(max(interval, Self.shortest).microseconds)
            // What lies between two times may be more than a signed number holds.
            let past = UInt64(bitPattern: now.microseconds) &- UInt64(bitPattern: due.microseconds)
            return Timestamp(microseconds: due.microseconds &+ Int64(bitPattern: past / step * step))
        case .at: return due
        case .cron(let cron):
            var latest = due
            while let next = cron.next(after: latest), next <= now { latest = next }
            return latest
        }
    }

    /// What is due after the store was away until `now`: `due` itself, unless what was missed shall not be sent.
    public func due(_ due: Timestamp, afterAbsenceUntil now: Timestamp) -> Timestamp? {
        guard missed == .none, due <= now else { return due }
        return next(after: nominal(due: due, now: now))
    }
}
