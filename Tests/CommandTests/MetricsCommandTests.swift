import Foundation
import ProcessSupport
import Testing

/// `metrics` of a real store, held against a strict reader of the formats.
@Suite struct MetricsCommandTests {
    private static let good = """
        # HELP a_total What it is.
        # TYPE a_total counter
        a_total{queue="a\\"b\\\\c\\n"} 1
        # HELP b_seconds What it is.
        # TYPE b_seconds histogram
        b_seconds_bucket{le="0.5"} 1
        b_seconds_bucket{le="+Inf"} 2
        b_seconds_sum 1.5
        b_seconds_count 2

        """

    @Test func `The reader takes what is well-formed`() throws {
        let read = try ExpositionChecker(Self.good, isOpenMetrics: false)
        #expect(read.kinds == ["a_total": "counter", "b_seconds": "histogram"] && read.labels["a_total"] == ["queue"])
    }

    @Test(
        arguments: [
            ("# TYPE a_total counter\n", ""), ("# HELP a_total What it is.\n", ""), ("a\\\"b", "a\"b"), ("\\n", "\\x"),
            ("b_seconds_count 2", "b_seconds_count 3"), ("le=\"+Inf\"} 2", "le=\"+Inf\"} 0"),
            ("b_seconds_bucket{le=\"+Inf\"} 2\n", ""), ("b_seconds_sum 1.5", "b_seconds_sum one"), ("a_total{", "A{"),
            ("a_total{queue", "a_total{queue=\"x\",queue"), ("a_total{", "a_created{"),
            ("b_seconds_sum 1.5", "b_seconds_sum 1.5\nb_seconds_sum 1.5"),
        ])
    func `The reader takes no broken text`(_ part: String, _ broken: String) throws {
        #expect(Self.good.contains(part))
        #expect(throws: ExpositionChecker.Broken.self) {
            try ExpositionChecker(Self.good.replacing(part, with: broken, maxReplacements: 1), isOpenMetrics: false)
        }
        #expect(throws: ExpositionChecker.Broken.self, "no EOF") { try ExpositionChecker(Self.good, isOpenMetrics: true) }
    }

    @Test func `What a store exports after some work is well-formed in both formats, and counts that work`() async throws {
        let store = try await CounterStore()
        try await store.increment(20)
        #expect(try await store.run("send", "incrementAsync", "--wait", "settled").end == .exited(0))
        let plain = try await store.run("metrics")
        #expect(plain.end == .exited(0), "\(plain.errors)")
        let read = try ExpositionChecker(plain.output, isOpenMetrics: false)
        #expect(read.kinds.count > 30 && read.values.count <= 1_500)
        #expect(read.values["samovar_inputs_total{verdict=\"applied\"}"] == 21)
        #expect(read.values["samovar_effects_closed_total{queue=\"default\",outcome=\"done\"}"] == 1)
        #expect(try #require(read.values["samovar_round_seconds_count{}"]) > 0)
        #expect(try #require(read.values["samovar_commit_seconds_count{}"]) > 0)
        #expect(try #require(read.values["samovar_journal_file_bytes{}"]) > 0)
        let open = try await store.run("metrics", "--format", "openmetrics")
        #expect(try ExpositionChecker(open.output, isOpenMetrics: true).kinds.count == read.kinds.count)
        try await Promtool.check(plain.output, ["metrics"])
        try await Promtool.check(try file("config/prometheus/alerts.yaml"), ["rules", "/dev/stdin"])
        try documented(read)
        try used(read)
        try await store.stop()
    }

    @Test(arguments: [("0x10", 1), ("0 0 0 1x10", 0)])
    func `Somebody is called if a store is there and takes nothing for two minutes`(_ serving: String, _ alerts: Int) async throws {
        guard let program = Promtool.program else { return }
        let scratch = try Scratch()
        _ = try scratch.write(try file("config/prometheus/alerts.yaml"), to: "alerts.yaml")
        let annotations = #"{summary: "The store is there and takes no inputs."}"#
        let alert = "- {exp_labels: {severity: page, instance: shop}, exp_annotations: \(annotations)}"
        let test = try scratch.write(
            """
            rule_files: [alerts.yaml]
            tests:
              - interval: 1m
                input_series:
                  - {series: 'samovar_phase{instance="shop",phase="serving"}', values: '\(serving)'}
                  - {series: 'samovar_phase{instance="shop",phase="draining"}', values: '0x10'}
                  - {series: 'samovar_phase{instance="shop",phase="recovering"}', values: '1x10'}
                alert_rule_test:
                  - eval_time: 5m
                    alertname: SamovarStoreTakesNothing
                    exp_alerts:
                      \(alerts == 0 ? "[]" : alert)
            """, to: "test.yaml")
        let child = try Child(program, ["test", "rules", test], in: scratch)
        #expect(try await child.wait() == .exited(0), "\(child.output)\(child.errors)")
    }

    private func file(_ path: String) throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appending(path: path), encoding: .utf8)
    }

    /// The dashboard and the alerts ask for metrics and labels that there are.
    private func used(_ read: ExpositionChecker) throws {
        let labels = Set(read.labels.values.joined()).union(["le", "instance"])
        for path in ["config/grafana/store.json", "config/prometheus/alerts.yaml"] {
            let text = try file(path)
            let uses = text.matches(of: /\b(samovar_[a-z_]+)(?:\{([^}]*)\})?/)
            #expect(uses.count > 8, "\(path)")
            for use in uses {
                let name = String(use.1)
                let histogram = ["_bucket", "_sum", "_count"].first { name.hasSuffix($0) }.map { String(name.dropLast($0.count)) }
                let family = read.kinds[name] == nil ? histogram ?? name : name
                #expect(read.kinds[family] == (family == name ? read.kinds[name] : "histogram"), "\(name) in \(path)")
                #expect(read.kinds[family] != nil, "\(name) in \(path)")
                for label in (use.2 ?? "").matches(of: /([a-z_]+)[=!]/) {
                    #expect(read.labels[family]?.contains(String(label.1)) == true, "\(use.0) in \(path)")
                }
            }
            for grouping in text.matches(of: /\b(?:by|on) \(([a-z_, ]+)\)/) {
                let names = grouping.1.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
                #expect(labels.isSuperset(of: names), "\(grouping.0) in \(path)")
            }
        }
        #expect(try JSONSerialization.jsonObject(with: Data(try file("config/grafana/store.json").utf8)) is [String: Any])
    }

    /// docs/metrics.md has a row for each metric with its kind and labels, and no other.
    private func documented(_ read: ExpositionChecker) throws {
        let page = try file("docs/metrics.md")
        let rows = page.matches(of: /\n\| `(samovar_[a-z_]+)(?:\{([a-z,]+)\})?` \| (counter|gauge|histogram) \|/)
        let told = rows.map { "\($0.1) {\(($0.2 ?? "").split(separator: ",").sorted().joined(separator: ","))} \($0.3)" }
        let exported = read.kinds.map { "\($0.key) {\((read.labels[$0.key] ?? []).sorted().joined(separator: ","))} \($0.value)" }
        #expect(Set(told) == Set(exported) && told.count == exported.count)
    }
}
