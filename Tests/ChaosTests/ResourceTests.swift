import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Many connections, few descriptors, many subscribers: F46, F60 and F70.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct ResourceTests {
    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func running(_ shape: Cluster.Shape) async throws -> Cluster {
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually("the first views are seen") { cluster.views(of: "s0") > 2 }
        return cluster
    }

    private var shape: Cluster.Shape {
        var shape = Cluster.Shape()
        (shape.workers, shape.clients, shape.subscribers, shape.lanes, shape.pause) = (1, 1, 1, 2, 20)
        return shape
    }

    private func judge(_ cluster: Cluster, isSpared: (String) -> Bool = { _ in false }) async throws {
        var evidence = try await cluster.finish()
        evidence.unexpectedEnds.removeAll(where: isSpared)
        let violations = try Checker(evidence).violations
        #expect(violations.isEmpty, "\(violations)\n\(cluster.errors.suffix(3_000))")
    }

    private func churn(_ cluster: Cluster, _ count: Int, listeners: String = "front,work,view", hold: Int = 0) async throws -> Child
    {
        let peers = try cluster.start([
            "churn", "--endpoint", cluster.endpoint, "--data", cluster.data, "--count", "\(count)", "--listeners", listeners,
            "--hold", "\(hold)",
        ])
        try await eventually("\(count) are connected: \(peers.errors)", within: .seconds(120)) {
            peers.output.contains("connected") || peers.end != nil
        }
        return peers
    }

    @Test func `Ten thousand connects cost the store no memory`() async throws {
        let cluster = try await running(shape)
        let store = try #require(cluster.processes(.store).first)
        // What the first of them need stays: buffers, and the tables of those who are not given up yet.
        _ = try await churn(cluster, 2_000)
        try await forgotten(cluster)
        let (before, descriptors) = (try #require(store.residentKibibytes), store.descriptors)
        for _ in 0..<(ChaosSettings.isLong ? 3 : 1) { _ = try await churn(cluster, 10_000) }
        try await forgotten(cluster)
        let after = try #require(store.residentKibibytes)
        print("10,000 connects: store \(before / 1_024) MiB, then \(after / 1_024) MiB, \(store.descriptors) descriptors")
        // A connection that stays behind is about 30 KiB: these would be 300 MiB.
        #expect(after - before < 24 * 1_024, "from \(before / 1_024) to \(after / 1_024) MiB")
        #expect(store.descriptors <= descriptors + 8)
        #expect(cluster.processes(.store).map(\.id) == [store.id], "\(cluster.errors.suffix(2_000))")
        try await judge(cluster)
    }

    /// Waits until the store has given up all that are gone.
    private func forgotten(_ cluster: Cluster) async throws {
        try await eventually("the store has given up who is gone") {
            let workers = try await cluster.status()?["workers"] as? [Any]
            return try await cluster.number("clients") <= 3 && workers?.count == 1
        }
    }

    @Test(arguments: ["tcp", "ipc"])
    func `A store that runs out of descriptors sheds load or restarts, and neither spins nor loses anything`(
        _ transport: String
    ) async throws {
        var shape = shape
        if transport == "tcp" { shape.endpoint = "tcp://127.0.0.1:\(try Ports.free())" }
        // `up` hands its limit on; nobody can raise it.
        shape.upStarter = ["prlimit", "--nofile=96:96"]
        let cluster = try await running(shape)
        let peers = try await churn(cluster, 300, listeners: "front,view", hold: 30)
        try await Task.sleep(for: .seconds(2))
        let before = cluster.processorSeconds(.store)
        try await Task.sleep(for: .seconds(3))
        let spent = cluster.processorSeconds(.store) - before
        let most = cluster.processes(.store).map(\.descriptors).max() ?? 0
        print("\(transport): \(most) of 96 descriptors, \(spent) s of a processor in 3 s")
        #expect(spent < 1.5, "the store took \(spent) s of a processor in 3 s\n\(cluster.errors.suffix(2_000))")
        #expect(cluster.errors.contains("descriptors") || cluster.errors.contains("signal 6"), "\(cluster.errors.suffix(2_000))")
        peers.send(SIGKILL)
        try await judge(cluster)
    }

    @Test func `A thousand subscribers reach the head`() async throws {
        let cluster = try await running(shape)
        let count = ChaosSettings.isLong ? 1_000 : 300
        let crowd = try cluster.start([
            "crowd", "--endpoint", cluster.endpoint, "--data", cluster.data, "--count", "\(count)",
        ])
        func report() throws -> CrowdReport? {
            guard let line = crowd.output.split(separator: "\n").last else { return nil }
            return try JSONDecoder().decode(CrowdReport.self, from: Data(line.utf8))
        }
        try await eventually("all subscribers show something") {
            try report().map { $0.members == count && $0.showing > count / 2 } ?? false
        }
        let seen = cluster.views(of: "s0")
        try await eventually("load goes on meanwhile") { cluster.views(of: "s0") > seen + 50 }
        try await cluster.rest()
        let live = try await cluster.liveView()
        try await eventually("all \(count) show the head") {
            try report().map { $0.showing == count && $0.view == live } ?? false
        }
        crowd.send(SIGKILL)
        try await judge(cluster)
    }
}
