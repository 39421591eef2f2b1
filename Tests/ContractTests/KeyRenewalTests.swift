import Foundation
import Logging
import MessagePack
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import SamovarWire
import Synchronization
import Testing

@testable import ContractProgram

/// Keys are renewed while everything goes on: a load test, a client with an outbox, a worker at a long job and an operator, all over TCP.
@Suite(.serialized) struct KeyRenewalTests {
    @Test func `A key is renewed, and no session, no outbox and no job is lost`() async throws {
        let site = try await Site()
        let (account, pauses) = try await site.underLoad { client in
            var pauses: [Duration] = []
            for name in Site.names {
                // The store knows the new key before its peer has it, and the peer has it before the former one goes.
                try await site.keys("renew", name, "--out", site.scratch.folder("next.key"))
                try await site.reload()
                try site.deliver("next.key", to: name)
                try await site.keys("renew", name, "--finish")
                pauses.append(try await client.pause(after: site.reload))
                try await site.everybodyIsThere()
            }
            return pauses
        }
        print("after the end of a key, the client with the outbox was away for \(pauses.max() ?? .zero) at most")
        #expect(pauses.allSatisfy { $0 < .seconds(4) }, "nobody waits as one whose key is refused: \(pauses)")
        account.expectWhole()
    }

    @Test func `The key of the store is changed in three steps, and nothing is lost`() async throws {
        let site = try await Site()
        let (account, pauses) = try await site.underLoad { client in
            let files = Site.names.map(site.keyFile)
            try await site.keys(["server", "new"])
            try await site.keys(["server", "update"] + files)
            try await site.keys(["server", "switch"])
            let pause = try await client.pause(after: site.reload)
            try await site.everybodyIsThere()
            try await site.keys(["server", "finish"])
            try await site.keys(["server", "update"] + files)
            let second = try await client.pause(after: site.reload)
            try await site.everybodyIsThere()
            return [pause, second]
        }
        print("after a change of the store's key, the client with the outbox was away for \(pauses.max() ?? .zero) at most")
        account.expectWhole()
    }
}

/// A store with keys, and one peer of each kind that is there all the time.
private final class Site: Sendable {
    /// The load test's agent, the client, the worker and the operator, by the names of their keys.
    static let names = ["agent", "client", "worker", "operator"]
    /// Messages of the worker's job, of which one comes each tenth of a second.
    static let messages = 120

    let scratch: Scratch
    private let port: Int
    private let store: Child
    private let worker: Child
    private let monitor: Child

    init() async throws {
        scratch = try Scratch()
        port = try Ports.free()
        for name in Self.names {
            let role = name == "agent" ? "client" : name
            try await Self.keys(
                ["new", name, "--role", role, "--hellos", "1000", "--sessions", "1000", "--out", scratch.folder("\(name).key")],
                in: scratch)
        }
        store = try Child(
            Executable.path("ContractProgram"),
            [
                "store", "--seed", #"{"loads":false}"#, "--data", scratch.folder("data"), "--keys", scratch.folder("keys"),
                "--endpoint", "tcp://127.0.0.1:\(port)",
            ], in: scratch)
        try await eventually("the store serves") { [store] in store.errors.contains("serving") }
        let place = ["--endpoint", "tcp://127.0.0.1:\(port)", "--key"]
        worker = try Child(
            Executable.path("ContractProgram"), ["worker"] + place + [scratch.folder("worker.key")], in: scratch)
        monitor = try Child(
            Executable.path("ContractProgram"), ["monitor", "--format", "json"] + place + [scratch.folder("operator.key")],
            in: scratch)
    }

    func keyFile(_ name: String) -> String { scratch.folder("\(name).key") }
    private var endpoint: String { "tcp://127.0.0.1:\(port)" }
    private var diary: String { scratch.folder("run-diary") }

    private static func run(_ arguments: [String], in scratch: Scratch) async throws -> Child {
        let child = try Child(Executable.path("ContractProgram"), arguments, in: scratch)
        #expect(try await child.wait() == .exited(0), "\(arguments): \(child.errors)")
        return child
    }

    private static func keys(_ arguments: [String], in scratch: Scratch) async throws {
        _ = try await run(["keys"] + arguments + ["--keys", scratch.folder("keys")], in: scratch)
    }

    func keys(_ arguments: String...) async throws { try await Self.keys(arguments, in: scratch) }
    func keys(_ arguments: [String]) async throws { try await Self.keys(arguments, in: scratch) }

    func reload() async throws { _ = try await Self.run(["keys", "reload", "--data", scratch.folder("data")], in: scratch) }

    /// As a file comes to another machine: whole.
    func deliver(_ file: String, to name: String) throws {
        #expect(rename(scratch.folder(file), keyFile(name)) == 0)
    }

    /// The operator's request is answered, its view is live, and the worker has its job.
    func everybodyIsThere() async throws {
        _ = try await Self.run(["status", "--endpoint", endpoint, "--key", keyFile("operator")], in: scratch)
        let seen = monitor.outputBytes.count
        try await eventually("the operator sees views") { [monitor] in monitor.outputBytes.count > seen }
        let streamed = try await state().streamed.count
        try await eventually("the job goes on") { try await self.state().streamed.count > streamed || streamed == Self.messages }
    }

    private func state() async throws -> Contract.State {
        let child = try await Self.run(["inspect", "--data", scratch.folder("data")], in: scratch)
        struct Inspected: Decodable { let state: Contract.State }
        return try JSONDecoder().decode(Inspected.self, from: child.outputBytes).state
    }

    /// Does something while all peers are at work, and lets them finish.
    func underLoad(_ body: @Sendable @escaping (SteadyClient) async throws -> [Duration]) async throws -> (Account, [Duration]) {
        let meeting = "ipc://" + scratch.folder("meeting")
        let program = Executable.path("ContractProgram")
        let coordinator = try Child(
            program,
            [
                "load", "--data", scratch.folder("data"), "--listen", meeting, "--processes", "0", "--agents", "1", "--clients",
                "4",
                "--rate", "100", "--duration", "12s", "--input", #"{"increment":{"by":1}}"#, "--json",
            ], in: scratch)
        try await eventually("it listens") { [scratch] in FileManager.default.fileExists(atPath: scratch.folder("meeting")) }
        let agent = try Child(
            program, ["load", "--agent", "--join", meeting, "--endpoint", endpoint, "--key", keyFile("agent")], in: scratch)
        let client = try SteadyClient(
            at: StoreAccess(endpoint, keyFile: keyFile("client")), outbox: scratch.folder("client.outbox"))
        let pauses = try await client.running {
            let job = #"{"stream":{"count":\#(Self.messages),"milliseconds":100}}"#
            _ = try await Self.run(["send", job, "--endpoint", self.endpoint, "--key", self.keyFile("client")], in: self.scratch)
            try await eventually("the load has begun") { coordinator.errors.contains("applied") }
            return try await body(client)
        }
        #expect(try await coordinator.wait() == .exited(0), "\(coordinator.errors)")
        #expect(try await agent.wait() == .exited(0), "\(agent.errors)")
        try await eventually("the job has ended") { try await self.state().phase == "streamed" }
        let report = try JSONDecoder().decode(Account.Report.self, from: coordinator.outputBytes)
        let diary = try String(contentsOfFile: diary, encoding: .utf8).split(separator: "\n").map(String.init)
        let ends = [("store", store), ("worker", worker), ("monitor", monitor)].filter { $1.end != nil }.map(\.0)
        return (Account(report: report, sent: client.sent, state: try await state(), diary: diary, ended: ends), pauses)
    }
}

/// What became of everything.
private struct Account {
    struct Report: Decodable {
        struct Inputs: Decodable { let due, sent, applied, refused: Int }
        let sound: Bool
        let inputs: Inputs
        let lost, duplicated, outOfOrder, contradicted, unanswered: Int
    }

    let report: Report
    let sent: Int
    let state: Contract.State
    let diary: [String]
    let ended: [String]

    func expectWhole() {
        #expect(report.sound && report.lost == 0 && report.duplicated == 0 && report.outOfOrder == 0, "\(report)")
        #expect(report.contradicted == 0 && report.unanswered == 0 && report.inputs.refused == 0, "\(report)")
        #expect(report.inputs.applied == 1_200 && state.count == 1_200, "\(report)")
        #expect(sent > 20 && state.notes == (1...sent).map(String.init), "\(sent) were sent")
        #expect(state.streamed == Array(1...Site.messages))
        #expect(diary.filter { $0.hasPrefix("streams") } == ["streams from 0 in attempt 1"], "\(diary)")
        #expect(ended.isEmpty, "no process has ended")
    }
}

/// A client with an outbox that sends one numbered input after the other, each when the one before has its receipt.
private final class SteadyClient: Sendable {
    private let client: StoreClient
    private let count = Mutex(0)
    private let isOver = Mutex(false)

    init(at store: StoreAccess, outbox: String) throws {
        client = try StoreClient(
            at: store, schema: Contract.schema, outbox: outbox,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    private func send(_ number: Int) async throws {
        let result = await client.send(try MessagePackEncoder().encode(Contract.Message.noted("\(number)")))
        guard case .answered(let outcome) = result, case .applied = outcome.verdict else {
            throw TimedOut("not applied: \(result)")
        }
    }

    var sent: Int { count.withLock { $0 } }

    /// Until the next input that is sent after `body` has its receipt.
    func pause(after body: () async throws -> Void) async throws -> Duration {
        try await body()
        let (begun, before) = (ContinuousClock.now, sent)
        try await eventually("inputs are applied again") { sent > before + 1 }
        return .now - begun
    }

    func running<Result: Sendable>(_ body: @Sendable @escaping () async throws -> Result) async throws -> Result {
        try await withThrowingTaskGroup(of: Result?.self) { [self] group in
            group.addTask {
                try await self.client.run()
                return nil
            }
            group.addTask {
                while !self.isOver.withLock({ $0 }) {
                    let number = self.sent + 1
                    try await self.send(number)
                    self.count.withLock { $0 = number }
                    try await Task.sleep(for: .milliseconds(20))
                }
                self.client.close()
                return nil
            }
            group.addTask {
                defer { self.isOver.withLock { $0 = true } }
                return try await body()
            }
            var result: Result?
            while let next = try await group.next() { result = next ?? result }
            return try #require(result)
        }
    }
}
