import Foundation

/// Measures what depends on the journal: `Benchmarks/journal.sh`, and for `make bench` replay and how turns depend on the state.
@main
struct JournalBenchmark {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let folder = NSTemporaryDirectory() + "/journal-benchmark-\(ProcessInfo.processInfo.processIdentifier)"
        defer {
            // What cannot be removed lies in the system's folder for temporary files.
            try? FileManager.default.removeItem(atPath: folder)
        }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let turns = arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
        switch arguments.first {
        case "recovery": try await Recovery.measure(in: folder, turns: turns)
        case "replay": try await Recovery.measureReplay(in: folder, turns: turns)
        case "snapshots": try await SnapshotStall.measure(in: folder)
        case "sizes": try StateSizes.measure()
        default: print("usage: journal-benchmark recovery [TURNS] | replay [TURNS] | snapshots | sizes")
        }
    }
}
