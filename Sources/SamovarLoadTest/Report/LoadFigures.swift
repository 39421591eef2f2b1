import Foundation

/// Numbers of a load test as people read them.
func countText(_ number: Int) -> String { number.formatted(.number.locale(Locale(identifier: "en_US"))) }

/// A latency with three digits and its unit.
func latencyText(_ microseconds: Int64?) -> String {
    guard let microseconds else { return "–" }
    switch microseconds {
    case ..<1_000: return "\(microseconds) µs"
    case ..<1_000_000: return digits(Double(microseconds) / 1_000) + " ms"
    default: return digits(Double(microseconds) / 1_000_000) + " s"
    }
}

/// A round number without the zeros that say how exact it is.
func tickText(_ text: String) -> String {
    guard let point = text.firstIndex(of: "."), let space = text.firstIndex(of: " ") else { return text }
    return text[point..<space].dropFirst().allSatisfy { $0 == "0" } ? String(text[..<point] + text[space...]) : text
}

func bytesText(_ bytes: Double) -> String {
    switch bytes {
    case ..<1_024: digits(bytes) + " B"
    case ..<1_048_576: digits(bytes / 1_024) + " KiB"
    default: digits(bytes / 1_048_576) + " MiB"
    }
}

func percentText(_ fraction: Double) -> String { "\(Int((fraction * 100).rounded())) %" }

func secondsText(_ seconds: Double) -> String { String(format: "%.1f s", seconds) }

private func digits(_ number: Double) -> String {
    String(format: number >= 100 ? "%.0f" : number >= 10 ? "%.1f" : "%.2f", number)
}
