import Foundation
import ProcessSupport
import Testing

/// How `make bench` judges a figure beside its yardstick: `Benchmarks/judge.awk`.
@Suite struct JudgeTests {
    /// - Parameter rounds: figure, yardstick and floor of each.
    /// - Returns: what is printed, between bars; nil if it is refused.
    private func judgement(_ demand: String, _ target: String, _ rounds: [[String]]) async throws -> String? {
        let script = Checkout.root.appending(path: "Benchmarks/judge.awk").path
        let lines = rounds.map { $0.joined(separator: "\t") + "\n" }.joined()
        let run = try await Child.run(
            "awk", ["-v", "demand=\(demand)", "-v", "target=\(target)", "-f", script], input: lines, variables: ["LC_ALL": "C"])
        #expect(run.errors == "")
        guard run.end == .exited(0) else {
            #expect(run.end == .exited(1) && run.output == "")
            return nil
        }
        return run.output.replacing("\t", with: "|")
    }

    private func verdict(_ demand: String, _ target: String, _ rounds: [[String]]) async throws -> String? {
        try await judgement(demand, target, rounds)?.split(separator: "|", omittingEmptySubsequences: false).last.map {
            String($0.dropLast())
        }
    }

    @Test func `Medians are printed with the least and the most, and the ratio of each round`() async throws {
        let odd = try await judgement("least", "0.5", [["3000", "4000"], ["1000", "4000"], ["2000", "2000"]])
        #expect(odd == "2000|1000–3000|4000|2000–4000|0.50|0.25–1.00|at least 0.5 ×, met\n")
        let even = try await judgement("most", "3", [["0.5", "0.1"], ["0.7", "0.3"]])
        #expect(even == "0.60|0.50–0.70|0.20|0.10–0.30|3.00|2.33–5.00|at most 3 ×, met\n")
    }

    @Test(arguments: [
        ("least", "0.5", "49", "at least 0.5 ×, missed"), ("least", "0.5", "50", "at least 0.5 ×, met"),
        ("most", "3", "300", "at most 3 ×, met"), ("most", "3", "301", "at most 3 ×, missed"),
        ("most", "", "301", ""),
    ])
    func `A target is met up to its edge`(_ demand: String, _ target: String, _ figure: String, _ expected: String) async throws {
        #expect(try await verdict(demand, target, [[figure, "100"]]) == expected)
    }

    /// A view fan-out of 6.5 times the bare one was such a figure.
    @Test(arguments: [
        ("least", "0.8", "650", "at least 0.8 ×, cannot be"), ("least", "0.8", "106", "at least 0.8 ×, cannot be"),
        ("least", "0.8", "105", "at least 0.8 ×, met"), ("most", "1", "94", "at most 1 ×, cannot be"),
        ("most", "1", "95", "at most 1 ×, met"), ("most", "", "94", "cannot be"),
    ])
    func `What is better than its floor by more than a twentieth cannot be`(
        _ demand: String, _ target: String, _ figure: String, _ expected: String
    ) async throws {
        #expect(try await verdict(demand, target, [[figure, "100", "100"]]) == expected)
    }

    @Test func `It takes every round for what cannot be`() async throws {
        let rounds = [["200", "100", "100"], ["650", "100", "100"], ["101", "100", "100"]]
        #expect(try await verdict("least", "0.8", rounds) == "at least 0.8 ×, met")
        #expect(try await verdict("least", "0.8", Array(rounds.prefix(2))) == "at least 0.8 ×, cannot be")
    }

    @Test(
        arguments: [
            [], [["1", ""]], [["", "1"]], [["1", "0"]], [["1", "x"]], [["1"]], [["1", "1", "1"], ["1", "1"]], [["1", "1", ""]],
        ] as [[[String]]])
    func `What was not measured in each round is refused`(_ rounds: [[String]]) async throws {
        #expect(try await judgement("least", "0.5", rounds) == nil)
    }
}
