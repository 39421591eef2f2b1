import Foundation
import PostgreSQL
import PostgreSQLJournal
import ProcessSupport
import Synchronization
import Testing

/// A server of PostgreSQL that a test has started, in a folder of its own. It ends when nobody holds it.
final class TestServer: Sendable {
    /// Of Debian's packages, or on the PATH; nil if there is none.
    static let programs: String? = {
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
    static func common() async throws -> TestServer { try await shared.get() }

    private let folder: String
    private let scratch: Scratch
    private let options: [String]
    private let process = Mutex<Child?>(nil)
    private let schemas = Atomic<Int>(0)

    /// - Parameter options: settings of the server, as `name=value`.
    init(_ options: [String] = []) async throws {
        let programs = try #require(Self.programs)
        folder = "/tmp/samovar-postgresql-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        scratch = try Scratch()
        self.options = options
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        if let user = Self.user { #expect(chown(folder, user.pw_uid, user.pw_gid) == 0) }
        let words = [
            "\(programs)/initdb", "-D", "\(folder)/data", "-A", "trust", "-U", "samovar", "-E", "UTF8", "--locale=C", "--no-sync",
        ]
        let initialised = try child(words)
        #expect(try await initialised.wait() == .exited(0), "\(initialised.errors)")
        try await start()
    }

    deinit {
        process.withLock { $0 = nil }
        // The processes of a server end when its first one is gone.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// The server refuses to be root.
    private static var user: passwd? { geteuid() == 0 ? getpwnam("postgres")?.pointee : nil }

    private func child(_ words: [String]) throws -> Child {
        guard let user = Self.user else { return try Child(words[0], Array(words.dropFirst()), in: scratch) }
        let identity = ["--reuid", "\(user.pw_uid)", "--regid", "\(user.pw_gid)", "--clear-groups", "--"]
        return try Child("setpriv", identity + words, in: scratch)
    }

    func start() async throws {
        let programs = try #require(Self.programs)
        let settings = (["listen_addresses=", "unix_socket_directories=\(folder)"] + options).flatMap { ["-c", $0] }
        let server = try child(["\(programs)/postgres", "-D", "\(folder)/data"] + settings)
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
    func crash() async throws {
        guard let server = process.withLock({ $0 }) else { return }
        server.send(SIGQUIT)
        try await server.wait()
    }

    var address: PostgreSQLAddress {
        get throws { try PostgreSQLAddress("postgresql://samovar@/postgres?host=\(folder)") }
    }

    func connect() throws -> PostgreSQLConnection { try PostgreSQLConnection(address, patience: .seconds(20)) }

    /// Runs statements of an administrator.
    func run(_ sql: String) throws {
        var connection = try connect()
        try connection.run(sql)
    }

    /// The place of a journal that is not made yet.
    func place(patience: Duration = .seconds(20)) throws -> PostgreSQLPlace {
        let number = schemas.wrappingAdd(1, ordering: .relaxed).newValue
        var place = try #require(PostgreSQLPlace(address, schema: "j\(number)"))
        place.patience = patience
        return place
    }

    /// A new journal.
    func journal(patience: Duration = .seconds(20)) throws -> PostgreSQLJournal {
        let place = try place(patience: patience)
        #expect(try PostgreSQLJournal.create(at: place))
        return try PostgreSQLJournal(at: place)
    }
}
