package import SamovarCore

/// A point in time as RFC 3339 has it, in UTC and in seconds; a fraction, which nobody needs here, is rounded down.
package func instantText(_ time: Timestamp) -> String {
    let (days, seconds) = (time.microseconds / 1_000_000).quotientAndRemainder(dividingBy: 86_400)
    let (year, month, day) = Cron.date(ofDay: days)
    let date = [padded(year, 4), padded(month, 2), padded(day, 2)]
    let clock = [seconds / 3_600, seconds / 60 % 60, seconds % 60].map { padded($0, 2) }
    return date.joined(separator: "-") + "T" + clock.joined(separator: ":") + "Z"
}

private func padded(_ number: Int64, _ count: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, count - digits.count)) + digits
}

/// Nil unless `text` is such a point in time, from 1970 to 9999.
package func instant(_ text: Substring) -> Timestamp? {
    let bytes = Array(text.utf8)
    let form = Array("0000-00-00T00:00:00Z".utf8)
    guard bytes.count == form.count else { return nil }
    for (byte, place) in zip(bytes, form) {
        let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
        guard place == UInt8(ascii: "0") ? isDigit : byte == place else { return nil }
    }
    func number(_ range: Range<Int>) -> Int { bytes[range].reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) } }
    let (year, month, day) = (number(0..<4), number(5..<7), number(8..<10))
    let (hour, minute, second) = (number(11..<13), number(14..<16), number(17..<19))
    guard year >= 1970, (1...12).contains(month), day >= 1, hour < 24, minute < 60, second < 60 else { return nil }
    let (shiftedYear, shiftedMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
    let (era, yearOfEra) = shiftedYear.quotientAndRemainder(dividingBy: 400)
    let dayOfYear = (153 * shiftedMonth + 2) / 5 + day - 1
    let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    let time = Timestamp(microseconds: Int64(days * 86_400 + hour * 3_600 + minute * 60 + second) * 1_000_000)
    // A day that the month does not have is one of the next.
    return instantText(time) == String(text) ? time : nil
}
