import ChaosSupport
import Foundation
import PostgreSQLSupport
import ProcessSupport
import Testing

/// A store of several on one journal is lost, and another goes on where it was.
///
/// Each is judged by the histories of those who took part, and by how long clients had no receipt.
@Suite(.serialized, .enabled("there is no PostgreSQL: no store takes over") { TestServer.programs != nil })
struct FailoverTests {
    /// How often each is done: little in `make test`, much in `make chaos`.
    private static func count(_ few: Int, _ many: Int = 100) -> Int { ChaosSettings.isLong ? many : few }

    /// Does something to the owner of the journal again and again, and judges.
    private func survive(
        _ count: Int, named name: String, in network: Namespaces? = nil, _ fault: (StandbyCluster) async throws -> Void
    ) async throws -> [StandbyCluster.Gap] {
        var shape = StandbyCluster.Shape()
        shape.network = network
        let server =
            if let network {
                try await TestServer(starter: network.starter("database"), host: network.address(of: "database"))
            } else {
                try await TestServer.common()
            }
        shape.journal = server.remoteAddress
        let cluster = try await StandbyCluster(shape, at: server.place(), on: [server], in: Scratch())
        let seed = ChaosSettings.seed ?? .random(in: .min ... .max)
        var random = SeededRandom(seed: seed)
        for _ in 0..<count {
            // Load on a store that has been there for a while, or not.
            try await Task.sleep(for: .milliseconds(.random(in: 50...800, using: &random)))
            try await fault(cluster)
        }
        let evidence = try await cluster.finish()
        let checker = try Checker(evidence)
        #expect(checker.violations.isEmpty, "\(checker.violations)\n\(cluster.errors.suffix(6_000))")
        #expect(try cluster.fencedBatches() == 0)
        let gaps = try cluster.gaps(evidence)
        let told = checker.counts.map { "\($0.what) \($0.count)" }.joined(separator: ", ")
        print(
            "\(name) \(count) times, seed \(seed); ms to the first new receipt \(gaps.map(\.afterFault).sorted()),"
                + " longest silence \(gaps.map(\.silence).sorted()); \(told)")
        return gaps
    }

    @Test(.timeLimit(.minutes(120)))
    func `A store that is killed is followed by its standby within 2.5 s, and nothing is lost or done twice`() async throws {
        let gaps = try await survive(Self.count(4), named: "killed") { try await $0.kill() }
        #expect(Self.percentile99(gaps.map(\.afterFault)) <= 2_500)
    }

    @Test(.timeLimit(.minutes(120)))
    func `A store that is asked for the journal hands it over within 1 s`() async throws {
        let gaps = try await survive(Self.count(4), named: "handed over") { try await $0.handOver() }
        #expect(Self.percentile99(gaps.map(\.silence)) <= 1_000)
    }

    @Test(.timeLimit(.minutes(240)))
    func `A store that stops for longer than its lease finds that it is fenced, writes nothing and ends`() async throws {
        let gaps = try await survive(Self.count(1, 200), named: "stopped") { try await $0.pause() }
        #expect(Self.percentile99(gaps.map(\.afterFault)) <= 12_000)
    }

    @Test(
        .timeLimit(.minutes(240)),
        .enabled("network namespaces need root, `unshare`, `nsenter`, `ip` and `ss`: no machine is lost") {
            await Namespaces.areAvailable()
        })
    func `A machine whose power is lost is followed by another within 12 s, and is fenced when it comes back`() async throws {
        let network = try await Namespaces(["store0", "store1", "database", StandbyCluster.Shape.peers], in: Scratch())
        let gaps = try await survive(Self.count(1), named: "cut", in: network) { try await $0.cut() }
        #expect(gaps.allSatisfy { $0.afterFault <= 12_000 })
    }

    /// The longest, where there are fewer than a hundred.
    private static func percentile99(_ times: [Int]) -> Int { times.sorted()[(times.count * 99 + 99) / 100 - 1] }
}
