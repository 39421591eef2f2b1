import ChaosSupport
import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// The primary of the database dies, and its replica is made the primary.
@Suite(.serialized, .enabled("there is no PostgreSQL: no replica takes over") { TestServer.programs != nil })
struct PrimaryFailoverTests {
    private static var count: Int { ChaosSettings.isLong ? 20 : 1 }

    /// Stores that know a primary and its replica, and follow whichever is the primary.
    private func cluster(_ primary: TestServer, _ replica: TestServer) async throws -> StandbyCluster {
        let place = try #require(PostgreSQLPlace(primary.address(or: replica), schema: "shop"))
        return try await StandbyCluster(at: place, on: [primary, replica], in: Scratch())
    }

    @Test(.timeLimit(.minutes(120)))
    func `With a synchronous replica nothing is lost`() async throws {
        for _ in 0..<Self.count {
            let primary = try await TestServer()
            let replica = try await TestServer(replicaOf: primary)
            try primary.run("ALTER SYSTEM SET synchronous_standby_names = 'replica'")
            try primary.run("SELECT pg_reload_conf()")
            let cluster = try await cluster(primary, replica)
            #expect((try await cluster.status()?["durability"] as? String)?.hasPrefix("replicated") == true)
            try await primary.crash()
            try replica.promote()
            let crash = machineTime()
            try await cluster.goesOn()
            print("a synchronous replica: answers again after \(machineTime() - crash) ms")
            let checker = try Checker(try await cluster.finish())
            #expect(checker.violations.isEmpty, "\(checker.violations)\n\(cluster.errors.suffix(6_000))")
            #expect(try cluster.fencedBatches() == 0)
        }
    }

    @Test(.timeLimit(.minutes(120)))
    func `With an asynchronous replica, a store that knows of lost turns ends and says so`() async throws {
        for _ in 0..<Self.count {
            let primary = try await TestServer()
            let replica = try await TestServer(replicaOf: primary)
            let cluster = try await cluster(primary, replica)
            // It hears nothing any more, and the primary does not wait for it.
            try replica.run("ALTER SYSTEM SET primary_conninfo = ''")
            try replica.run("SELECT pg_reload_conf()")
            try await cluster.goesOn()
            try await cluster.goesOn()
            try await primary.crash()
            try replica.promote()
            let ends = try await cluster.allEnd()
            #expect(ends.allSatisfy { $0.contains("has lost its") }, "\(ends)\n\(cluster.errors)")
            let told = try cluster.newestReceipt()
            let head = try PostgreSQLJournal(at: cluster.place, access: .readOnly).last
            #expect(head < told, "something was lost")
            print("an asynchronous replica: turn \(told) was told, and \(head) is the last\n\(ends.joined(separator: "\n"))")
        }
    }
}
