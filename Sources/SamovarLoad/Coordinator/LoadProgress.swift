/// One second of all agents together.
public struct LoadProgress: Equatable, Sendable {
    /// Microseconds since the start, of the slowest.
    public var elapsed: Int64
    /// Since the start.
    public var counts: ClientCounts
    public var views: Int
    /// Of this second.
    public var applied: [Distribution]

    /// - Parameter index: of the reports to add up.
    init(_ agents: [CoordinatorMachine.Agent], at index: Int) {
        let all = agents.map { $0.progress[index] }
        elapsed = all.map(\.elapsed).min() ?? 0
        counts = all.map(\.counts).reduce(ClientCounts(), +)
        views = all.map(\.views).reduce(0, +)
        applied = all.map(\.applied)
    }
}
