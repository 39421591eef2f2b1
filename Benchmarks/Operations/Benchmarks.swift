import Benchmark
import CountedAllocations

/// Allocations of 1,000 operations. The gate: `Thresholds` has the number of each benchmark, and another number is a failure, also a
/// smaller one, so that an improvement is written down and kept. Times are information.
let allocations = BenchmarkMetric.custom("allocations", polarity: .prefersSmaller, useScalingFactor: false)

let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.cpuTotal, .throughput, allocations], warmupIterations: 3, scalingFactor: .kilo, maxDuration: .seconds(1),
        maxIterations: 300)
    // An array each: shows that allocations are counted at all.
    measure("control, one array") { Array(repeating: UInt8(1), count: 100 + Int.random(in: 0...1)) }
    codecBenchmarks()
    protocolBenchmarks()
    engineBenchmarks()
    journalBenchmarks()
    wireBenchmarks()
}

/// A benchmark of one operation, which is done 1,000 times in each iteration.
func measure<Result>(
    _ name: String, _ configuration: Benchmark.Configuration = Benchmark.defaultConfiguration,
    _ operation: @escaping () throws -> Result
) {
    Benchmark(name, configuration: configuration) { benchmark in
        let before = samovar_allocations()
        for _ in benchmark.scaledIterations { blackHole(try operation()) }
        benchmark.measurement(allocations, samovar_allocations() - before)
    }
}

/// What cannot be set up is a defect of the benchmark: it says which, and nothing is measured.
func prepared<Subject>(_ make: () throws -> Subject) -> Subject {
    do { return try make() } catch { fatalError("cannot be prepared: \(error)") }
}
