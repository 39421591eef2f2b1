import Foundation
import PostgreSQLJournal
import PostgreSQLSupport
import ProcessSupport
import Testing

/// An address behind which somebody deals out the sessions of a server.
@Suite(.enabled("there is no PostgreSQL: poolers before it are not tested") { TestServer.programs != nil })
struct PoolerTests {
    /// Stands before a server, and tells its clients a number of its own for the process that serves them, as poolers do.
    private struct Pooler {
        private let listener: Int32

        init(before server: TestServer, in folder: String) throws {
            let (listener, target) = (Self.endpoint(), Self.path(server.folder))
            let isBound = Self.at(Self.path(folder)) { bind(listener, $0, $1) }
            try #require(isBound == 0 && listen(listener, 8) == 0)
            self.listener = listener
            Thread {
                while true {
                    let client = accept(listener, nil, nil)
                    guard client >= 0 else { return }
                    let backend = Self.endpoint()
                    _ = Self.at(target) { connect(backend, $0, $1) }
                    Thread { Self.relay(client, backend) }.start()
                }
            }.start()
        }

        func end() {
            shutdown(listener, Int32(SHUT_RDWR))
            close(listener)
        }

        private static func path(_ folder: String) -> String { "\(folder)/.s.PGSQL.5432" }

        private static func endpoint() -> Int32 { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }

        private static func at(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
                }
            }
        }

        private static func relay(_ client: Int32, _ backend: Int32) {
            defer {
                close(client)
                close(backend)
            }
            let ways = [(client, backend), (backend, client)]
            while true {
                var events = ways.map { pollfd(fd: $0.0, events: Int16(POLLIN), revents: 0) }
                guard poll(&events, 2, -1) > 0 else { return }
                for ((source, target), event) in zip(ways, events) where event.revents != 0 {
                    var bytes = [UInt8](repeating: 0, count: 1 << 16)
                    let count = read(source, &bytes, bytes.count)
                    bytes.removeSubrange(max(count, 0)...)
                    // The message with the number of the process, and a secret.
                    if source == backend, let key = bytes.firstRange(of: [UInt8(ascii: "K"), 0, 0, 0, 12]) {
                        bytes[key.upperBound] ^= 1
                    }
                    // Or a client that has left would end this process.
                    let sent = send(target, bytes, bytes.count, Int32(MSG_NOSIGNAL))
                    guard !bytes.isEmpty, sent == bytes.count else { return }
                }
            }
        }
    }

    @Test func `A store whose address leads to a pooler ends as wrongly configured, and says what to name instead`() async throws {
        let server = try await TestServer.common()
        let place = try server.place()
        #expect(try PostgreSQLJournal.create(at: place))
        let scratch = try Scratch()
        let pooler = try Pooler(before: server, in: scratch.path)
        defer { pooler.end() }
        let journal = "postgresql://samovar@/postgres?host=\(scratch.path)&schema=\(place.schema)"
        let store = try Child(
            Executable.path("tickets"), ["store", "--data", scratch.folder("data"), "--journal", journal], in: scratch)
        #expect(try await store.wait() == .exited(78), "\(store.errors)")
        let reason = """
            the connection is not that of a session of the server: name the server itself in the address, and not a pooler such as pgbouncer
            """
        #expect(store.errors.contains(reason) && !store.errors.contains("pg_hba.conf"), "\(store.errors)")
    }
}
