package import MessagePack

/// The answer to `metrics` in the text format of a monitoring system.
///
/// Sources: “Exposition formats” of the documentation of Prometheus (version 0.0.4), and the specification of OpenMetrics 1.0. There are no
/// `_created` lines: all counters began with the process, whose start is a metric of its own.
package enum MetricsText {
    package enum Format: String, CaseIterable {
        case prometheus
        case openmetrics
    }

    /// Nil if the answer is none to `metrics`.
    package static func text(of answer: MessagePackValue, _ format: Format) -> String? {
        guard case .array(let families)? = answer["families"] else { return nil }
        var lines: [String] = []
        for family in families {
            guard case .string(let name)? = family["name"], case .string(let kind)? = family["kind"],
                case .string(let help)? = family["help"], case .array(let samples)? = family["samples"]
            else { return nil }
            // In the older format a counter is named as its samples are.
            let title = format == .prometheus && kind == "counter" ? name + "_total" : name
            lines.append("# HELP \(title) \(escaped(help, quotes: format == .openmetrics))")
            lines.append("# TYPE \(title) \(kind)")
            if format == .openmetrics, let unit = ["seconds", "bytes"].first(where: { name.hasSuffix("_\($0)") }) {
                lines.append("# UNIT \(title) \(unit)")
            }
            for sample in samples {
                guard let line = line(of: sample, name) else { return nil }
                lines.append(line)
            }
        }
        if format == .openmetrics { lines.append("# EOF") }
        return lines.joined(separator: "\n")
    }

    private static func line(of sample: MessagePackValue, _ name: String) -> String? {
        guard case .array(let parts) = sample, parts.count == 3, case .string(let suffix) = parts[0],
            case .map(let labels) = parts[1]
        else { return nil }
        var texts: [String] = []
        for label in labels {
            guard case .string(let key) = label.key, case .string(let value) = label.value else { return nil }
            texts.append("\(key)=\"\(escaped(value, quotes: true))\"")
        }
        guard let number = number(parts[2]) else { return nil }
        return "\(name)\(suffix)\(texts.isEmpty ? "" : "{\(texts.joined(separator: ","))}") \(number)"
    }

    private static func number(_ value: MessagePackValue) -> String? {
        switch value {
        case .int(let number): "\(number)"
        case .uint(let number): "\(number)"
        case .double(let number) where number.isFinite: "\(number)"
        default: nil
        }
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        replacingScalars(of: text) { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\"" where quotes: "\\\""
            default: nil
            }
        }
    }
}
