import Foundation

/// One direction of a chart: where a value lies, and which values are written beside it.
struct Axis {
    typealias Tick = (value: Double, label: String)

    private let place: @Sendable (Double) -> Double
    let ticks: [Tick]

    /// From 0 at the low end to 1 at the high end; values beyond the ends are moved to them.
    func position(of value: Double) -> Double { min(1, max(0, place(value))) }

    /// From 0 to a round number that is at least `highest`.
    static func linear(to highest: Double, steps: Int = 5, label: (Double) -> String) -> Axis {
        let step = roundStep(max(highest, 1e-9) / Double(steps))
        let end = max(step, (highest / step).rounded(.up) * step)
        let count = Int((end / step).rounded())
        return Axis(place: { $0 / end }, ticks: (0...count).map { (Double($0) * step, label(Double($0) * step)) })
    }

    /// Time from 0 to exactly `end`, with ticks at round seconds.
    static func time(to end: Double) -> Axis {
        let end = max(end, 0.001)
        let step = max(roundStep(end / 8), end >= 2 ? 1 : 0.1)
        let count = Int((end / step + 1e-9).rounded(.down))
        return Axis(
            place: { $0 / end },
            ticks: (0...count).map { index in
                let value = Double(index) * step
                return (value, value == value.rounded() ? "\(Int(value)) s" : String(format: "%.1f s", value))
            })
    }

    /// Powers of ten around the values, which must be positive; with steps between them if there are few.
    static func logarithmic(_ lowest: Double, _ highest: Double, label: (Double) -> String) -> Axis {
        let low = log10(max(lowest, 1e-9)).rounded(.down)
        let high = max(low + 1, log10(max(highest, lowest, 1e-9)).rounded(.up))
        let parts: [Double] = high - low <= 2 ? [1, 2, 5] : [1]
        var ticks: [Tick] = []
        for decade in Int(low)...Int(high) {
            for part in parts where decade < Int(high) || part == 1 {
                let value = part * pow(10, Double(decade))
                ticks.append((value, label(value)))
            }
        }
        return Axis(place: { (log10(max($0, 1e-9)) - low) / (high - low) }, ticks: ticks)
    }

    /// Percentiles, each nine as wide as the one before, as far as so many values can tell.
    static func percentiles(of count: Int) -> Axis {
        let end = max(2, log10(Double(max(count, 1))))
        let nines: [Tick] = [
            (0, "0"), (50, "50 %"), (90, "90 %"), (99, "99 %"), (99.9, "99.9 %"), (99.99, "99.99 %"), (99.999, "99.999 %"),
        ]
        return Axis(
            place: { $0 >= 100 ? 1 : log10(100 / (100 - $0)) / end },
            ticks: nines.filter { log10(100 / (100 - $0.value)) <= end + 0.001 })
    }

    /// 1, 2 or 5 times a power of ten.
    private static func roundStep(_ raw: Double) -> Double {
        let power = pow(10, log10(raw).rounded(.down))
        let part = raw / power
        return (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10) * power
    }
}
