import Foundation
import MessagePack
import ProcessSupport
import Testing
import ZeroMQ

/// The listeners of a store, each with its place behind the first port.
enum Door: Int, CaseIterable {
    case front = 0
    case work = 1
    case admin = 3
    case view = 2
}

/// A counter's store process with keys, on loopback: one of each role is in its table.
final class GuardedStore: Sendable {
    static let roles = ["viewer", "client", "worker", "operator"]

    let scratch: Scratch
    let port: Int
    private let child: Child

    /// - Parameter names: of further keys, which have all roles.
    init(keys names: String...) async throws {
        scratch = try Scratch()
        port = try Ports.free()
        for role in Self.roles { try await Self.issue(role, [role], in: scratch) }
        for name in names { try await Self.issue(name, Self.roles, in: scratch) }
        child = try Child(
            Executable.counter,
            [
                "store", "--data", scratch.folder("data"), "--endpoint", "tcp://127.0.0.1:\(port)",
                "--keys", scratch.folder("keys"),
            ],
            in: scratch,
            // Its peers say nothing but what their test says, and take their time for jobs. Every view is published.
            variables: [
                "SAMOVAR_STORE_SILENCE_SECONDS": "600", "SAMOVAR_STORE_TIMEOUT_GRACE_SECONDS": "600",
                "SAMOVAR_STORE_VIEW_INTERVAL_MILLISECONDS": "0",
            ])
        try await eventually("the store serves: \(child.errors)") { [child] in child.errors.contains("serving") }
    }

    var log: String { child.errors }

    func address(_ door: Door) -> String { "tcp://127.0.0.1:\(port + door.rawValue)" }

    /// The folder of its sockets for its own user.
    var folder: String {
        get throws {
            let run = scratch.folder("run")
            return "\(run)/\(try #require(try FileManager.default.contentsOfDirectory(atPath: run).first))"
        }
    }

    // MARK: Keys

    private static func issue(_ name: String, _ roles: [String], in scratch: Scratch) async throws {
        try await keys(["new", name, "--out", scratch.folder("\(name).key")] + roles.flatMap { ["--role", $0] }, in: scratch)
    }

    private static func keys(_ arguments: [String], in scratch: Scratch) async throws {
        let child = try Child(Executable.counter, ["keys"] + arguments + ["--keys", scratch.folder("keys")], in: scratch)
        #expect(try await child.wait() == .exited(0), "\(child.errors)")
    }

    /// What the file of a key makes a socket do.
    func proof(_ name: String) throws -> SocketOptions.Security {
        let text = try String(contentsOfFile: scratch.folder("\(name).key"), encoding: .utf8)
        func field(_ name: String) throws -> String {
            let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("\(name): ") })
            return String(line.dropFirst(name.count + 2))
        }
        var secret = Array(try field("secret").utf8)
        let key = secret.withUnsafeMutableBytes { CurveSecretKey(z85: UnsafeRawBufferPointer($0)) }
        return .curveClient(
            try CurveKeyPair(try #require(key)), server: try #require(CurvePublicKey(z85: try field("server"))))
    }

    /// A key that the table does not have.
    func strangersProof() throws -> SocketOptions.Security {
        guard case .curveClient(_, let server) = try proof("client") else { throw Unexpected("no key") }
        return .curveClient(try CurveKeyPair(), server: server)
    }

    func revoke(_ name: String) async throws {
        try await Self.keys(["revoke", name], in: scratch)
        try await reload()
    }

    /// Lets a key end at a time that is not more than two seconds away. Whoever is in with it is in until then.
    func expire(_ name: String) async throws {
        let file = scratch.folder("keys/table")
        let end = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 2))
        let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.map { $0.hasPrefix("\(name) ") ? "\($0) not-after=\(end)" : String($0) }.joined(separator: "\n")
        try Data(table.utf8).write(to: URL(fileURLWithPath: file))
        try await reload()
        try await eventually("the key \(name) has expired") { try await self.isValid(name) == false }
    }

    private func reload() async throws {
        let child = try Child(Executable.counter, ["keys", "reload", "--data", scratch.folder("data")], in: scratch)
        #expect(try await child.wait() == .exited(0), "\(child.errors)")
    }

    private func isValid(_ name: String) async throws -> Bool? {
        let key = try await ask("status").value["keys"]?.elements.first { $0["name"] == .string(name) }
        return key?["valid"] == true
    }

    // MARK: What is so

    /// Asks as the user of the store.
    func ask(_ verb: String, _ arguments: Value = .nil) async throws -> (refusal: String?, value: Value) {
        try await RawPeer("ipc://\(try folder)/admin").ask(verb, arguments)
    }

    /// All that a peer could change, once it has come to rest.
    func facts() async throws -> Facts {
        var last: Facts?
        return try await eventually("the store has come to rest") {
            let status = try await self.ask("status").value
            let state = try await self.ask("inspect").value["state"] ?? .nil
            let facts = Facts(status, state: state)
            defer { last = facts }
            return status["durable"] == status["turn"] && facts == last ? facts : nil
        }
    }

    /// How often a frame was refused because of its key.
    func refusedFrames() async throws -> Int64 {
        try #require(try await ask("status").value["counters"]?["refusedByKey"]?.integer)
    }
}

/// The head of the journal, the state, and who is there.
struct Facts: Equatable {
    private var turn: Int64
    private var sync: Int64
    private(set) var values: [String: Value]

    fileprivate init(_ status: Value, state: Value) {
        turn = status["turn"]?.integer ?? -1
        sync = state["sync"]?.integer ?? -1
        values = ["async": state["async"] ?? .nil, "isBusy": state["isBusy"] ?? .nil]
        for name in ["starts", "clients", "sessions", "inbox", "openEffects", "deadEffects", "awaitedWorkers", "paused", "rules"] {
            values[name] = status[name]
        }
        for name in ["refused", "results", "lateResults", "quarantined", "deadWorkers"] { values[name] = status["counters"]?[name] }
        values["topics"] = status["viewTopics"]?["count"]
        values["workers"] = .array(status["workers"]?.elements.map { [$0["id"] ?? .nil, $0["running"] ?? .nil] } ?? [])
        values["owned"] = .array(
            status["keys"]?.elements.map { [$0["name"] ?? .nil, $0["sessions"] ?? .nil, $0["workers"] ?? .nil] } ?? [])
    }

    /// So many increments of somebody else are no change.
    mutating func count(_ increments: Int64) {
        turn += increments
        sync += increments
    }

    func changes(since former: Facts) -> [String] {
        let numbers = [("turn", former.turn, turn), ("sync", former.sync, sync)].filter { $0.1 != $0.2 }.map {
            "\($0): \($1), then \($2)"
        }
        let others = values.filter { former.values[$0.key] != $0.value }.map { name, value in
            "\(name): \(former.values[name]?.text ?? "none"), then \(value.text)"
        }
        return numbers + others.sorted()
    }
}
