import Foundation
package import PostgreSQL
package import PostgreSQLJournal
import ProcessSupport
import Synchronization

/// A server of PostgreSQL that a test has started, in a folder of its own. It ends when nobody holds it, and with this process.
package final class TestServer: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        init(_ description: String) { self.description = description }
    }

    /// Of Debian's packages, or on the PATH; nil if there is none.
    package static let programs: String? = {
        // Where there is no such folder, the PATH may have them.
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders = versions.sorted().reversed().map { "/usr/lib/postgresql/\($0)/bin" }
        let path = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":").map(String.init) ?? []
        return (folders + path).first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }()

    private static let shared = Shared()

    private actor Shared {
        private weak var server: TestServer?
        private var starting: Task<TestServer, any Error>?

        func get() async throws -> TestServer {
            if let server { return server }
            let start = starting ?? Task { try await TestServer() }
            starting = start
            defer { starting = nil }
            let server = try await start.value
            self.server = server
            return server
        }
    }

    /// The one that tests share, each with a schema of its own.
    package static func common() async throws -> TestServer { try await shared.get() }

    /// Of its sockets, too.
    package let folder: String
    private let scratch: Scratch
    private let options: [String]
    private let starter: [String]
    /// Its address in a network, where it proves who it is.
    private let host: String?
    private let lifeline: Lifeline
    private let process = Mutex<Child?>(nil)
    private let schemas = Atomic<Int>(0)

    /// - Parameters:
    ///   - options: settings of the server, as `name=value`.
    ///   - primary: a server whose replica this one is, under the name of `replica`.
    ///   - starter: a program that starts the server, with its arguments: `nsenter` for another network.
    ///   - host: an address there, at which it listens.
    package init(
        _ options: [String] = [], replicaOf primary: TestServer? = nil, starter: [String] = [], host: String? = nil
    ) async throws {
        folder = "/tmp/samovar-postgresql-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        scratch = try Scratch()
        self.options = options
        self.starter = starter
        self.host = host
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        if let user = Self.user, chown(folder, user.pw_uid, user.pw_gid) != 0 { throw Failure("cannot give \(folder) away") }
        lifeline = try Lifeline(folder, in: scratch)
        if let primary {
            let source = "host=\(primary.folder) user=samovar application_name=replica"
            try await finish("pg_basebackup", ["-D", "\(folder)/data", "-d", source, "-R", "-c", "fast", "--no-sync"])
        } else {
            let rights = ["-A", "trust", "-U", "samovar"]
            try await finish("initdb", ["-D", "\(folder)/data", "-E", "UTF8", "--locale=C", "--no-sync"] + rights)
        }
        if host != nil { try await certify() }
        try await start()
    }

    /// Of the certificate.
    private static let name = "db.test"
    private var certificate: String { "\(folder)/data/server.crt" }

    private func certify() async throws {
        let key = "\(folder)/data/server.key"
        let subject = ["-subj", "/CN=\(Self.name)", "-addext", "subjectAltName=DNS:\(Self.name)"]
        let made = try await Child.run(
            "openssl",
            ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", certificate] + subject)
        guard made.end == .exited(0) else { throw Failure("openssl: \(made.errors)") }
        if let user = Self.user, chown(key, user.pw_uid, user.pw_gid) != 0 { throw Failure("cannot give \(key) away") }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(folder)/data/pg_hba.conf"))
        try file.seekToEnd()
        try file.write(contentsOf: Data("hostssl all samovar samenet trust\n".utf8))
        try file.close()
    }

    /// The server refuses to be root.
    private static var user: passwd? { geteuid() == 0 ? getpwnam("postgres")?.pointee : nil }

    private func child(_ program: String, _ arguments: [String]) throws -> Child {
        guard let programs = Self.programs else { throw Failure("there is no PostgreSQL") }
        var words = starter
        if let user = Self.user {
            words += ["setpriv", "--reuid", "\(user.pw_uid)", "--regid", "\(user.pw_gid)", "--clear-groups", "--"]
        }
        words += ["\(programs)/\(program)"] + arguments
        return try Child(words[0], Array(words.dropFirst()), in: scratch)
    }

    private func finish(_ program: String, _ arguments: [String]) async throws {
        let child = try child(program, arguments)
        guard try await child.wait() == .exited(0) else { throw Failure("\(program): \(child.errors)") }
    }

    package func start() async throws {
        var options = ["listen_addresses=\(host ?? "")", "unix_socket_directories=\(folder)"] + options
        if host != nil { options += ["ssl=on", "ssl_cert_file=server.crt", "ssl_key_file=server.key"] }
        let settings = options.flatMap { ["-c", $0] }
        let server = try child("postgres", ["-D", "\(folder)/data"] + settings)
        process.withLock { $0 = server }
        try await eventually("the server answers: \(server.errors)") {
            do {
                _ = try self.connect()
                return true
            } catch let error as PostgreSQLError where error.kind == .lost {
                return false
            }
        }
    }

    /// Ends it as a crash would: no checkpoint, and a recovery at the next start.
    package func crash() async throws {
        guard let server = process.withLock({ $0 }) else { return }
        server.send(SIGQUIT)
        try await server.wait()
    }

    /// Has the number of its next transaction be far ahead, as after years of use.
    package func advance(to transaction: Int) async throws {
        guard let server = process.withLock({ $0 }) else { return }
        server.send(SIGINT)
        try await server.wait()
        // A file has 32 pages of 8 KiB, and two bits for each transaction.
        let number = String(transaction / (32 * 8_192 * 4), radix: 16, uppercase: true)
        let file = "\(folder)/data/pg_xact/\(String(repeating: "0", count: 4 - number.count))\(number)"
        try Data(count: 256 << 10).write(to: URL(fileURLWithPath: file))
        if let user = Self.user, chown(file, user.pw_uid, user.pw_gid) != 0 { throw Failure("cannot give \(file) away") }
        try await finish("pg_resetwal", ["-x", "\(transaction)", "-D", "\(folder)/data"])
        try await start()
    }

    /// Stops all its processes where they are, or lets them go on.
    package func freeze(_ isFrozen: Bool) {
        guard let server = process.withLock({ $0?.id }) else { return }
        let signal = isFrozen ? SIGSTOP : SIGCONT
        // The first one before the others, so that it starts none meanwhile.
        kill(server, signal)
        for process in processes(of: server) { kill(process, signal) }
    }

    /// Stops one of its processes where it is, by the name that it has in the list of processes.
    package func stop(_ name: String) throws {
        guard let server = process.withLock({ $0?.id }) else { return }
        let title = Data("postgres: \(name)".utf8)
        guard
            let process = processes(of: server).first(where: {
                // A process that has ended meanwhile has no title.
                (try? Data(contentsOf: URL(filePath: "/proc/\($0)/cmdline")))?.starts(with: title) == true
            })
        else { throw Failure("the server has no \(name)") }
        kill(process, SIGSTOP)
    }

    private func processes(of server: pid_t) -> [pid_t] {
        // Without them there are no processes to be found.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { pid_t($0) }.compactMap(ProcessTable.entry).filter { $0.parent == server }.map(\.id)
    }

    /// Makes a primary of a replica.
    package func promote() throws { try run("SELECT pg_promote()") }

    /// From another machine of its network; nil if it listens on none.
    package var remoteAddress: String? {
        host.map { "postgresql://samovar@\(Self.name)/postgres?hostaddr=\($0)&sslrootcert=\(certificate)" }
    }

    package var address: PostgreSQLAddress {
        get throws { try PostgreSQLAddress("postgresql://samovar@/postgres?host=\(folder)") }
    }

    /// Of whichever of both is the primary.
    package func address(or replica: TestServer) throws -> PostgreSQLAddress {
        try PostgreSQLAddress(
            "postgresql://samovar@/postgres?host=\(folder),\(replica.folder)&target_session_attrs=read-write")
    }

    package func connect() throws -> PostgreSQLConnection { try PostgreSQLConnection(address, patience: .seconds(20)) }

    /// Runs statements of an administrator.
    package func run(_ sql: String) throws {
        var connection = try connect()
        try connection.run(sql)
    }

    /// Changes a setting of the server while it runs: `name = 'value'`.
    package func set(_ setting: String) throws {
        try run("ALTER SYSTEM SET \(setting)")
        try run("SELECT pg_reload_conf()")
    }

    /// The place of a journal that is not made yet.
    package func place() throws -> PostgreSQLPlace {
        let number = schemas.wrappingAdd(1, ordering: .relaxed).newValue
        guard var place = PostgreSQLPlace(try address, schema: "j\(number)") else { throw Failure("j\(number) is no schema") }
        place.patience = .seconds(20)
        return place
    }

    /// A new journal. To make it may take longer than what it is opened with.
    package func journal(patience: Duration = .seconds(20)) throws -> PostgreSQLJournal {
        var place = try place()
        guard try PostgreSQLJournal.create(at: place) else { throw Failure("there is a journal at \(place)") }
        place.patience = patience
        return try PostgreSQLJournal(at: place)
    }
}
