import Foundation
import MessagePack

/// Numbers of a status with their units, for people.
enum Quantity {
    /// `812 B`, `34.5 MiB`.
    static func bytes(_ value: MessagePackValue?) -> String? {
        number(value).map { bytes in
            var (rest, units) = (bytes, ["B", "KiB", "MiB", "GiB", "TiB"][...])
            while rest >= 1_024, units.count > 1 { (rest, units) = (rest / 1_024, units.dropFirst()) }
            return "\(digits(rest)) \(units.first ?? "")"
        }
    }

    /// `85 µs`, `1.2 ms`, `3 s`.
    static func duration(_ value: MessagePackValue?) -> String? {
        number(value).map { seconds in
            switch seconds {
            case ..<0.001: "\(digits((seconds * 1_000_000).rounded())) µs"
            case ..<1: "\(digits(seconds * 1_000)) ms"
            default: "\(digits(seconds)) s"
            }
        }
    }

    /// `12 s`, `5 min`, `3 h 12 min`, `4 d 7 h`.
    static func age(_ value: MessagePackValue?) -> String? {
        guard case .int(let seconds)? = value else { return nil }
        let (minutes, hours, days) = (seconds / 60 % 60, seconds / 3_600 % 24, seconds / 86_400)
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3_600: return "\(minutes) min"
        case ..<86_400: return "\(hours) h" + (minutes > 0 ? " \(minutes) min" : "")
        default: return "\(days) d" + (hours > 0 ? " \(hours) h" : "")
        }
    }

    /// `0`, `12.5`, `3400` for each second.
    static func rate(_ value: MessagePackValue?) -> String? { number(value).map(digits) }

    /// `p50 1.2 ms, p99 3 ms`; nil if nothing was measured.
    static func percentiles(_ value: MessagePackValue?) -> String? {
        guard let half = duration(value?["p50"]), let most = duration(value?["p99"]) else { return nil }
        return "p50 \(half), p99 \(most)"
    }

    private static func number(_ value: MessagePackValue?) -> Double? {
        value?.asDouble.flatMap { $0.isFinite ? $0 : nil }
    }

    /// Three digits, or all before the point.
    private static func digits(_ number: Double) -> String {
        let places = number >= 100 ? 0 : number >= 10 ? 1 : 2
        var text = String(format: "%.\(places)f", number)
        if text.contains(".") {
            while text.last == "0" { text.removeLast() }
            if text.last == "." { text.removeLast() }
        }
        return text
    }
}
