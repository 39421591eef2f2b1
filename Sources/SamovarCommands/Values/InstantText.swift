import MessagePack

/// The RFC 3339 text of a MessagePack timestamp; nil for another extension, or an instant beyond the years 0 to 9999.
func instantText(_ type: Int8, _ bytes: [UInt8]) -> String? {
    var writer = MessagePackWriter()
    writer.writeExtension(type: type, bytes)
    var reader = MessagePackReader(writer.bytes)
    do {
        let instant = try reader.readTimestamp()
        return instantText(seconds: instant.seconds, nanoseconds: instant.nanoseconds)
    } catch {
        // No timestamp, or a malformed one: it is shown as any other extension.
        return nil
    }
}

/// `2026-07-31T09:05:00.25Z`; nil beyond the years 0 to 9999.
func instantText(seconds: Int64, nanoseconds: UInt32) -> String? {
    guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
    // The remainder of a division towards zero is negative before 1970.
    let second = (seconds % 86_400 + 86_400) % 86_400
    let date = civilDate(days: (seconds - second) / 86_400)
    let time = "\(padded(second / 3_600, 2)):\(padded(second / 60 % 60, 2)):\(padded(second % 60, 2))"
    var fraction = nanoseconds == 0 ? "" : "." + padded(Int64(nanoseconds), 9)
    while fraction.last == "0" { fraction.removeLast() }
    return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T\(time)\(fraction)Z"
}

/// The date so many days after 1970-01-01, in the calendar of today carried back.
///
/// Counted in eras of 400 years that begin in March, so that the leap day is the last day of a year:
/// https://howardhinnant.github.io/date_algorithms.html#civil_from_days
private func civilDate(days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let march = (5 * dayOfYear + 2) / 153
    let month = march < 10 ? march + 3 : march - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * march + 2) / 5 + 1)
}

private func padded(_ number: Int64, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}
