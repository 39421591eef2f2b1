import ChaosSupport
import CrashPoints
import Foundation
import ProcessSupport
import Testing

/// A process dies at one exact place, is started again, and the end is what it would have been: F01 to F12.
///
/// Each test proves that its fault happened: the place leaves a mark, and somebody saw the end by SIGKILL.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct CrashTests {
    /// What has to be written so that a place is passed.
    struct Crash: CustomTestStringConvertible {
        let point: CrashPoint
        let passage: Int
        var lines = 25
        var padding = 0

        var testDescription: String { "\(point.rawValue):\(passage)" }

        var variables: [String: String] { ["SAMOVAR_CRASH_AT": "\(point.rawValue):\(passage)"] }
    }

    private static func shape(_ crash: Crash, mark: String) -> Cluster.Shape {
        var shape = Cluster.Shape()
        shape.workers = 2
        shape.clients = 2
        shape.subscribers = 1
        shape.lanes = 2
        shape.lines = crash.lines
        shape.padding = crash.padding
        shape.pause = 0
        let variables = crash.variables.merging(["SAMOVAR_CRASH_MARK": mark]) { $1 }
        if crash.point.rawValue.hasPrefix("client") { shape.clientVariables = variables } else { shape.variables = variables }
        return shape
    }

    /// Runs a cluster in which one process dies once, and judges.
    private func survive(_ crash: Crash, killed role: String) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        let cluster = try await Cluster(Self.shape(crash, mark: mark), in: scratch)
        try await cluster.work()
        // A snapshot is written beside the work, and may come to its place after the last line.
        try await eventually("somebody passes \(crash.testDescription)") {
            try cluster.revive()
            return FileManager.default.fileExists(atPath: mark)
        }
        let evidence = try await cluster.finish()
        if role == "client" {
            #expect(evidence.killedLives.count == 1)
        } else {
            #expect(cluster.errors.contains(try Regex("\(role).* ended \\(signal 9\\)")), "\(cluster.errors)")
        }
        let violations = try Checker(evidence).violations
        #expect(violations.isEmpty, "\(violations)\n\(cluster.errors.suffix(3_000))")
    }

    @Test(arguments: [
        Crash(point: .storeAfterReceive, passage: 30), Crash(point: .storeAfterUpdate, passage: 20),
        Crash(point: .storeBeforeAppend, passage: 15), Crash(point: .storeAfterAppend, passage: 15),
        Crash(point: .storeAfterCommit, passage: 15), Crash(point: .storeAfterReceipt, passage: 12),
        Crash(point: .storeBeforeTask, passage: 8), Crash(point: .storeBeforeView, passage: 3),
        Crash(point: .storeWithinSnapshot, passage: 2, padding: 16_000),
        Crash(point: .storeDuringSnapshot, passage: 1, padding: 16_000),
        Crash(point: .storeBeforeSnapshotSync, passage: 1, padding: 16_000),
        Crash(point: .storeAfterSnapshot, passage: 1, padding: 16_000),
        Crash(point: .storeDuringCheckpoint, passage: 1, lines: 60, padding: 80_000),
        Crash(point: .storeAfterCheckpoint, passage: 1, lines: 60, padding: 80_000),
    ])
    func `A store that dies at any place comes back with all that it told, and nothing twice`(_ crash: Crash) async throws {
        try await survive(crash, killed: "store")
    }

    @Test(arguments: [
        Crash(point: .workerBeforeEffect, passage: 4), Crash(point: .workerDuringEffect, passage: 4),
        Crash(point: .workerAfterEffect, passage: 4), Crash(point: .workerBeforeResult, passage: 3),
        Crash(point: .workerBeforeAcknowledge, passage: 3),
    ])
    func `An effect whose worker dies before, in or after it is done again, and its answer applied once`(_ crash: Crash)
        async throws
    {
        try await survive(crash, killed: "worker")
    }

    @Test(arguments: [Crash(point: .clientAfterSend, passage: 9), Crash(point: .clientBeforeReceipt, passage: 9)])
    func `What a client had sent when it died is applied once or not at all`(_ crash: Crash) async throws {
        try await survive(crash, killed: "client")
    }

    @Test func `A store that dies twenty times in its recovery recovers at last`() async throws {
        let scratch = try Scratch()
        let crash = Crash(point: .storeDuringRecovery, passage: 1)
        var shape = Self.shape(crash, mark: scratch.folder("mark"))
        shape.variables = [:]
        let cluster = try await Cluster(shape, in: scratch)
        try await cluster.work()
        try await cluster.crash()
        for passage in 1...20 {
            let variables = Crash(point: .storeDuringRecovery, passage: passage).variables
            let store = try Child(
                Executable.chaos, ["store", "--data", cluster.data, "--endpoint", cluster.endpoint], in: scratch,
                variables: variables)
            let end = try await store.wait()
            #expect(end == .killed(SIGKILL), "\(store.errors)")
        }
        let violations = try Checker(try await cluster.finish()).violations
        #expect(violations.isEmpty, "\(violations)\n\(cluster.errors.suffix(3_000))")
    }
}
