import Dispatch
import Synchronization

/// Many seeds on several threads, each seed's world from its beginning to its end on one. Worlds share nothing, so what comes of a
/// seed does not depend on the others.
public struct Sweep: Sendable {
    public let seeds: Range<UInt64>
    public let threads: Int

    public init(seeds: Range<UInt64>, threads: Int) {
        self.seeds = seeds
        self.threads = threads
    }

    /// What a run of many seeds came to.
    public struct Outcome: Sendable {
        /// The sum over all seeds that ran.
        public var report = Report()
        /// Of the seeds that broke a promise, the first in the order of seeds.
        public var violation: (seed: UInt64, violation: Violation)?
        fileprivate var next: UInt64

        fileprivate init(from first: UInt64) {
            next = first
        }

        /// Seeds are begun in order, and none once one has broken a promise; so no earlier one is left out.
        fileprivate mutating func takeNext(before end: UInt64) -> UInt64? {
            guard violation == nil, next < end else { return nil }
            defer { next += 1 }
            return next
        }

        fileprivate mutating func add(_ result: Simulation.Result, of seed: UInt64) {
            report += result.report
            guard let broken = result.violation, seed <= violation?.seed ?? seed else { return }
            violation = (seed, broken)
        }
    }

    /// - Parameter simulate: runs one seed; called on several threads at once.
    public func run(_ simulate: @Sendable (UInt64) -> Simulation.Result) -> Outcome {
        let outcome = Mutex(Outcome(from: seeds.lowerBound))
        DispatchQueue.concurrentPerform(iterations: max(1, threads)) { _ in
            while let seed = outcome.withLock({ $0.takeNext(before: seeds.upperBound) }) {
                let result = simulate(seed)
                outcome.withLock { $0.add(result, of: seed) }
            }
        }
        return outcome.withLock { $0 }
    }
}
