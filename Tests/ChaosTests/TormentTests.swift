import ChaosSupport
import ProcessSupport
import Testing

/// One store, three workers, four clients and three subscribers, all of them killed and stopped at random while they work.
///
/// `make chaos` is the long form; `SAMOVAR_CHAOS_SEED` repeats its decisions.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct TormentTests {
    @Test(.timeLimit(.minutes(600)))
    func `Nothing is lost, duplicated or out of order while processes are killed and stopped at random`() async throws {
        let seed = ChaosSettings.seed ?? .random(in: .min ... .max)
        let report = try await Torment(seed: seed, seconds: ChaosSettings.seconds ?? 15).run(in: Scratch())
        print(report)
        #expect(report.violations.isEmpty, "\(report)")
        // A torment that did not happen proves nothing.
        #expect(report.kills[.store] ?? 0 > 0 && report.faults >= 10, "\(report)")
        let answers = report.counts.first { $0.what == "answers that clients had" }?.count ?? 0
        #expect(answers > 100, "\(report)")
    }
}
