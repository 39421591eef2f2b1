import Foundation
import ProcessSupport

/// A network namespace with nothing but its loopback, in which a test can cut what goes to a store and what comes from it.
struct PrivateNetwork {
    enum Cut {
        case none, toStore, fromStore, both
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The first of the store's three ports.
    static let port = 7_700

    /// Lives as long as the namespace is needed.
    private let holder: Child
    private let scratch: Scratch

    /// Whether this machine lets us make one, with rules for ports.
    static func isAvailable() async -> Bool {
        let trial = "ip link set lo up && ip rule add pref 10 ipproto tcp dport 1-2 blackhole"
        // Where there is no `unshare`, it cannot be started.
        return (try? await Child.run("unshare", ["-n", "sh", "-c", trial]))?.end == .exited(0)
    }

    init(in scratch: Scratch) async throws {
        self.scratch = scratch
        holder = try Child("unshare", ["-n", "sleep", "3600"], in: scratch)
        let id = holder.id
        try await eventually("there is a network of its own") {
            let own = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/net")
            let other = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/ns/net")
            return other != nil && own != other
        }
        // Rules come before the table of local addresses only if that is moved.
        try await ip("link set lo up")
        try await ip("rule add pref 100 lookup local")
        try await ip("rule del pref 0 lookup local")
    }

    /// Starts a program in this network.
    var starter: [String] { ["nsenter", "--net=/proc/\(holder.id)/ns/net"] }

    func set(_ cut: Cut) async throws {
        let ports = "\(Self.port)-\(Self.port + 2)"
        // Fails for what was not cut before.
        for rule in 10...11 {
            _ = try await Child(starter[0], Array(starter[1...]) + ["ip", "rule", "del", "pref", "\(rule)"], in: scratch).wait()
        }
        if cut == .toStore || cut == .both { try await ip("rule add pref 10 ipproto tcp dport \(ports) blackhole") }
        if cut == .fromStore || cut == .both { try await ip("rule add pref 11 ipproto tcp sport \(ports) blackhole") }
    }

    private func ip(_ words: String) async throws {
        let child = try Child(starter[0], Array(starter[1...]) + ["ip"] + words.split(separator: " ").map(String.init), in: scratch)
        guard try await child.wait() == .exited(0) else { throw Failure(description: "ip \(words): \(child.errors)") }
    }
}
