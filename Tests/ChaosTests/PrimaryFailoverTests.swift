import ChaosSupport
import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import SamovarWire
import Testing

/// The primary of the database dies, and its replica is made the primary, or it comes back without what it had not synced.
///
/// Whatever a server is set to: nothing that was acknowledged is lost, or the store that knows of the loss ends and names both turns.
@Suite(.serialized, .enabled("there is no PostgreSQL: no primary dies") { TestServer.programs != nil })
struct PrimaryFailoverTests {
    private static var count: Int { ChaosSettings.isLong ? 20 : 1 }

    /// Stores that know a primary and its replica, and follow whichever is the primary.
    private func cluster(_ primary: TestServer, _ replica: TestServer) async throws -> StandbyCluster {
        let place = try #require(PostgreSQLPlace(primary.address(or: replica), schema: "shop"))
        return try await StandbyCluster(at: place, on: [primary, replica], in: Scratch())
    }

    /// The primary is gone; what its replica has is the journal now.
    private func lose(_ primary: TestServer, to replica: TestServer) async throws {
        try await primary.crash()
        try replica.promote()
    }

    private func goesOn(_ cluster: StandbyCluster, _ name: String) async throws {
        let crash = machineTime()
        try await cluster.goesOn()
        print("\(name): answers again after \(machineTime() - crash) ms")
        let checker = try Checker(try await cluster.finish())
        #expect(checker.violations.isEmpty, "\(checker.violations)\n\(cluster.errors.suffix(6_000))")
        #expect(try cluster.fencedBatches() == 0)
    }

    private func ends(_ cluster: StandbyCluster, _ name: String) async throws {
        let ends = try await cluster.allEnd()
        let told = try cluster.newestReceipt()
        let records = try Story(at: cluster.place).records
        let head = try #require(records.last).turn
        let starts = records.filter { if case .started = $0.event { true } else { false } }
        // Who had the journal last may have begun to write before somebody came who knew better.
        let kept = starts.count > 1 ? try #require(starts.last).turn - 1 : head
        #expect(kept < told, "something was lost")
        let namesBoth = ends.allSatisfy { end in
            guard let loss = end.firstRange(of: "has lost its") else { return false }
            let turns = end[loss.upperBound...].matches(of: /\b(?:turn|at) ([0-9]+)/).compactMap { Int($0.1) }
            return turns.count == 2 && turns.min().map { $0 <= head } == true && turns.max().map { $0 > kept } == true
        }
        #expect(namesBoth, "\(ends)\n\(cluster.errors)")
        print("\(name): turn \(told) was told, and \(kept) was the last\n\(ends.joined(separator: "\n"))")
    }

    @Test(.timeLimit(.minutes(120)), arguments: ["on", "remote_apply"])
    func `With a synchronous replica nothing is lost`(commit: String) async throws {
        for _ in 0..<Self.count {
            let primary = try await TestServer(["synchronous_commit=\(commit)"])
            let replica = try await TestServer(replicaOf: primary)
            try primary.set("synchronous_standby_names = 'replica'")
            let cluster = try await cluster(primary, replica)
            #expect((try await cluster.status()?["durability"] as? String)?.hasPrefix("replicated") == true)
            try await lose(primary, to: replica)
            try await goesOn(cluster, "a synchronous replica, \(commit)")
        }
    }

    @Test(.timeLimit(.minutes(120)), arguments: ["on", "local"])
    func `With an asynchronous replica, a store that knows of lost turns ends and says so`(commit: String) async throws {
        for _ in 0..<Self.count {
            let primary = try await TestServer(["synchronous_commit=\(commit)"])
            let replica = try await TestServer(replicaOf: primary)
            // The primary does not wait for a replica that is named, either, if commits are local.
            if commit == "local" { try primary.set("synchronous_standby_names = 'replica'") }
            let cluster = try await cluster(primary, replica)
            try replica.set("primary_conninfo = ''")
            try await cluster.goesOn()
            try await cluster.goesOn()
            try await lose(primary, to: replica)
            try await ends(cluster, "an asynchronous replica, \(commit)")
        }
    }

    @Test(.timeLimit(.minutes(5)))
    func `While a synchronous replica is missing nothing is acknowledged, so that nothing is lost with the primary`() async throws {
        let primary = try await TestServer()
        let replica = try await TestServer(replicaOf: primary)
        try primary.set("synchronous_standby_names = 'replica'")
        let cluster = try await cluster(primary, replica)
        try replica.set("primary_conninfo = ''")
        try await eventually("the store waits: \(cluster.errors)") {
            ["database away", "lease in doubt"].contains(try await cluster.status()?["phase"] as? String)
        }
        try await lose(primary, to: replica)
        try await goesOn(cluster, "a replica that was missing")
    }

    @Test(.timeLimit(.minutes(5)))
    func `What a server confirmed before it synced is lost with its crash, and the store that knows ends and says so`() async throws
    {
        let server = try await TestServer(["synchronous_commit=off"])
        let cluster = try await StandbyCluster(at: server.place(), on: [server], in: Scratch())
        // It is the one that writes what nobody waits for.
        try server.stop("walwriter")
        try await cluster.goesOn()
        try await server.crash()
        try await server.start()
        try await ends(cluster, "a server that confirms before it syncs")
    }

    @Test(.timeLimit(.minutes(5)))
    func `A server that does not sync loses nothing by a crash that its machine survives`() async throws {
        let server = try await TestServer(["fsync=off"])
        let cluster = try await StandbyCluster(at: server.place(), on: [server], in: Scratch())
        #expect((try await cluster.status()?["durability"] as? String)?.hasPrefix("process") == true)
        try await server.crash()
        try await server.start()
        try await goesOn(cluster, "a server that does not sync")
    }
}
