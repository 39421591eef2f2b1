import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Cuts between a store and its peers over TCP, in a network of their own: F22 to F24.
///
/// Rules of the routing table drop what goes to the store's ports, what comes from them, or both. Nobody is told: connections stay
/// open and nothing arrives.
@Suite(
    .serialized,
    .enabled("networks of their own need root, `unshare` and `ip`: cuts of the network are not tested") {
        await PrivateNetwork.isAvailable()
    })
struct NetworkTests {
    private let scratch: Scratch
    private let network: PrivateNetwork

    init() async throws {
        scratch = try Scratch()
        network = try await PrivateNetwork(in: scratch)
    }

    private func running() async throws -> Cluster {
        var shape = Cluster.Shape()
        // Those of `up` do not go over the network.
        (shape.workers, shape.detouredWorkers, shape.clients, shape.subscribers, shape.lanes) = (0, 2, 2, 1, 2)
        shape.endpoint = "tcp://127.0.0.1:\(PrivateNetwork.port)"
        shape.starter = network.starter
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually("the first views are seen") { cluster.views(of: "s0") > 2 }
        return cluster
    }

    /// Cuts for some seconds, and proves that nothing got through meanwhile.
    private func cut(_ cut: PrivateNetwork.Cut, of cluster: Cluster, for seconds: Int) async throws {
        try await network.set(cut)
        // What had arrived before is still answered.
        try await Task.sleep(for: .milliseconds(500))
        let (answers, views) = (cluster.answers, cluster.views(of: "s0"))
        try await Task.sleep(for: .seconds(seconds))
        #expect(cluster.answers == answers, "\(cut)")
        if cut != .toStore { #expect(cluster.views(of: "s0") == views, "\(cut)") }
        try await network.set(.none)
        try await eventually("answers come again after a cut \(cut) of \(seconds) s") {
            cluster.answers > answers + 20
        }
    }

    private func judge(_ cluster: Cluster) async throws {
        let violations = try Checker(try await cluster.finish()).violations
        #expect(violations.isEmpty, "\(violations)\n\(cluster.errors.suffix(3_000))")
    }

    @Test func `Cuts in both directions and in one, short and long, lose nothing and heal`() async throws {
        let cluster = try await running()
        // The silence of this store is 3 s.
        for seconds in ChaosSettings.isLong ? [1, 5, 30, 120] : [1, 4] { try await cut(.both, of: cluster, for: seconds) }
        try await cut(.toStore, of: cluster, for: ChaosSettings.isLong ? 10 : 4)
        try await cut(.fromStore, of: cluster, for: ChaosSettings.isLong ? 10 : 4)
        try await judge(cluster)
    }

    @Test func `A store gives up peers whose machine is gone within 8 s`() async throws {
        let cluster = try await running()
        try await network.set(.both)
        try await eventually("clients and workers are given up", within: .seconds(8)) {
            guard let status = try await cluster.status() else { return false }
            // That of `up` is left.
            return status["clients"] as? Int == 1 && (status["workers"] as? [Any])?.isEmpty == true
        }
        try await network.set(.none)
        try await judge(cluster)
    }

    @Test func `A link that flaps does not lose anything`() async throws {
        let cluster = try await running()
        for _ in 0..<(ChaosSettings.isLong ? 50 : 5) {
            try await network.set(.both)
            try await Task.sleep(for: .milliseconds(300))
            try await network.set(.none)
            try await Task.sleep(for: .milliseconds(300))
        }
        try await judge(cluster)
    }
}
