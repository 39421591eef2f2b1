/// One seed's world, from its beginning to its end.
public struct Simulation: Sendable {
    public let seed: UInt64
    /// For how long things go wrong, in virtual minutes.
    public let minutes: Int

    public init(seed: UInt64, minutes: Int) {
        self.seed = seed
        self.minutes = minutes
    }

    /// What a run came to.
    public struct Result: Sendable {
        /// A hash over every event and every byte that arrives: the same for the same seed, in every process.
        public let digest: UInt64
        public var report: Report
        public let violation: Violation?
        /// What the trace kept.
        public let trace: [String]
    }

    public enum Tracing: Equatable, Sendable {
        case none
        /// So many of the last lines.
        case last(Int)
        case everything
    }

    public func run(tracing: Tracing = .none) -> Result {
        let world = World(
            seed: seed, swarm: Swarm(seed: seed), duration: Instant(minutes) * 60 * seconds, trace: tracing)
        return Self.finish(world)
    }

    static func finish(_ world: World) -> Result {
        var violation: Violation?
        do throws(Violation) { try world.run() } catch { violation = error }
        return Result(digest: world.trace.digest, report: Report(world), violation: violation, trace: Array(world.trace.tail))
    }
}
