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
        /// With which snapshots the passes begin; the last of them goes on.
        let begins: [Int]
        /// Whether the snapshots are not what a replay gives.
        let isChanged: Bool

        init(differsFrom: Int, begins: [Int] = [0], isChanged: Bool = false) {
            self.differsFrom = differsFrom
            self.begins = begins
            self.isChanged = isChanged
        }

        func pass(_ plan: VerificationPlan) -> VerificationReport {
            passes.append(plan)
            var report = VerificationReport(hashSeed: passes.count, timeline: "t")
            report.begin = begins[min(passes.count, begins.count) - 1]
            let same = isChanged ? UInt64(report.begin) : 0
            report.digests = plan.digests.filter { $0 > report.begin }.map { turn in
                .init(turn: turn, value: fickle && turn >= differsFrom ? UInt64(passes.count) : same)
            }
            report.state = plan.state.flatMap { $0 > report.begin ? [UInt8(passes.count)] : nil }
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

    // MARK: Beside a store that trims

    @Test func `What two processes have in common is compared turn by turn, though they begin with other snapshots`() async throws {
        let world = World(differsFrom: .max, begins: [100, 500])
        let found = try await verdict(world, last: 1_000)
        #expect(found.finding == nil && world.passes.count == 2)
        #expect(found.digests == Verification.stops(after: 0, through: 1_000).count { $0 > 500 })
    }

    @Test func `A snapshot that is not what a replay gives is no difference between two processes`() async throws {
        let world = World(differsFrom: .max, begins: [100, 500], isChanged: true)
        let found = try await verdict(world, last: 1_000)
        #expect(found.finding == nil && world.passes.count == 3, "a third one begins as the second one did")
    }

    @Test(arguments: [501, 502, 700, 1_000])
    func `The first turn with another state is found behind the beginning of a trimmed journal`(_ turn: Int) async throws {
        let found = try await verdict(World(differsFrom: turn, begins: [500]), last: 1_000)
        guard case .state(turn, lastEqual: turn - 1, let states, command: nil) = found.finding else {
            Issue.record("\(String(describing: found.finding))")
            return
        }
        #expect(states.count == 2)
    }

    @Test func `A difference whose turns are trimmed during the search stays one`() async throws {
        let world = World(differsFrom: 41_000, begins: [500, 500, 60_000])
        let found = try await verdict(world, last: 100_000)
        guard case .state(let turn, lastEqual: let lower, states: let states, command: nil) = found.finding else {
            Issue.record("\(String(describing: found.finding))")
            return
        }
        #expect(lower < 41_000 && turn >= 41_000 && turn < 60_000 && states.isEmpty)
    }

    @Test func `Where nothing is left to compare it is to be verified again`() async throws {
        let gone = World(differsFrom: .max, begins: [2_000])
        let early = await #expect(throws: StoreError.self) { try await verdict(gone, last: 1_000) }
        #expect(early?.code == .again && gone.passes.count == 1)
        let fast = World(differsFrom: .max, begins: Array(1...100), isChanged: true)
        let late = await #expect(throws: StoreError.self) { try await verdict(fast, last: 1_000) }
        #expect(late?.code == .again && fast.passes.count == 5)
    }

    // MARK: What is no journal

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
