import SamovarCore
import Testing

@testable import SamovarSimulator

/// What the checker lets queues do that have rules, and what it does not.
@Suite struct OracleTests {
    private static let rate = QueueRules.Rate(10, per: .seconds(1), burst: 3)

    @Test func `A rate lets its burst go at once, and then one after the other`() {
        var oracle = RateOracle(Self.rate, since: 1)
        func handOut(_ time: Instant) -> RateOracle.Verdict { oracle.handOut(from: time * milliseconds, to: time * milliseconds) }
        let first = (1...3).map { _ in handOut(1_000) }
        #expect(Array(first.prefix(2)) == [.free, .free])
        #expect(handOut(1_100) == .held)
        guard case .early = handOut(1_150) else { return #expect(Bool(false), "half of its time has passed") }
    }

    @Test func `A task that may have waited for the disk is taken for the earliest time that is right`() {
        var oracle = RateOracle(Self.rate, since: 1)
        for _ in 1...3 { #expect(oracle.handOut(from: 0, to: 1_000 * milliseconds) == .free) }
        // All leave at once, after a commit that took a second.
        for _ in 1...10 { #expect(oracle.handOut(from: 0, to: 1_000 * milliseconds) != .early(1)) }
        guard case .early = oracle.handOut(from: 0, to: 1_000 * milliseconds) else { return #expect(Bool(false), "one too many") }
    }

    @Test func `A store that starts has nothing saved up`() {
        var oracle = RateOracle(Self.rate, since: 1)
        oracle.restart(at: 1_000 * milliseconds)
        guard case .early = oracle.handOut(from: 1_010 * milliseconds, to: 1_010 * milliseconds) else {
            return #expect(Bool(false), "the bucket is empty")
        }
        oracle.restart(at: 1_000 * milliseconds)
        #expect(oracle.handOut(from: 1_100 * milliseconds, to: 1_100 * milliseconds) == .held)
    }

    @Test func `Labels are held against their shares while both have a witness, and not else`() {
        let id = EffectID(turn: 1, ordinal: 0)
        func unfair(
            _ served: [Label], waiting: [Label] = ["a", "b"], stillWaited: Bool = true, unseen: Int = 0
        ) -> ShareOracle.Unfair? {
            var oracle = ShareOracle(QueueRules.Shares(["a": 3]), since: 1)
            let waiting: [Label?: EffectID] = Dictionary(uniqueKeysWithValues: waiting.map { ($0, id) })
            var unfair: ShareOracle.Unfair?
            for label in served {
                oracle.unseen += unseen
                unfair = unfair ?? oracle.round([(label, true)], waiting: waiting) { _ in stillWaited }
            }
            return unfair
        }
        let right: [Label] = (0..<40).map { $0 % 4 == 3 ? "b" : "a" }
        let equal: [Label] = (0..<40).map { $0 % 2 == 0 ? "b" : "a" }
        #expect(unfair(right) == nil)
        #expect(unfair(equal)?.label == "b")
        #expect(unfair(equal, waiting: ["b"]) == nil, "the other had nothing to hand out")
        #expect(unfair(equal, stillWaited: false) == nil, "it may have been away in between")
        #expect(unfair(equal, unseen: 1) == nil, "what never left may have been of the other")
    }

    @Test func `Orders about queues and labels are numbers and back`() {
        var random = SeededRandom(seed: 3, "codes")
        for _ in 0..<200 {
            let controlSpec = ControlSpec.drawn(&random)
            #expect(ControlSpec(code: controlSpec.code) == controlSpec)
        }
        #expect(ControlSpec(code: 9) == nil && ControlSpec(code: 15 << 8) == nil)
    }
}
