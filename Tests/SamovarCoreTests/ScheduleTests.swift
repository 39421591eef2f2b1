import SamovarCore
import Testing

@Suite struct ScheduleTests {
    private static func at(_ seconds: Int64) -> Timestamp { Timestamp(microseconds: seconds * 1_000_000) }

    @Test func `An interval counts from the nominal time, not from when it fired`() {
        let schedule = Schedule(.every(.seconds(10)), missed: .once)
        #expect(schedule.first(from: Self.at(3)) == Self.at(13))
        #expect(schedule.next(after: Self.at(13)) == Self.at(23))
    }

    @Test func `An interval of nothing, or less, is a millisecond`() {
        for interval in [Duration.zero, .seconds(-5), .nanoseconds(1)] {
            let schedule = Schedule(.every(interval), missed: .all)
            #expect(schedule.first(from: Self.at(0)) == Timestamp(microseconds: 1_000))
        }
    }

    @Test func `One firing stands for all that were missed, for the newest of them`() {
        let schedule = Schedule(.every(.seconds(10)), missed: .once)
        #expect(schedule.nominal(due: Self.at(13), now: Self.at(57)) == Self.at(53))
        #expect(schedule.nominal(due: Self.at(13), now: Self.at(13)) == Self.at(13))
    }

    @Test func `Times that are as far apart as can be are no other ones`() {
        let schedule = Schedule(.every(.seconds(10)), missed: .once)
        let (first, last) = (Timestamp(microseconds: .min), Timestamp(microseconds: .max))
        // The distance is 2^64 - 1 microseconds, of which 9,551,615 are behind the last ten seconds.
        #expect(schedule.nominal(due: first, now: last) == Timestamp(microseconds: .max - 9_551_615))
    }

    @Test func `All of them means one after the other`() {
        let schedule = Schedule(.every(.seconds(10)), missed: .all)
        #expect(schedule.nominal(due: Self.at(13), now: Self.at(57)) == Self.at(13))
    }

    @Test func `None of them means that absence is skipped`() {
        let schedule = Schedule(.every(.seconds(10)), missed: .none)
        #expect(schedule.due(Self.at(13), afterAbsenceUntil: Self.at(57)) == Self.at(63))
        #expect(schedule.due(Self.at(60), afterAbsenceUntil: Self.at(57)) == Self.at(60))
        let once = Schedule(.at(Self.at(13)), missed: .none)
        #expect(once.due(Self.at(13), afterAbsenceUntil: Self.at(57)) == nil)
    }

    @Test func `A point in time comes once`() {
        let schedule = Schedule(.at(Self.at(13)), missed: .once)
        #expect(schedule.first(from: Self.at(3)) == Self.at(13))
        #expect(schedule.next(after: Self.at(13)) == nil)
    }
}

@Suite struct CronTests {
    /// Seconds since 1970 of `date -u`.
    private static func next(_ text: String, after seconds: Int64) throws -> Int64? {
        try Cron(text).next(after: Timestamp(microseconds: seconds * 1_000_000)).map { $0.microseconds / 1_000_000 }
    }

    @Test(arguments: [
        // 2024-02-28T23:59:30Z
        ("* * * * *", 1_709_164_770, 1_709_164_800),
        ("0 0 * * *", 1_709_164_770, 1_709_164_800),
        // The 29th of February 2024, then 2028.
        ("30 6 29 2 *", 1_709_164_770, 1_709_188_200),
        ("30 6 29 2 *", 1_709_188_200, 1_835_418_600),
        // Sunday as 0 and as 7: 2024-03-03.
        ("0 12 * * 0", 1_709_164_770, 1_709_467_200),
        ("0 12 * * 7", 1_709_164_770, 1_709_467_200),
        ("*/15 8-17 * * 1-5", 1_709_164_770, 1_709_193_600),
        ("5,35 * * * *", 1_709_164_770, 1_709_165_100),
        // Either day: Friday 2024-03-01 is the 1st.
        ("0 0 1 * 4", 1_709_164_800, 1_709_251_200),
        // Before the epoch: 1969-12-31T23:59Z.
        ("59 23 * * *", -120, -60),
    ])
    func `The next time is the one that date gives`(text: String, after: Int64, expected: Int64) throws {
        #expect(try Self.next(text, after: after) == expected)
    }

    @Test func `A date that never comes has no time`() throws {
        #expect(try Self.next("0 0 30 2 *", after: 0) == nil)
    }

    @Test func `A leap day over a century without one is found`() throws {
        // 2096-02-29; the next 29th of February is in 2104.
        #expect(try Self.next("0 0 29 2 *", after: 3_981_312_000) == 4_233_686_400)
    }

    @Test(arguments: [
        // The leap days on a Sunday: 2032, 2060, 2088, and 2128.
        ("0 0 29 2 */7", 1_961_625_600, 2_845_238_400), ("0 0 29 2 */7", 3_728_851_200, 4_991_068_800),
        // The Mondays on a 1st of February: 2027, then 2038.
        ("0 0 */31 2 1", 1_801_440_000, 2_148_595_200),
    ])
    func `A date that must be a certain weekday is found, however rare`(text: String, after: Int64, expected: Int64) throws {
        #expect(try Self.next(text, after: after) == expected)
    }

    @Test func `Behind the last minute that a timestamp holds there is no time`() throws {
        let last = Timestamp(microseconds: Int64.max / 60_000_000 * 60_000_000)
        let minutes = try Cron("* * * * *")
        #expect(minutes.next(after: Timestamp(microseconds: last.microseconds - 1)) == last)
        for time in [last, Timestamp(microseconds: .max)] {
            #expect(minutes.next(after: time) == nil)
            #expect(Cron.weekly(weekday: 1).next(after: time) == nil)
        }
    }

    @Test func `Before everything the first time is the first minute that a timestamp holds`() throws {
        let first = Timestamp(microseconds: Int64.min / 60_000_000 * 60_000_000)
        #expect(try Cron("* * * * *").next(after: Timestamp(microseconds: .min)) == first)
        #expect(try Cron("0 0 30 2 *").next(after: Timestamp(microseconds: .min)) == nil)
    }

    @Test func `A text of too few fields is told so`() {
        let error = #expect(throws: Cron.SyntaxError.self) { try Cron("* * * *") }
        #expect(error?.description == "“* * * *” has 4 fields; minute, hour, day, month and weekday are needed")
    }

    @Test(arguments: [
        ("60 * * * *", "“60” is no minute", "0 to 59"), ("* 24 * * *", "“24” is no hour", "0 to 23"),
        ("* * 0 * *", "“0” is no day", "1 to 31"), ("* * * 13 *", "“13” is no month", "1 to 12"),
        ("* * * * x", "“x” is no weekday", "0 to 7"), ("5-1 * * * *", "“5-1” is no minute", "0 to 59"),
        ("*/0 * * * *", "“*/0” is no minute", "0 to 59"), ("1,, * * * *", "“” is no minute", "0 to 59"),
    ])
    func `A field that is none is named, with what it may be`(text: String, field: String, range: String) {
        let error = #expect(throws: Cron.SyntaxError.self) { try Cron(text) }
        let rule = "it is *, a number from \(range), a range such as 1-5, a list, or one of these with a step such as */2"
        #expect(error?.description == "\(field): \(rule)")
    }

    @Test func `All times are in whole microseconds, as a journal keeps them`() {
        let (odd, even) = (Duration.nanoseconds(3_333_333_333), Duration.microseconds(3_333_333))
        #expect(Schedule(.every(odd), missed: .once).rule == .every(even))
        #expect(Retry.backoff(first: odd, max: odd, attempts: 2) == .backoff(first: even, max: even, attempts: 2))
        let limits = { (time: Duration) in RunLimits(waiting: time, attempt: time, total: time) }
        #expect(RunOptions(delay: odd, limits: limits(odd)) == RunOptions(delay: even, limits: limits(even)))
        #expect(RunOptions(timeout: odd).timeout == even)
        #expect(QueueRules.Rate(1, per: odd).interval == even)
    }

    @Test func `Calendars without text mean what they say`() throws {
        #expect(Cron.daily(hour: 3, minute: 5) == (try Cron("5 3 * * *")))
        #expect(Cron.hourly(minute: 99) == (try Cron("59 * * * *")))
        #expect(Cron.weekly(weekday: 0, hour: 1) == (try Cron("0 1 * * 7")))
        #expect(Cron.weekly(weekday: 7, hour: 1) == (try Cron("0 1 * * 7")))
    }
}
