import Foundation
import MessagePack
package import SamovarCore

/// The RFC 3339 text of a MessagePack timestamp; nil for another extension, or an instant beyond the years 0 to 9999.
package func instantText(_ type: Int8, _ bytes: [UInt8]) -> String? {
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
///
/// - Parameter inColumn: with microseconds always, so that one stands below the other.
package func instantText(seconds: Int64, nanoseconds: UInt32, inColumn: Bool = false) -> String? {
    guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
    var time = time_t(seconds)
    // The calendar of today, carried back.
    var date = tm()
    gmtime_r(&time, &date)
    let day = String(format: "%04d-%02d-%02d", date.tm_year + 1_900, date.tm_mon + 1, date.tm_mday)
    var fraction =
        inColumn ? String(format: ".%06d", nanoseconds / 1_000) : nanoseconds == 0 ? "" : String(format: ".%09d", nanoseconds)
    while !inColumn, fraction.last == "0" { fraction.removeLast() }
    return day + String(format: "T%02d:%02d:%02d", date.tm_hour, date.tm_min, date.tm_sec) + fraction + "Z"
}

/// With microseconds, so that one stands below the other; as a number beyond the years 0 to 9999.
package func instantText(of time: Timestamp) -> String {
    let (seconds, rest) = time.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    let floor = rest < 0 ? (seconds - 1, rest + 1_000_000) : (seconds, rest)
    return instantText(seconds: floor.0, nanoseconds: UInt32(floor.1 * 1_000), inColumn: true) ?? "\(time.microseconds) µs"
}
