import Testing

@testable import SamovarHost

/// The search for the first turn that differs, with processes that a test makes up.
@Suite struct VerificationTests {
    /// A history in which the digests of two processes differ from one turn on.
    private final class World {
        var passes: [VerificationPlan] = []
        let differsFrom: Int
        /// Passes that differ at all; the others are as one process.
        var fickle = true

        init(differsFrom: Int) {
            self.differsFrom = differsFrom
        }

        func pass(_ plan: VerificationPlan) -> VerificationReport {
            passes.append(plan)
            var report = VerificationReport(hashSeed: passes.count, timeline: "t")
            report.digests = plan.digests.map { turn in
                .init(turn: turn, value: fickle && turn >= differsFrom ? UInt64(passes.count) : 0)
            }
            report.state = plan.state.map { _ in [UInt8(passes.count)] }
            return report
        }
    }

    private func verdict(_ world: World, last: Int) async throws -> Verdict {
        try await Verification(of: VerificationSubject(timeline: "t", last: last)) { world.pass($0) }.verdict()
    }

    @Test(arguments: [1, 2, 63, 64, 65, 777, 99_999, 100_000])
    func `The first turn with another state is found among many`(_ turn: Int) async throws {
        let world = World(differsFrom: turn)
        let found = try await verdict(world, last: 100_000)
        guard case .state(turn, lastEqual: turn - 1, let states, command: nil) = found.finding else {
            Issue.record("\(String(describing: found.finding))")
            return
        }
        #expect(states.count == 2)
        #expect(world.passes.count <= 11, "each round has 64 digests between those of the one before")
        #expect(world.passes.allSatisfy { $0.digests.count <= 64 })
    }

    @Test func `Nothing is found where nothing differs`() async throws {
        let found = try await verdict(World(differsFrom: .max), last: 1_000)
        #expect(found.finding == nil && found.digests == 64)
    }

    @Test func `An empty journal is as it should be`() async throws {
        #expect(try await verdict(World(differsFrom: 1), last: 0).finding == nil)
    }

    @Test func `Two processes with one hash seed prove nothing`() async throws {
        let verification = Verification(of: VerificationSubject(timeline: "t", last: 1)) { _ in
            VerificationReport(hashSeed: 7, timeline: "t")
        }
        await #expect(throws: VerificationError.sameHashSeed) { try await verification.verdict() }
    }

    @Test func `A journal that was exchanged meanwhile is not compared`() async throws {
        let verification = Verification(of: VerificationSubject(timeline: "t", last: 1)) { _ in
            VerificationReport(hashSeed: 7, timeline: "u")
        }
        await #expect(throws: VerificationError.otherJournal) { try await verification.verdict() }
    }

    @Test func `A snapshot that differs is found with the last one that does not`() async throws {
        var count = 0
        let verification = Verification(of: VerificationSubject(timeline: "t", last: 100)) { _ in
            count += 1
            var report = VerificationReport(hashSeed: count, timeline: "t")
            report.snapshots = [
                .init(turn: 10, differences: [], problem: nil), .init(turn: 20, differences: [], problem: "torn"),
                .init(turn: 30, differences: ["state"], problem: nil),
            ]
            return report
        }
        let verdict = try await verification.verdict()
        #expect(verdict.finding == .snapshot(30, parts: ["state"], lastEqual: 10))
        #expect(verdict.snapshots == [10] && verdict.unreadable.map(\.turn) == [20])
    }
}
