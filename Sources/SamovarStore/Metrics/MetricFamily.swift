import MessagePack
import SamovarCore
import SamovarWire

/// One metric with all its series, as `metrics` answers it: what a reader needs to write it in any text format.
struct MetricFamily {
    enum Kind: String {
        case counter
        case gauge
        case histogram
    }

    /// Value of one series at this moment.
    struct Sample {
        /// What follows the name: `_total`, `_bucket`, `_sum`, `_count`, or nothing.
        let suffix: String
        let labels: [(String, String)]
        let value: MessagePackValue
    }

    let name: String
    let kind: Kind
    let help: String
    private(set) var samples: [Sample] = []

    init(_ kind: Kind, _ name: String, _ help: String) {
        self.name = "samovar_" + name
        self.kind = kind
        self.help = help
    }

    mutating func add(_ value: MessagePackValue, _ labels: [(String, String)] = []) {
        samples.append(Sample(suffix: kind == .counter ? "_total" : "", labels: labels, value: value))
    }

    mutating func add(_ value: Int, _ labels: [(String, String)] = []) { add(.number(value), labels) }

    mutating func add(_ histogram: DurationHistogram, _ labels: [(String, String)] = []) {
        var sum = 0
        for (index, count) in histogram.buckets.enumerated() {
            sum += count
            let isLast = index == DurationBuckets.bounds.count
            let bound = isLast ? "+Inf" : "\(Double(DurationBuckets.bounds[index].microseconds) / 1_000_000)"
            samples.append(Sample(suffix: "_bucket", labels: labels + [("le", bound)], value: .number(sum)))
        }
        samples.append(Sample(suffix: "_sum", labels: labels, value: .double(Double(histogram.microseconds) / 1_000_000)))
        samples.append(Sample(suffix: "_count", labels: labels, value: .number(sum)))
    }

    static func one(_ kind: Kind, _ name: String, _ help: String, _ value: MessagePackValue) -> MetricFamily {
        var family = MetricFamily(kind, name, help)
        family.add(value)
        return family
    }

    static func one(_ kind: Kind, _ name: String, _ help: String, _ value: Int) -> MetricFamily {
        one(kind, name, help, .number(value))
    }

    static func one(_ name: String, _ help: String, _ histogram: DurationHistogram) -> MetricFamily {
        var family = MetricFamily(.histogram, name, help)
        family.add(histogram)
        return family
    }

    /// As it is told.
    var value: MessagePackValue {
        [
            "name": .string(name), "kind": .string(kind.rawValue), "help": .string(help),
            "samples": .array(
                samples.map { sample in
                    .array([
                        .string(sample.suffix),
                        .map(sample.labels.map { MessagePackPair(.string($0.0), .string($0.1)) }), sample.value,
                    ])
                }),
        ]
    }
}
