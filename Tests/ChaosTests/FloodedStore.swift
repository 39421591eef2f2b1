import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// A store with keys on a machine of its own, a worker and clients of it on another, and on a third one peers that nobody knows; and, for
/// comparison, in place of the store a listener that has nothing but keys.
final class FloodedStore {
    /// In microseconds, of all that was answered.
    struct Latency {
        let p50: Int
        let p99: Int
        /// What was sent and never answered.
        let missing: Int
        /// Of the strangers meanwhile.
        let flood: Flood
    }

    /// What strangers did, in a second each.
    struct Flood {
        let refused, unanswered, noisy, silent: Double
        /// Of a processor.
        let share: Double
        let means: ProcessorShare.Means
    }

    static let strangers = 1_000
    /// What is asked of either in a second.
    private static let rate = 200
    private static let share = 0.5
    private static let port = 7410

    let scratch: Scratch
    let network: Namespaces
    let store: KeyedStore
    let crowd: KeyedCrowd
    let worker: Child
    private let ticket: TurnstileTicket

    init(in scratch: Scratch, clients: Int) async throws {
        ticket = await TurnstileTicket(.clusters)
        self.scratch = scratch
        network = try await Namespaces(["store", "peers", "strangers"], in: scratch)
        store = try await KeyedStore(
            in: scratch,
            keys: [
                ("operator", ["--role", "operator"]), ("worker", ["--role", "worker"]),
                ("load", ["--role", "client", "--role", "operator"]),
            ] + KeyedCrowd.keys(1, sessions: 1_000, hellos: 1_000),
            at: "tcp://\(try network.address(of: "store")):\(Self.port)", starter: try network.starter("store"),
            peerStarter: try network.starter("peers"))
        worker = try store.start(["worker"], as: "worker")
        let began = machineTime()
        crowd = try KeyedCrowd(clients, of: store, processes: 1)
        try await crowd.isInside(since: began, within: patience)
        try await eventually("the worker is there") { try await self.workers() == 1 }
    }

    func workers() async throws -> Int? { (try await store.status()?["workers"] as? [Any])?.count }

    /// Workers that the store has given up.
    func deadWorkers() async throws -> Int {
        try await eventually("the store tells its counters") {
            (try await self.store.status()?["counters"] as? [String: Any])?["deadWorkers"] as? Int
        }
    }

    // MARK: Floods

    /// How long inputs take to be applied while strangers come and go.
    func latency(_ seconds: Int) async throws -> (Latency, MachineVerdict.Report) {
        // The public key of the store, as each key file has it.
        let file = try String(contentsOfFile: store.key("worker"), encoding: .utf8)
        let server = try #require(file.split(separator: "\n").compactMap { $0.split(separator: " ").last(if: "server:") }.first)
        let strangers = try await flood(Self.port, server, seconds)
        let load = try store.start(
            [
                "load", "--data", scratch.folder("data"), "--rate", "\(Self.rate)", "--clients", "4", "--subscribers", "0",
                "--duration", "\(seconds)s", "--json",
            ], as: "load")
        #expect(try await load.wait(within: patience + .seconds(seconds)) == .exited(0), "\(load.errors.suffix(2_000))")
        let flood = try await strangers.end()
        let report = try JSONDecoder().decode(MachineVerdict.Report.self, from: load.outputBytes)
        let times = try JSONDecoder().decode(LoadTimes.self, from: load.outputBytes)
        let applied = times.latencyMicroseconds.applied
        let latency = Latency(
            p50: applied.p50, p99: applied.p99, missing: report.lost + report.unanswered, flood: flood)
        return (latency, report)
    }

    private struct LoadTimes: Decodable {
        struct Percentiles: Decodable {
            let p50, p99: Int
        }

        struct Latencies: Decodable {
            let applied: Percentiles
        }

        let latencyMicroseconds: Latencies
    }

    /// How long an echo takes at the bare listener while the same strangers come and go.
    func bareLatency(_ seconds: Int) async throws -> Latency {
        let port = Self.port + 10
        let place = try ["--host", network.address(of: "store"), "--port", "\(port)"]
        let listener = try run(["bare-listener", "--seconds", "\(4 * seconds + 120)"] + place, on: "store")
        let words = try await eventually("the listener listens: \(listener.errors)") {
            listener.output.contains("\n") ? listener.output.split(whereSeparator: \.isWhitespace).map(String.init) : nil
        }
        let strangers = try await flood(port, words[1], seconds)
        let asker = try run(
            [
                "bare-asker", "--server", words[1], "--public", words[2], "--secret", words[3], "--rate", "\(Self.rate)",
                "--seconds",
                "\(seconds)",
            ] + place, on: "peers")
        #expect(try await asker.wait(within: patience + .seconds(seconds)) == .exited(0), "\(asker.errors)")
        let flood = try await strangers.end()
        let numbers = Self.numbers(asker.output)
        return Latency(
            p50: try #require(numbers["p50"]), p99: try #require(numbers["p99"]), missing: try #require(numbers["missing"]),
            flood: flood)
    }

    private func run(_ arguments: [String], on machine: String) throws -> Child {
        let words = try network.starter(machine) + [Executable.chaos] + arguments
        return try Child(words[0], Array(words[1...]), in: scratch)
    }

    // MARK: Strangers

    /// They come and go until they are ended, or, if nobody does that, for a few minutes.
    private struct Strangers {
        let child: Child
        let share: ProcessorShare
        let began = ContinuousClock.now

        /// What they did, up to now.
        func end() async throws -> Flood {
            let elapsed = (ContinuousClock.now - began) / .seconds(1)
            let spent = ProcessTable.entry(child.id)?.processorSeconds ?? 0
            let numbers = FloodedStore.numbers(child.output.split(separator: "\n").last.map(String.init) ?? "")
            child.send(SIGCONT)
            child.send(SIGKILL)
            try await child.wait()
            func rate(_ name: String) throws -> Double { Double(try #require(numbers[name])) / elapsed }
            return try Flood(
                refused: rate("refused"), unanswered: rate("unanswered"), noisy: rate("noisy"), silent: rate("silent"),
                share: spent / elapsed, means: share.means)
        }
    }

    private func flood(_ port: Int, _ server: some StringProtocol, _ seconds: Int) async throws -> Strangers {
        let child = try run(
            [
                "flood", "--host", network.address(of: "store"), "--port", "\(port)", "--server", String(server), "--peers",
                "\(Self.strangers)", "--seconds", "\(4 * seconds + 120)",
            ], on: "strangers")
        let strangers = Strangers(child: child, share: ProcessorShare(Self.share, of: child))
        try await eventually("strangers are refused: \(child.output) \(child.errors)") {
            (Self.numbers(child.output)["refused"] ?? 0) > 0
        }
        return strangers
    }

    /// `name 12, name 34`; of a name that comes twice, the last one.
    private static func numbers(_ text: String) -> [String: Int] {
        let words = text.split { $0.isWhitespace || $0 == "," }
        return zip(words, words.dropFirst()).reduce(into: [:]) { numbers, pair in
            if let number = Int(pair.1) { numbers[String(pair.0)] = number }
        }
    }
}

extension [Substring] {
    /// The last of these words, if the first one is that.
    fileprivate func last(if name: String) -> Substring? { first.map(String.init) == name ? last : nil }
}

extension FloodedStore.Latency: CustomStringConvertible {
    var description: String {
        let flood = flood
        let kinds =
            "\(Int(flood.refused)) unknown keys refused, \(Int(flood.noisy)) with noise, \(Int(flood.silent)) silent, "
            + "\(Int(flood.unanswered)) unanswered"
        return "p50 \(p50) µs, p99 \(p99) µs; in each second \(kinds), by \(flood.share) of a processor (\(flood.means.rawValue))"
    }
}
