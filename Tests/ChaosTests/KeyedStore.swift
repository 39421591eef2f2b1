import Foundation
import ProcessSupport
import Testing

/// A counter's store with keys, and the files of those who may come.
final class KeyedStore {
    let scratch: Scratch
    let endpoint: String
    private let starter: [String]
    private let peerStarter: [String]
    private(set) var child: Child

    /// - Parameters:
    ///   - keys: names, and the options of `keys new`.
    ///   - endpoint: where it listens; nil for loopback.
    ///   - starter: a program that starts the store, with its arguments: `prlimit`, `nsenter`.
    ///   - peerStarter: one that starts its peers.
    init(
        in scratch: Scratch, keys: [(name: String, options: [String])], at endpoint: String? = nil, starter: [String] = [],
        peerStarter: [String] = []
    ) async throws {
        self.scratch = scratch
        self.starter = starter
        self.peerStarter = peerStarter
        self.endpoint = try endpoint ?? "tcp://127.0.0.1:\(Ports.free())"
        for key in keys {
            let made = try Child(
                Executable.counter,
                ["keys", "new", key.name, "--keys", scratch.folder("keys"), "--out", scratch.folder("\(key.name).key")]
                    + key.options,
                in: scratch)
            #expect(try await made.wait() == .exited(0), "\(made.errors)")
        }
        child = try Self.start(starter, self.endpoint, in: scratch)
        try await serves()
    }

    private static func start(_ starter: [String], _ endpoint: String, in scratch: Scratch) throws -> Child {
        let words =
            starter + [
                Executable.counter, "store", "--data", scratch.folder("data"), "--endpoint", endpoint, "--keys",
                scratch.folder("keys"),
            ]
        return try Child(words[0], Array(words.dropFirst()), in: scratch)
    }

    private func serves() async throws {
        try await eventually("the store serves: \(child.errors)") { self.child.errors.contains("serving") }
    }

    /// The file of a key.
    func key(_ name: String) -> String { scratch.folder("\(name).key") }

    var process: ProcessTable.Entry { get throws { try #require(ProcessTable.entry(child.id)) } }

    /// SIGKILL, and another one in its place.
    func restart() async throws {
        child.send(SIGKILL)
        try await child.wait()
        child = try Self.start(starter, endpoint, in: scratch)
        try await serves()
    }

    /// Starts a command of the counter, or of another program, as somebody who has a key.
    func start(_ arguments: [String], of program: String = Executable.counter, as key: String) throws -> Child {
        let words = peerStarter + [program] + arguments + ["--endpoint", endpoint, "--key", self.key(key)]
        return try Child(words[0], Array(words.dropFirst()), in: scratch)
    }

    /// The store's own account of itself, as an operator asks for it over the network.
    func status() async throws -> [String: Any]? {
        let child = try start(["status", "--json"], as: "operator")
        guard try await child.wait() == .exited(0) else { return nil }
        return try JSONSerialization.jsonObject(with: child.outputBytes) as? [String: Any]
    }

    func number(_ name: String) async throws -> Int {
        try await eventually("the store tells its \(name)") { try await self.status()?[name] as? Int }
    }
}
