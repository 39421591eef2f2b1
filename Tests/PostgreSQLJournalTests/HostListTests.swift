import Foundation
import PostgreSQL
import PostgreSQLSupport
import Testing

/// Addresses with several hosts, of which one is the primary.
@Suite(.enabled("there is no PostgreSQL: lists of hosts are not tested") { TestServer.programs != nil })
struct HostListTests {
    /// A host that lets connect and says nothing: one that is frozen, or to which all is lost.
    private func silentPort() throws -> (socket: Int32, port: Int) {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, size) == 0 && listen(listener, 8) == 0 && getsockname(listener, $0, &size) == 0
            }
        }
        try #require(isBound)
        return (listener, Int(UInt16(bigEndian: address.sin_port)))
    }

    @Test func `A host that says nothing takes a part of the time, and the next one is tried`() async throws {
        let server = try await TestServer.common()
        let (listener, port) = try silentPort()
        defer { close(listener) }
        let text =
            "postgresql://samovar@/postgres?host=127.0.0.1,\(server.folder)&port=\(port),5432&target_session_attrs=read-write"
        var connection = try PostgreSQLConnection(PostgreSQLAddress(text), patience: .seconds(8))
        #expect(try connection.run("SELECT 7::bigint", []).integer(0, 0) == 7)
    }

    @Test func `An address of a name that says nothing takes a part of the time, and the next one is tried`() throws {
        let (listener, port) = try silentPort()
        defer { close(listener) }
        let address = try PostgreSQLAddress("postgresql://samovar@db.internal:\(port)/postgres")
        let begin = ContinuousClock.now
        let error = #expect(throws: PostgreSQLError.self) {
            // At the second one nobody listens.
            _ = try PostgreSQLConnection(address, patience: .seconds(2)) { _ in ["127.0.0.1", "127.0.0.2"] }
        }
        let message = error?.message ?? ""
        #expect(error?.kind == .lost)
        #expect(message.hasPrefix("the server does not answer; ") && message.contains("127.0.0.2"), "\(message)")
        #expect(ContinuousClock.now - begin < .seconds(10))
    }

    @Test func `A name that cannot be looked up is told, and the next host is tried`() async throws {
        let server = try await TestServer.common()
        let address = try PostgreSQLAddress(
            "postgresql://samovar@/postgres?host=db.internal,\(server.folder)&target_session_attrs=read-write")
        let unknown = PostgreSQLError(.lost, "the name db.internal is unknown")
        func look(up name: String) throws(PostgreSQLError) -> [String] { throw unknown }
        var connection = try PostgreSQLConnection(address, patience: .seconds(8), lookUp: look)
        #expect(try connection.run("SELECT 7::bigint", []).integer(0, 0) == 7)
        let error = #expect(throws: PostgreSQLError.self) {
            let address = try PostgreSQLAddress("postgresql://samovar@db.internal/postgres")
            _ = try PostgreSQLConnection(address, patience: .seconds(8), lookUp: look)
        }
        #expect(error == unknown)
    }

    @Test func `A socket that is not there is no server, and that is told at once`() throws {
        let begin = ContinuousClock.now
        let error = #expect(throws: PostgreSQLError.self) {
            _ = try PostgreSQLConnection(PostgreSQLAddress("postgresql://samovar@/postgres?host=/nowhere"), patience: .seconds(20))
        }
        #expect(error?.kind == .lost && error?.message.contains("/nowhere") == true, "\(error.map { "\($0)" } ?? "")")
        #expect(ContinuousClock.now - begin < .seconds(10))
    }

    @Test func `If no host answers, the last one's trouble is told`() async throws {
        let (listener, port) = try silentPort()
        defer { close(listener) }
        let text = "postgresql://samovar@/postgres?host=127.0.0.1,/nowhere&port=\(port),5432"
        let begin = ContinuousClock.now
        let error = #expect(throws: PostgreSQLError.self) {
            _ = try PostgreSQLConnection(PostgreSQLAddress(text), patience: .seconds(1))
        }
        #expect(error?.kind == .lost && error?.message.contains("/nowhere") == true, "\(error.map { "\($0)" } ?? "")")
        #expect(ContinuousClock.now - begin < .seconds(5))
    }
}
