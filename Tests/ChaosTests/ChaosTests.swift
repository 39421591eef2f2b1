import Foundation
import ProcessSupport
import Testing

/// Any process may be killed at any instant, and the result is the one that an undisturbed search finds.
///
/// `SAMOVAR_CHAOS_SEED` repeats its decisions.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct ChaosTests {
    private static let kills = 22

    @Test(.timeLimit(.minutes(600)))
    func `A search whose processes are killed at random finds what find and sha256sum find`() async throws {
        let seed = ChaosSettings.seed ?? .random(in: .min ... .max)
        let end = ContinuousClock.now + .seconds(ChaosSettings.seconds ?? 0)
        var random = SeededRandom(seed: seed)
        var files = 70_000
        var isProven = false
        // A machine that ends its search before so many kills gets a larger tree.
        while !isProven || ContinuousClock.now < end {
            let note = "SAMOVAR_CHAOS_SEED=\(seed), \(files) files"
            let kills = try await killing(files: files, seed: random.next(), note: note)
            print("\(note), killed: \(kills)")
            if kills.values.reduce(0, +) >= Self.kills { isProven = true } else { files *= 2 }
        }
    }

    /// One search; returns how often which process was killed.
    private func killing(files: Int, seed: UInt64, note: String) async throws -> [String: Int] {
        var random = SeededRandom(seed: seed)
        let scratch = try Scratch()
        let search = Search(scratch, root: scratch.folder("tree"))
        try FileTree.make(at: search.root, files: files, directories: files / 7, seed: seed)
        var up = try search.start()
        var kills: [String: Int] = [:]
        while up.end == nil, kills.values.reduce(0, +) < Self.kills {
            let pause = ContinuousClock.now + .milliseconds(Int.random(in: 200...1_000, using: &random))
            while up.end == nil, ContinuousClock.now < pause { try await Task.sleep(for: .milliseconds(10)) }
            guard up.end == nil, let victim = search.processes.randomElement(using: &random), victim.send(SIGKILL) else { continue }
            kills[victim.command, default: 0] += 1
            guard victim.id == up.id else { continue }
            let end = try await up.wait()
            #expect(end == .killed(SIGKILL), "\(note)")
            up = try search.start()
        }
        let end = try await up.wait()
        #expect(end == .exited(0), "\(note): \(up.errors.suffix(4_000))")
        try await eventually("nothing is left running (\(note))") { search.processes.isEmpty }
        try await search.expectOracle(note: note)
        return kills
    }

    @Test func `The jobs of a worker that hangs go to another one`() async throws {
        let scratch = try Scratch()
        let search = Search(scratch, root: scratch.folder("tree"))
        try FileTree.make(at: search.root, files: 3_000, directories: 300, seed: 1)
        let up = try search.start()
        let worker = try await eventually("a worker runs") { search.processes.first { $0.command == "worker" } }
        worker.send(SIGSTOP)
        let end = try await up.wait()
        #expect(end == .exited(0), "\(up.errors)")
        try await eventually("nothing is left running") { search.processes.isEmpty }
        try await search.expectOracle(note: "one worker stopped")
    }

    @Test func `A killed up leaves no process behind`() async throws {
        let scratch = try Scratch()
        let search = Search(scratch, root: "/usr")
        let up = try search.start()
        try await eventually("the search is under way") { up.output.contains("listing") }
        #expect(search.processes.count == 4)
        up.send(SIGKILL)
        try await eventually("nothing is left running") { search.processes.isEmpty }
    }

    @Test func `Ctrl-C gives everything back within 5 s, and the next start begins at once`() async throws {
        let scratch = try Scratch()
        let search = Search(scratch, root: scratch.folder("tree"))
        try FileTree.make(at: search.root, files: 6_000, directories: 600, seed: 2)
        let first = try search.start()
        try await eventually("the search is under way") { first.output.contains("listing") }
        first.send(SIGINT)
        let end = try await first.wait(within: .seconds(5))
        #expect(end == .exited(0), "\(first.errors)")
        #expect(search.processes.isEmpty)

        let second = try search.start()
        #expect(try await second.wait() == .exited(0), "\(second.errors)")
        #expect(!second.errors.contains("has not come back"), "nobody of before is waited for: \(second.errors)")
        try await search.expectOracle(note: "after Ctrl-C")
    }
}
