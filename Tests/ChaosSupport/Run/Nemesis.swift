import Foundation
import ProcessSupport

/// Sends SIGKILL and SIGSTOP to processes of a cluster, as a seed says.
public struct Nemesis {
    /// How often it did what to whom.
    public private(set) var kills: [Cluster.Role: Int] = [:]
    public private(set) var stops: [Cluster.Role: Int] = [:]
    /// It has killed the store, and struck ten times in all: less proves nothing.
    var hasDoneEnough: Bool { kills[.store] != nil && kills.values.reduce(0, +) + stops.values.reduce(0, +) >= 10 }

    private var random: SeededRandom
    /// Milliseconds.
    private let longestStop: Int
    private var stopped: [(process: ProcessTable.Entry, until: ContinuousClock.Instant)] = []

    /// - Parameter longestStop: in milliseconds.
    public init(seed: UInt64, longestStop: Int) {
        random = SeededRandom(seed: seed)
        self.longestStop = longestStop
    }

    /// The time to the next fault.
    public mutating func pause() -> Duration { .milliseconds(Int.random(in: 100...1_200, using: &random)) }

    public mutating func strike(_ cluster: Cluster) {
        // Drawn first and all of it, so that who happens to be away changes nothing of what follows.
        let roles: [Cluster.Role] = [
            .store, .store, .store, .worker, .worker, .worker, .client, .client, .subscriber, .subscriber, .up,
        ]
        let role = roles[Int.random(in: 0..<roles.count, using: &random)]
        let draw = UInt64.random(in: .min ... .max, using: &random)
        let isStop = Int.random(in: 0..<100, using: &random) < 40
        let length = Int.random(in: 100...longestStop, using: &random)
        let victims = cluster.processes(role)
        guard !victims.isEmpty else { return }
        let victim = victims[Int(draw % UInt64(victims.count))]
        // The store of a killed `up` must be able to let the data folder go.
        if role == .up { resumeAll() }
        if isStop, role != .up {
            guard victim.send(SIGSTOP) else { return }
            stopped.append((victim, ContinuousClock.now + .milliseconds(length)))
            stops[role, default: 0] += 1
        } else if victim.send(SIGKILL) {
            kills[role, default: 0] += 1
        }
    }

    /// Lets those go on whose time is over.
    public mutating func resumeDue() {
        let now = ContinuousClock.now
        for entry in stopped where entry.until <= now { entry.process.send(SIGCONT) }
        stopped.removeAll { $0.until <= now }
    }

    public mutating func resumeAll() {
        for entry in stopped { entry.process.send(SIGCONT) }
        stopped.removeAll()
    }
}
