/// A strict reader of the text formats of Prometheus (0.0.4) and OpenMetrics, for what a store exports.
struct ExpositionChecker {
    struct Broken: Error, CustomStringConvertible {
        let line: Int
        let text: String
        var description: String { "line \(line): \(text)" }
    }

    private(set) var kinds: [String: String] = [:]
    /// The labels of each metric, without `le`.
    private(set) var labels: [String: Set<String>] = [:]
    private(set) var values: [String: Double] = [:]
    private var line = 0
    private var family: String?
    private var isOpenMetrics: Bool

    init(_ text: String, isOpenMetrics: Bool) throws(Broken) {
        self.isOpenMetrics = isOpenMetrics
        guard text.hasSuffix("\n") else { throw Broken(line: 0, text: "no line feed at the end") }
        var lines = text.dropLast().split(separator: "\n", omittingEmptySubsequences: false)
        if isOpenMetrics, lines.popLast() != "# EOF" { throw Broken(line: lines.count, text: "no # EOF at the end") }
        var helped: Set<Substring> = []
        for text in lines {
            line += 1
            if let match = text.wholeMatch(of: /# HELP ([a-z_]+) (?:[^\\]|\\\\|\\n|\\")+/) {
                try require(helped.insert(match.1).inserted, "a second HELP")
            } else if let match = text.wholeMatch(of: /# TYPE ([a-z_]+) (counter|gauge|histogram)/) {
                let name = String(match.1)
                try require(kinds[name] == nil, "a second TYPE")
                try require(helped.contains(match.1), "no HELP before it")
                try require(match.2 != "counter" || name.hasSuffix("_total") != isOpenMetrics, "the name of a counter")
                kinds[name] = String(match.2)
                family = name
            } else if let match = text.wholeMatch(of: /# UNIT ([a-z_]+) ([a-z]+)/) {
                try require(isOpenMetrics && match.1 == (family ?? "") && match.1.hasSuffix("_\(match.2)"), "a unit")
            } else {
                try sample(text)
            }
        }
        try checkHistograms()
    }

    private func require(_ holds: Bool, _ text: String) throws(Broken) {
        if !holds { throw Broken(line: line, text: text) }
    }

    private mutating func sample(_ text: Substring) throws(Broken) {
        guard let match = text.wholeMatch(of: /([a-z_]+)(?:\{(.*)\})? ([0-9.e+-]+)/), let value = Double(match.3) else {
            throw Broken(line: line, text: "no sample: \(text)")
        }
        guard let family, let kind = kinds[family] else { throw Broken(line: line, text: "no TYPE before it") }
        let suffixes =
            switch kind {
            case "histogram": ["_bucket", "_sum", "_count"]
            case "counter": [isOpenMetrics ? "_total" : ""]
            default: [""]
            }
        let name = String(match.1)
        guard let suffix = suffixes.first(where: { family + $0 == name }) else {
            throw Broken(line: line, text: "\(name) is none of \(family)")
        }
        try require(kind == "gauge" || value >= 0, "less than nothing")
        let pair = /([a-z_]+)="((?:[^\\"]|\\\\|\\"|\\n)*)"/
        var rest = match.2 ?? ""
        var names: [String] = []
        while !rest.isEmpty {
            guard let label = rest.prefixMatch(of: pair) else { throw Broken(line: line, text: "labels: \(rest)") }
            names.append(String(label.1))
            rest = rest[label.range.upperBound...]
            if !rest.isEmpty {
                try require(rest.hasPrefix(",\(rest.dropFirst().prefix { $0 != "=" })") && rest.count > 1, "labels: \(rest)")
                rest = rest.dropFirst()
            }
        }
        try require(Set(names).count == names.count, "a label twice")
        try require((suffix == "_bucket") == names.contains("le"), "le is for buckets")
        let own = Set(names).subtracting(["le"])
        try require(labels[family] == nil || labels[family] == own, "other labels than before")
        labels[family] = own
        let series = "\(name){\(match.2 ?? "")}"
        try require(values.updateValue(value, forKey: series) == nil, "a series twice: \(series)")
        if suffix == "_bucket" { buckets.append((line, family, match.2.map(String.init) ?? "", value)) }
    }

    private var buckets: [(line: Int, family: String, labels: String, value: Double)] = []

    /// The buckets of each series grow, in their order, up to `+Inf`, which is the count.
    private func checkHistograms() throws(Broken) {
        var last: (series: String, bound: Double, value: Double)?
        for bucket in buckets {
            guard let match = bucket.labels.wholeMatch(of: /(.*?),?le="([^"]+)"/),
                let bound = Double(match.2.replacing("+Inf", with: "inf"))
            else { throw Broken(line: bucket.line, text: "le is last") }
            let series = "\(bucket.family) \(match.1)"
            if let last, last.series == series {
                guard bound > last.bound, bucket.value >= last.value else {
                    throw Broken(line: bucket.line, text: "buckets do not grow")
                }
            } else if let last, last.bound.isFinite {
                throw Broken(line: bucket.line, text: "no +Inf before it")
            }
            if bound.isInfinite, values["\(bucket.family)_count{\(match.1)}"] != bucket.value {
                throw Broken(line: bucket.line, text: "+Inf is not the count")
            }
            last = (series, bound, bucket.value)
        }
        if let last, last.bound.isFinite { throw Broken(line: line, text: "no +Inf at the end") }
    }
}
