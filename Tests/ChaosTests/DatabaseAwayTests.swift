import ChaosSupport
import Foundation
import PostgreSQLSupport
import ProcessSupport
import Testing

/// The server of the database answers nothing for a while: clients wait, and all goes on by itself.
@Suite(.serialized, .enabled("there is no PostgreSQL: none goes away") { TestServer.programs != nil })
struct DatabaseAwayTests {
    /// Waits until the store says that the database is away, and does what heals it.
    private func survive(_ server: TestServer, _ begin: () async throws -> Void, _ end: () async throws -> Void) async throws {
        let cluster = try await StandbyCluster(at: server.place(), on: [server], in: Scratch())
        try await begin()
        try await eventually("the store says what is the matter: \(cluster.errors)") {
            ["database away", "lease in doubt"].contains(try await cluster.status()?["phase"] as? String)
        }
        try await Task.sleep(for: .seconds(ChaosSettings.isLong ? 20 : 1))
        try await end()
        try await cluster.goesOn()
        let checker = try Checker(try await cluster.finish())
        #expect(checker.violations.isEmpty, "\(checker.violations)\n\(cluster.errors.suffix(6_000))")
        #expect(try cluster.fencedBatches() == 0)
    }

    @Test func `A server that crashes and comes back takes nothing with it, and nobody is dropped`() async throws {
        let server = try await TestServer()
        try await survive(server, { try await server.crash() }, { try await server.start() })
    }

    @Test func `A server that is frozen is waited for`() async throws {
        let server = try await TestServer()
        try await survive(server, { server.freeze(true) }, { server.freeze(false) })
    }

    @Test func `A replica that does not confirm is waited for`() async throws {
        let server = try await TestServer()
        try await survive(
            server,
            { try server.set("synchronous_standby_names = 'nobody'") }, { try server.set("synchronous_standby_names = ''") })
    }
}
