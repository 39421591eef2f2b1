import Foundation
import ProcessSupport
import Testing

/// Any process may be killed at any instant, and the result is the one that an undisturbed search finds.
///
/// `SAMOVAR_CHAOS_SECONDS` makes it longer; `SAMOVAR_CHAOS_SEED` repeats a run as far as the machine lets it.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct ChaosTests {
    private static let kills = 20
    private static let environment = ProcessInfo.processInfo.environment

    @Test(.timeLimit(.minutes(60)))
    func `A search whose processes are killed at random finds what find and sha256sum find`() async throws {
        let seed = Self.environment["SAMOVAR_CHAOS_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
        let end = ContinuousClock.now + .seconds(Self.environment["SAMOVAR_CHAOS_SECONDS"].flatMap { Int($0) } ?? 0)
        var random = SeededRandom(seed: seed)
        var kills: [String: Int] = [:]
        var rounds = 0
        // A fast machine needs more than one search for that many kills.
        while kills.values.reduce(0, +) < Self.kills || ContinuousClock.now < end {
            rounds += 1
            try await round(seed: random.next(), &kills, note: "SAMOVAR_CHAOS_SEED=\(seed), round \(rounds)")
        }
        print("chaos: \(rounds) searches, killed: \(kills)")
    }

    private func round(seed: UInt64, _ kills: inout [String: Int], note: String) async throws {
        let t0 = ContinuousClock.now
        let scratch = try Scratch()
        var random = SeededRandom(seed: seed)
        let root = scratch.folder("tree")
        try FileTree.make(at: root, files: 21_000, directories: 3_000, seed: seed)
        let search = Search(scratch, root: root)
        print("tree", ContinuousClock.now - t0); var up = try search.start()
        while up.end == nil {
            let pause = ContinuousClock.now + .milliseconds(Int.random(in: 200...1_000, using: &random))
            while up.end == nil, ContinuousClock.now < pause { try await Task.sleep(for: .milliseconds(10)) }
            guard up.end == nil, let victim = search.processes.filter({ $0.command != "replay" }).randomElement(using: &random) else { continue }
            guard victim.id != up.id else {
                print("kill up", ContinuousClock.now - t0)
                up.send(SIGKILL)
                #expect(try await up.wait() == .killed(SIGKILL), "\(note)")
                kills["up", default: 0] += 1
                up = try search.start()
                continue
            }
            print("kill", victim.command, ContinuousClock.now - t0)
            if victim.send(SIGKILL) { kills[victim.command, default: 0] += 1 }
        }
        #expect(up.end == .exited(0), "\(note): \(up.errors.suffix(4_000))")
        try await eventually("nothing is left running (\(note))") { search.processes.isEmpty }
        print("ended", ContinuousClock.now - t0)
        try await search.expectOracle(note: note)
        print("checked", ContinuousClock.now - t0)
        print(up.output)
    }

    @Test func `The jobs of a worker that hangs go to another one`() async throws {
        let scratch = try Scratch()
        let root = scratch.folder("tree")
        try FileTree.make(at: root, files: 3_000, directories: 300, seed: 1)
        let search = Search(scratch, root: root)
        let up = try search.start()
        let worker = try await eventually("a worker runs") { search.processes.first { $0.command == "worker" } }
        worker.send(SIGSTOP)
        #expect(try await up.wait(within: .seconds(40)) == .exited(0), "\(up.errors)")
        try await eventually("nothing is left running") { search.processes.isEmpty }
        try await search.expectOracle(note: "one worker stopped")
    }

    @Test func `A killed up leaves no process behind`() async throws {
        let scratch = try Scratch()
        let search = Search(scratch, root: "/usr")
        let up = try search.start()
        try await eventually("all have started") { search.processes.count == 4 }
        up.send(SIGKILL)
        try await eventually("nothing is left running") { search.processes.isEmpty }
    }
}
