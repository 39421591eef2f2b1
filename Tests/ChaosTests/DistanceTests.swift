import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// What a long way costs: round trips, and no more of them than the windows say. See docs/performance.md, “A long way”.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct DistanceTests {
    private let scratch: Scratch
    private let port: Int

    init() throws {
        scratch = try Scratch()
        port = try Ports.free()
    }

    /// Inputs a second of one client that keeps its window full, at a store that is so far away.
    private func throughput(_ roundTrip: Duration, window: Int) async throws -> Double {
        let detour = try Ports.free()
        let splice = try Child(
            Executable.chaos,
            [
                "splice", "--listen", "\(detour)", "--to", "\(port)", "--mode", "late", "--seed", "1",
                "--delay", "\(Int(roundTrip / .microseconds(2)))",
            ], in: scratch)
        defer { splice.send(SIGKILL) }
        try await eventually("the proxy listens") { splice.output.contains("passing") }
        let load = try Child(
            Executable.counter,
            [
                "load", "--endpoint", "tcp://127.0.0.1:\(detour)", "--data", scratch.folder("data"), "--saturate", "--clients", "1",
                "--window", "\(window)", "--duration", "3s", "--input", "increment", "--json",
            ], in: scratch)
        #expect(try await load.wait() == .exited(0), "\(load.errors)")
        let report = try JSONSerialization.jsonObject(with: Data(load.output.utf8)) as? [String: Any]
        for fault in ["lost", "duplicated", "outOfOrder"] { #expect(report?[fault] as? Int == 0, "\(fault): \(load.output)") }
        return try #require(report?["throughput"] as? Double)
    }

    /// Two round trips for a window of the protocol: an input is in it until the store has heard that its receipt came, and the client
    /// that there is room. One for a window of the caller's, which ends with the receipt.
    @Test(arguments: [(window: 4_096, roundTrips: 2.0), (window: 256, roundTrips: 1.0)])
    func `A store that is 100 ms away takes as many inputs as one that is near, but for the round trips of each window`(
        window: Int, roundTrips: Double
    ) async throws {
        let store = try Child(
            Executable.counter,
            [
                "up", "--workers", "0", "--insecure-tcp", "--endpoint", "tcp://127.0.0.1:\(port)", "--data", scratch.folder("data"),
            ], in: scratch)
        try await eventually("the store serves") { store.errors.contains("serving") }
        let near = try await throughput(.milliseconds(1), window: window)
        let far = try await throughput(.milliseconds(100), window: window)
        let bound = 1 / (1 / near + roundTrips * 0.1 / Double(window))
        print("window \(window): \(Int(near))/s near, \(Int(far))/s far, of \(Int(bound))/s that the window allows")
        #expect(far > bound / 2)
        store.send(SIGINT)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }
}
