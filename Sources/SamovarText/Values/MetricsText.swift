package import MessagePack
import SamovarTerminal

/// The answer to `metrics` in the text format of a monitoring system.
///
/// Sources: “Exposition formats” of the documentation of Prometheus (version 0.0.4), and the specification of OpenMetrics 1.0. There are no
/// `_created` lines: all counters began with the process, whose start is a metric of its own.
///
/// It may be read at a terminal, and names of queues come from outside: what a terminal would take for an order is a number in them, as
/// `escapeForTerminal` writes it, and its backslash is escaped as the formats want it.
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
                case .string(let help)? = family["help"], case .array(let samples)? = family["samples"], isName(name), isName(kind)
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
            case .map(let labels) = parts[1], isName(name + suffix)
        else { return nil }
        var texts: [String] = []
        for label in labels {
            guard case .string(let key) = label.key, case .string(let value) = label.value, isName(key) else { return nil }
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

    /// Whether both formats take it for the name of a metric, of a kind, and of a label.
    private static func isName(_ text: String) -> Bool {
        text.first?.isNumber == false && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") }
    }

    /// Different texts stay different, or two queues would be one series: so one that has such a number itself is told apart.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        let distinct = text.unicodeScalars.replacing(#"\u{"#.unicodeScalars, with: #"\u{5c}u{"#.unicodeScalars)
        return replacingScalars(of: String(distinct)) { scalar in
            switch scalar {
            case "\\": "\\\\"
            case "\n": "\\n"
            case "\"" where quotes: "\\\""
            case _ where scalar.controlsTerminal: "\\\\u{\(String(scalar.value, radix: 16))}"
            default: nil
            }
        }
    }
}
