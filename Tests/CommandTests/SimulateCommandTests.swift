import ProcessSupport
import Testing

/// `samovar simulate`.
@Suite struct SimulateCommandTests {
    private static func simulate(_ arguments: String...) async throws -> (end: Child.End, output: String, errors: String) {
        let scratch = try Scratch()
        let child = try Child(Executable.samovar, ["simulate"] + arguments, in: scratch)
        let end = try await child.wait(within: .seconds(120))
        return (end, child.output, child.errors)
    }

    /// Swift hashes differently in each process: an order that depended on that would show here.
    @Test func `A seed gives the same trace in two processes`() async throws {
        let first = try await Self.simulate("--seed", "6", "--minutes", "1")
        let second = try await Self.simulate("--seed", "6", "--minutes", "1")
        #expect(first.end == .exited(0), "\(first.errors)")
        #expect(first.output.contains("seed 6: trace "), "\(first.output)")
        #expect(first.output == second.output)
    }

    @Test func `A report says what went wrong how often`() async throws {
        let run = try await Self.simulate("--seeds", "2", "--minutes", "1", "--from", "3")
        #expect(run.end == .exited(0), "\(run.errors)")
        #expect(run.output.hasPrefix("2 seeds, 0 h "), "\(run.output)")
        #expect(run.output.contains("storeCrash ") && run.output.contains("real time: "))
    }

    @Test(
        arguments: [
            ["--seed", "1", "--seeds", "2"], ["--trace"], ["--minutes", "0"], ["--seeds", "0"], ["--from", "3"],
            ["--from", "3", "--fresh", "2"], ["--from", "3", "--seed", "2"], ["--from", "18446744073709551615", "--seeds", "1"],
            ["--exhaustive", "--seed", "1"], ["--exhaustive", "--seeds", "1"], ["--exhaustive", "--fresh", "1"],
            ["--exhaustive", "--minutes", "1"], ["--exhaustive", "--threads", "1"], ["--exhaustive", "--trace"],
        ])
    func `What makes no sense is a mistake of usage`(_ arguments: [String]) async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.samovar, ["simulate"] + arguments, in: scratch)
        #expect(try await child.wait() == .exited(64))
        #expect(child.errors.contains("Error: "), "\(child.errors)")
    }
}
