import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Clients of a store with keys, each on both doors, in a few processes that have a key each; see `KeyedCrowdRole`.
final class KeyedCrowd {
    let count: Int
    private let processes: [Child]

    /// The keys of a crowd, with what `keys new` is told: all of it greets at once after a restart of the store.
    static func keys(_ processes: Int, sessions: Int, hellos: Int) -> [(name: String, options: [String])] {
        (0..<processes).map { number in
            (
                "crowd-\(number)",
                ["--role", "client", "--sessions", "\(sessions)", "--hellos", "\(hellos / processes)"]
            )
        }
    }

    init(_ count: Int, of store: KeyedStore, processes: Int) throws {
        self.count = count
        self.processes = try (0..<processes).map { number in
            let share = count * (number + 1) / processes - count * number / processes
            return try store.start(["keyed-crowd", "--count", "\(share)"], of: Executable.chaos, as: "crowd-\(number)")
        }
    }

    /// What all of them tell together; nil until each has told something.
    func report() throws -> KeyedCrowdReport? {
        let reports = try processes.compactMap(Self.report)
        guard reports.count == processes.count else { return nil }
        return KeyedCrowdReport(
            members: reports.reduce(0) { $0 + $1.members }, inside: reports.reduce(0) { $0 + $1.inside },
            since: reports.map(\.since).min() ?? 0, attempts: reports.reduce(0) { $0 + $1.attempts },
            refusals: reports.reduce(0) { $0 + $1.refusals })
    }

    private static func report(_ process: Child) throws -> KeyedCrowdReport? {
        if let end = process.end { throw TimedOut("a crowd has ended: \(end): \(process.errors.suffix(2_000))") }
        // Behind the last end of a line there may be half of one.
        let lines = process.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        return try lines.last.map { try JSONDecoder().decode(KeyedCrowdReport.self, from: Data($0.utf8)) }
    }

    /// Waits until all are in, and came in after a time.
    func isInside(since time: Int, within limit: Duration) async throws {
        do {
            try await eventually("all \(count) are in", within: limit) {
                // They tell once a second, and to read it costs what the store could have.
                try await Task.sleep(for: .milliseconds(200))
                return try self.report().map { $0.inside == self.count && $0.since >= time } ?? false
            }
        } catch let error as TimedOut {
            throw TimedOut("\(error): \(String(describing: try report()))")
        }
    }

    /// Of all processes, for those who want to know what a handshake costs.
    var processorSeconds: Double {
        processes.reduce(0) { $0 + (ProcessTable.entry($1.id)?.processorSeconds ?? 0) }
    }
}
