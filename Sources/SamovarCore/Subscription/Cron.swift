/// Times of a calendar in UTC, to the minute: the five fields of cron.
///
/// ```swift
/// static let nightly = Cron.daily(hour: 3)
/// let workdays = try Cron("*/15 8-17 * * 1-5")
/// ```
///
/// Fields are minute (0–59), hour (0–23), day of the month (1–31), month (1–12) and day of the week (0–7, where 0 and 7 are
/// Sunday); each is `*`, a number, a range, a list, or one of these with a step. As in cron, if both days are restricted a day
/// that fits either of them counts. UTC has no summer time: no hour is skipped or comes twice.
public struct Cron: Hashable, Sendable {
    // One bit for each value that fits.
    private let minutes: UInt64
    private let hours: UInt64
    private let days: UInt64
    private let months: UInt64
    private let weekdays: UInt64
    private let isEitherDay: Bool

    /// A text that is no calendar.
    public struct SyntaxError: Error, Hashable, Sendable, CustomStringConvertible {
        /// Which field is wrong, and what it may be.
        public let description: String
    }

    /// - Throws: ``SyntaxError``, naming the field and what it may be.
    public init(_ text: String) throws(SyntaxError) {
        let fields = text.split(separator: " ")
        guard fields.count == 5 else {
            throw SyntaxError(description: "“\(text)” has \(fields.count) fields; minute, hour, day, month and weekday are needed")
        }
        minutes = try Self.bits(fields[0], 0...59, "minute")
        hours = try Self.bits(fields[1], 0...23, "hour")
        days = try Self.bits(fields[2], 1...31, "day")
        months = try Self.bits(fields[3], 1...12, "month")
        let week = try Self.bits(fields[4], 0...7, "weekday")
        weekdays = (week | week >> 7) & 0x7f
        isEitherDay = !fields[2].hasPrefix("*") && !fields[4].hasPrefix("*")
    }

    /// Each hour at this minute, taken within 0 to 59.
    public static func hourly(minute: Int = 0) -> Cron {
        Cron(minutes: 1 << clamped(minute, 0...59), hours: bits(of: 0...23), weekdays: bits(of: 0...6))
    }

    /// Each day at this hour and minute, taken within 0 to 23 and 0 to 59.
    public static func daily(hour: Int, minute: Int = 0) -> Cron {
        Cron(minutes: 1 << clamped(minute, 0...59), hours: 1 << clamped(hour, 0...23), weekdays: bits(of: 0...6))
    }

    /// Once a week; `weekday` 0 and 7 are Sunday, and others are taken within these.
    public static func weekly(weekday: Int, hour: Int = 0, minute: Int = 0) -> Cron {
        Cron(
            minutes: 1 << clamped(minute, 0...59), hours: 1 << clamped(hour, 0...23), weekdays: 1 << (clamped(weekday, 0...7) % 7))
    }

    private init(minutes: UInt64, hours: UInt64, weekdays: UInt64) {
        self.minutes = minutes
        self.hours = hours
        days = Self.bits(of: 1...31)
        months = Self.bits(of: 1...12)
        self.weekdays = weekdays
        isEitherDay = false
    }

    /// The first time after `time`; nil if the calendar has none, such as a 30th of February, or none that a ``Timestamp`` can
    /// hold.
    public func next(after time: Timestamp) -> Timestamp? {
        let minute = Self.floorDivided(time.microseconds, 60_000_000) + 1
        var day = Self.floorDivided(minute, 1_440)
        var earliest = Int(minute - day * 1_440)
        // A date and a weekday that meet at all meet within forty years: so long is it for a leap day over a century without one.
        for _ in 0..<(366 * 40 + 2) {
            if fits(day: day), let minuteOfDay = firstMinute(from: earliest) {
                let found = (day * 1_440 + Int64(minuteOfDay)).multipliedReportingOverflow(by: 60_000_000)
                return found.overflow ? nil : Timestamp(microseconds: found.partialValue)
            }
            day += 1
            earliest = 0
        }
        return nil
    }

    private func firstMinute(from earliest: Int) -> Int? {
        for hour in (earliest / 60)..<24 where hours >> UInt64(hour) & 1 == 1 {
            let first = hour == earliest / 60 ? earliest % 60 : 0
            let rest = minutes >> UInt64(first)
            if rest != 0 { return hour * 60 + first + rest.trailingZeroBitCount }
        }
        return nil
    }

    private func fits(day: Int64) -> Bool {
        let date = Self.date(ofDay: day)
        guard months >> UInt64(date.month) & 1 == 1 else { return false }
        // The first day of the epoch was a Thursday.
        let weekday = Self.modulo(day + 4, 7)
        let fitsMonth = days >> UInt64(date.day) & 1 == 1
        let fitsWeek = weekdays >> UInt64(weekday) & 1 == 1
        return isEitherDay ? fitsMonth || fitsWeek : fitsMonth && fitsWeek
    }

    /// The proleptic Gregorian date of a day since 1970-01-01, after Howard Hinnant's `civil_from_days`,
    /// https://howardhinnant.github.io/date_algorithms.html: years begin in March, in eras of 400 years.
    package static func date(ofDay number: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = number + 719_468
        let era = floorDivided(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let month = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * month + 2) / 5 + 1
        let year = yearOfEra + era * 400
        return month < 10 ? (year, month + 3, day) : (year + 1, month - 9, day)
    }

    private static func floorDivided(_ a: Int64, _ b: Int64) -> Int64 { a / b - (a % b < 0 ? 1 : 0) }

    private static func modulo(_ a: Int64, _ b: Int64) -> Int64 { a - floorDivided(a, b) * b }

    private static func clamped(_ value: Int, _ range: ClosedRange<Int>) -> UInt64 {
        UInt64(min(max(value, range.lowerBound), range.upperBound))
    }

    private static func bits(of range: ClosedRange<Int>) -> UInt64 { range.reduce(0) { $0 | 1 << UInt64($1) } }

    private static func bits(_ field: Substring, _ range: ClosedRange<Int>, _ name: String) throws(SyntaxError) -> UInt64 {
        var bits: UInt64 = 0
        for part in field.split(separator: ",", omittingEmptySubsequences: false) {
            guard let values = values(part, range) else {
                throw SyntaxError(
                    description:
                        "“\(part)” is no \(name): it is *, a number from \(range.lowerBound) to \(range.upperBound), a range such as 1-5, a list, or one of these with a step such as */2"
                )
            }
            for value in values { bits |= 1 << UInt64(value) }
        }
        return bits
    }

    private static func values(_ part: Substring, _ range: ClosedRange<Int>) -> StrideThrough<Int>? {
        let pieces = part.split(separator: "/", omittingEmptySubsequences: false)
        guard pieces.count <= 2, let span = span(pieces[0], range, hasStep: pieces.count == 2) else { return nil }
        guard pieces.count == 2 else { return stride(from: span.lowerBound, through: span.upperBound, by: 1) }
        guard let step = Int(pieces[1]), (1...range.upperBound + 1).contains(step) else { return nil }
        return stride(from: span.lowerBound, through: span.upperBound, by: step)
    }

    private static func span(_ text: Substring, _ range: ClosedRange<Int>, hasStep: Bool) -> ClosedRange<Int>? {
        if text == "*" { return range }
        let ends = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
        guard let first = ends.first ?? nil, range.contains(first) else { return nil }
        guard ends.count == 2 else { return ends.count == 1 ? first...(hasStep ? range.upperBound : first) : nil }
        guard let last = ends[1], range.contains(last), last >= first else { return nil }
        return first...last
    }
}

extension Cron {
    /// The calendar as six numbers: a bit for each value that fits, and whether either day is enough.
    package var fields: [UInt64] { [minutes, hours, days, months, weekdays, isEitherDay ? 1 : 0] }

    package init?(fields: [UInt64]) {
        guard fields.count == 6 else { return nil }
        (minutes, hours, days, months, weekdays) = (fields[0], fields[1], fields[2], fields[3], fields[4])
        isEitherDay = fields[5] == 1
    }
}
