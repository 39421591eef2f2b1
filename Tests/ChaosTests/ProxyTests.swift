import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Networks that lose, repeat, delay and cut what they carry: F24, F28, F29 and F31.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct ProxyTests {
    private let scratch: Scratch
    private let seed = ChaosSettings.seed ?? .random(in: .min ... .max)

    init() throws { scratch = try Scratch() }

    private func judge(_ cluster: Cluster, _ note: String) async throws {
        let violations = try Checker(try await cluster.finish()).violations
        #expect(violations.isEmpty, "\(note): \(violations)\n\(cluster.errors.suffix(3_000))")
    }

    private func shape(detour: String, endpoint: String? = nil) -> Cluster.Shape {
        var shape = Cluster.Shape()
        shape.workers = 0
        (shape.detouredWorkers, shape.clients, shape.subscribers, shape.lanes) = (2, 2, 2, 2)
        shape.endpoint = endpoint
        shape.detour = detour
        return shape
    }

    @Test func `Messages that are lost, repeated, delayed and reordered change nothing`() async throws {
        let detour = "ipc://\(scratch.path)/p"
        let cluster = try await Cluster(shape(detour: detour), in: scratch)
        let proxy = try Child(
            Executable.chaos,
            [
                "proxy", "--listen", detour, "--store", cluster.endpoint, "--data", cluster.data, "--seed", "\(seed)",
                "--losses", "15", "--repeats", "30", "--delays", "60",
            ], in: scratch)
        try await eventually("the proxy listens") { proxy.output.contains("passing") }
        try await Task.sleep(for: .seconds(ChaosSettings.isLong ? 120 : 20))
        proxy.send(SIGTERM)
        let note = try await eventually("the proxy is honest") {
            proxy.output.split(separator: "\n").first { $0.hasPrefix("lost") }
        }
        print("\(note), SAMOVAR_CHAOS_SEED=\(seed)")
        #expect(note.wholeNumbers.allSatisfy { $0 > 20 }, "\(note)")
        try await judge(cluster, "seed \(seed), \(note)")
    }

    @Test func `A stream that is cut at every byte, stalls and breaks changes nothing`() async throws {
        let (port, detour) = try (Ports.free(), Ports.free())
        var shape = shape(detour: "tcp://127.0.0.1:\(detour)", endpoint: "tcp://127.0.0.1:\(port)")
        shape.lines = ChaosSettings.isLong ? 500 : 100
        let splice = try Child(
            Executable.chaos,
            ["splice", "--listen", "\(detour)", "--to", "\(port)", "--mode", "split", "--seed", "\(seed)"], in: scratch)
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        try await cluster.work()
        try await judge(cluster, "seed \(seed)")
    }

    @Test func `Connections that are reset ten times a second lose nothing, and nobody gives up`() async throws {
        let (port, detour) = try (Ports.free(), Ports.free())
        let shape = shape(detour: "tcp://127.0.0.1:\(detour)", endpoint: "tcp://127.0.0.1:\(port)")
        let splice = try Child(
            Executable.chaos,
            ["splice", "--listen", "\(detour)", "--to", "\(port)", "--mode", "storm", "--seed", "\(seed)"], in: scratch)
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually("fifty connections were reset") { splice.output.contains("reset 50\n") }
        if ChaosSettings.isLong { try await Task.sleep(for: .seconds(60)) }
        splice.send(SIGTERM)
        try await judge(cluster, "seed \(seed)")
    }

    @Test func `Peers of somebody who accepts and never answers try again, and get through when somebody does`() async throws {
        let (port, detour) = try (Ports.free(), Ports.free())
        var shape = shape(detour: "tcp://127.0.0.1:\(detour)", endpoint: "tcp://127.0.0.1:\(port)")
        shape.lines = 20
        let splice = try Child(
            Executable.chaos,
            ["splice", "--listen", "\(detour)", "--to", "\(port)", "--mode", "hole", "--seed", "\(seed)"], in: scratch)
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        let begun = ContinuousClock.now
        let before = cluster.processorSeconds(.client)
        try await Task.sleep(for: .seconds(4))
        // Nobody gets through, and nobody spins.
        let spent = cluster.processorSeconds(.client) - before
        #expect(cluster.views(of: "s0") == 0)
        #expect(spent < 2, "two clients took \(spent) s of a processor within \(ContinuousClock.now - begun)")
        splice.send(SIGTERM)
        try await cluster.work()
        try await judge(cluster, "seed \(seed)")
    }

    /// Through a proxy in some mode, until it has said something.
    private func torment(_ mode: String, until word: String) async throws {
        let (port, detour) = try (Ports.free(), Ports.free())
        let shape = shape(detour: "tcp://127.0.0.1:\(detour)", endpoint: "tcp://127.0.0.1:\(port)")
        let splice = try splice(mode, at: detour, to: port)
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually(word, within: .seconds(120)) { splice.output.contains(word) }
        if ChaosSettings.isLong { try await Task.sleep(for: .seconds(60)) }
        splice.send(SIGTERM)
        let (answers, views) = (cluster.answers, cluster.views(of: "s0"))
        try await eventually("they work again") { cluster.answers > answers + 20 && cluster.views(of: "s0") > views }
        try await judge(cluster, "seed \(seed)")
    }

    private func splice(_ mode: String, at detour: Int, to port: Int, delay: Int = 0) throws -> Child {
        try Child(
            Executable.chaos,
            [
                "splice", "--listen", "\(detour)", "--to", "\(port)", "--mode", mode, "--seed", "\(seed)", "--delay", "\(delay)",
            ], in: scratch)
    }

    @Test func `Connections on which one direction is dead and nobody says so are given up, and nothing is lost`() async throws {
        try await torment("half", until: "spell 3\n")
    }

    @Test func `A network that is away for a third of each second loses nothing`() async throws {
        try await torment("flap", until: "spell 12\n")
    }

    @Test func `Peers of a store that moves from place to place find it by themselves`() async throws {
        let ports = try (0..<3).map { _ in try Ports.free() }
        let places = "tcp://127.0.0.1:\(ports[1]),tcp://127.0.0.1:\(ports[2])"
        let shape = shape(detour: places, endpoint: "tcp://127.0.0.1:\(ports[0])")
        var place = try splice("late", at: ports[1], to: ports[0])
        try await eventually("it is at the first place") { place.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually("the first views are seen") { cluster.views(of: "s0") > 2 }
        for port in [ports[2], ports[1], ports[2]] {
            place.send(SIGKILL)
            try await place.wait()
            place = try splice("late", at: port, to: ports[0])
            let (answers, views) = (cluster.answers, cluster.views(of: "s0"))
            try await eventually("they have found it at \(port)") {
                cluster.answers > answers + 20 && cluster.views(of: "s0") > views
            }
        }
        try await judge(cluster, "seed \(seed)")
    }

    @Test func `Peers that are 100 ms away lose nothing`() async throws {
        let (port, detour) = try (Ports.free(), Ports.free())
        var shape = shape(detour: "tcp://127.0.0.1:\(detour)", endpoint: "tcp://127.0.0.1:\(port)")
        shape.lines = 20
        let splice = try splice("late", at: detour, to: port, delay: 50_000)
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let cluster = try await Cluster(shape, in: scratch)
        try await cluster.work()
        try await judge(cluster, "seed \(seed)")
    }

    @Test func `Peers that say HELLO and fall silent are forgotten, and hinder nobody`() async throws {
        var shape = Cluster.Shape()
        (shape.workers, shape.clients, shape.subscribers, shape.lanes) = (1, 1, 1, 2)
        let cluster = try await Cluster(shape, in: scratch)
        try await eventually("the first views are seen") { cluster.views(of: "s0") > 2 }
        let peers = try cluster.start([
            "churn", "--endpoint", cluster.endpoint, "--data", cluster.data, "--count", "200", "--listeners", "front,work",
            "--hold",
            "60",
        ])
        try await eventually("all are connected") { peers.output.contains("connected") }
        try await eventually("the store has met them") { try await cluster.number("clients") > 50 }
        let seen = cluster.views(of: "s0")
        // The silence of this store is 3 s.
        try await eventually("the store has given them up") {
            let workers = try await cluster.status()?["workers"] as? [Any]
            return try await cluster.number("clients") <= 4 && workers?.count == 1
        }
        #expect(cluster.views(of: "s0") > seen)
        peers.send(SIGKILL)
        try await judge(cluster, "half-open peers")
    }
}

extension Substring {
    fileprivate var wholeNumbers: [Int] { split { !$0.isNumber }.compactMap { Int($0) } }
}
