import Foundation
import SamovarLoad

extension LoadReport {
    /// The end of the time axis: a test with its drain.
    private var end: Double { max(duration, seconds.last?.time ?? 0) }

    /// By the roles: which of the workers it was, hardly matters.
    private var marks: [Chart.Mark] {
        kills.map { ($0.time, $0.process.split(separator: " ").first.map(String.init) ?? $0.process) }
    }

    var charts: [Chart] {
        [throughputChart, percentileChart, latencyChart, processorChart, memoryChart].compactMap { $0 }
    }

    /// The length of each second as it was: an agent may be late with its report.
    private func rates(_ count: (Second) -> Int) -> [(x: Double, y: Double)] {
        var last = 0.0
        return seconds.map { second in
            let length = max(0.001, second.time - last)
            last = second.time
            return (second.time, Double(count(second)) / length)
        }
    }

    private var throughputChart: Chart? {
        guard !seconds.isEmpty else { return nil }
        var series = [Chart.Series(name: "applied", points: rates(\.applied), isArea: true)]
        if counts.answered > counts.applied { series.append(Chart.Series(name: "answered", points: rates(\.answered))) }
        var highest = series.flatMap { $0.points.map(\.y) }.max() ?? 0
        if case .rate(let rate) = pace {
            series.append(Chart.Series(name: "due", points: [(0, rate), (duration, rate)], isDashed: true))
            highest = max(highest, rate)
        }
        return Chart(
            title: "Throughput over time", subtitle: "inputs applied per second", x: .time(to: end),
            y: .linear(to: highest) { countText(Int($0.rounded())) }, series: series, marks: marks, isWide: true
        ) { time, rate in "\(countText(Int(rate.rounded()))) a second, at \(secondsText(time))" }
    }

    private var percentileChart: Chart? {
        let measured = series.filter { $0.summary.count > 0 }
        let all = measured.flatMap { $0.summary.curve.map { Double($0.microseconds) } }
        guard let lowest = all.min(), let highest = all.max() else { return nil }
        let most = measured.map(\.summary.count).max() ?? 1
        let axis = Axis.percentiles(of: most)
        return Chart(
            title: "Latency by percentile", subtitle: "from when an input was due; both scales are logarithmic", x: axis,
            y: .logarithmic(lowest, highest) { tickText(latencyText(Int64($0))) },
            series: measured.map { name, summary in
                // Beyond what so many values can tell there is only the maximum again.
                let limit = 100 - 100 / Double(max(1, summary.count))
                return Chart.Series(
                    name: name,
                    points: summary.curve.filter { $0.percentile <= limit || $0.percentile == 100 }.map { point in
                        (point.percentile == 100 ? max(limit, 0) : point.percentile, Double(point.microseconds))
                    })
            }
        ) { percentile, latency in
            "\(latencyText(Int64(latency))) at \(String(format: "%.5g", percentile)) %"
        }
    }

    private var latencyChart: Chart? {
        let measured = seconds.filter { $0.p50 != nil }
        let all = measured.flatMap { [$0.p50, $0.p99, $0.max].compactMap { $0.map(Double.init) } }
        guard let lowest = all.min(), let highest = all.max() else { return nil }
        func points(_ figure: (Second) -> Int64?) -> [(x: Double, y: Double)] {
            measured.compactMap { second in figure(second).map { (second.time, Double($0)) } }
        }
        return Chart(
            title: "Latency over time", subtitle: "send → applied, of each second", x: .time(to: end),
            y: .logarithmic(lowest, highest) { tickText(latencyText(Int64($0))) },
            series: [
                Chart.Series(name: "p50", points: points(\.p50)), Chart.Series(name: "p99", points: points(\.p99)),
                Chart.Series(name: "max", points: points(\.max)),
            ], marks: marks
        ) { time, latency in "\(latencyText(Int64(latency))), at \(secondsText(time))" }
    }

    /// As many as can be told apart by their colours, those with the most first to stay.
    private func busiest(_ figure: (ProcessFigures) -> Double) -> [ProcessFigures] {
        let kept = Set(processes.sorted { figure($0) > figure($1) }.prefix(8).map(\.name))
        return processes.filter { kept.contains($0.name) && !$0.points.isEmpty }
    }

    private var processorChart: Chart? {
        let shown = busiest(\.meanLoad)
        guard !shown.isEmpty else { return nil }
        return Chart(
            title: "Processor of each process", subtitle: "100 % is one processor", x: .time(to: end),
            y: .linear(to: max(0.1, shown.map(\.highestLoad).max() ?? 0)) { percentText($0) },
            series: shown.map { Chart.Series(name: $0.name, points: $0.points.map { ($0.time, $0.load) }) }, marks: marks
        ) { time, load in "\(percentText(load)), at \(secondsText(time))" }
    }

    private var memoryChart: Chart? {
        let shown = busiest { Double($0.highestMemory) }
        guard !shown.isEmpty else { return nil }
        return Chart(
            title: "Memory of each process", subtitle: "resident, in MiB", x: .time(to: end),
            y: .linear(to: (shown.map { Double($0.highestMemory) }.max() ?? 0) / 1_048_576) { countText(Int($0.rounded())) },
            series: shown.map { process in
                Chart.Series(name: process.name, points: process.points.map { ($0.time, Double($0.residentBytes) / 1_048_576) })
            }, marks: marks
        ) { time, memory in "\(bytesText(memory * 1_048_576)), at \(secondsText(time))" }
    }
}
