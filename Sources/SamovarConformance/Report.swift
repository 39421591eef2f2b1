public import MessagePack

/// What became of the scenarios of a run.
public struct Report: Sendable {
    public struct Result: Sendable {
        public let scenario: Scenario
        public let verdict: Verdict
        /// The end of what the peer said on standard error.
        public let errors: String

        public init(_ scenario: Scenario, _ verdict: Verdict, errors: String = "") {
            self.scenario = scenario
            self.verdict = verdict
            self.errors = errors
        }
    }

    public var results: [Result] = []

    public init() {}

    public var broken: Int { results.count { $0.verdict != .held } }

    /// A line for each scenario; for a broken one what was expected, what was seen, and the frame that shows it.
    public var text: String {
        let width = results.map(\.scenario.name.count).max() ?? 0
        var lines: [String] = []
        for result in results {
            let scenario = result.scenario
            let name = scenario.name + String(repeating: " ", count: width - scenario.name.count)
            guard case .broken(let fault) = result.verdict else {
                lines.append("held    \(name)  \(scenario.rule)")
                continue
            }
            lines += ["broken  \(name)  \(fault.rule)", "        \(scenario.story)"]
            lines += Self.block("expected", [fault.expected]) + Self.block("seen", [fault.seen])
            lines += Self.block("frame", fault.dump)
            lines += Self.block("errors", result.errors.split(separator: "\n").suffix(5).map(String.init))
        }
        lines.append("\(results.count - broken) held, \(broken) broken")
        return lines.joined(separator: "\n")
    }

    private static func block(_ name: String, _ lines: [String]) -> [String] {
        lines.enumerated().map { index, line in
            let head = index == 0 ? name : ""
            return "          \(head)\(String(repeating: " ", count: 10 - head.count))\(line)"
        }
    }

    /// The same for a program.
    public var value: Value {
        let scenarios = results.map { result -> Value in
            var value = result.scenario.value
            value["held"] = .bool(result.verdict == .held)
            guard case .broken(let fault) = result.verdict else { return value }
            value["broken"] = .string(fault.rule)
            value["expected"] = .string(fault.expected)
            value["seen"] = .string(fault.seen)
            value["frame"] = .array(fault.parts.map { .string(hexadecimal($0)) })
            value["errors"] = .string(result.errors)
            return value
        }
        return ["scenarios": .array(scenarios), "held": .int(Int64(results.count - broken)), "broken": .int(Int64(broken))]
    }
}

extension Scenario {
    /// What it is, for a program.
    public var value: Value { ["name": .string(name), "rule": .string(rule), "story": .string(story)] }
}
