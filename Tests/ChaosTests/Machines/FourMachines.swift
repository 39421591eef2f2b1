import ChaosSupport
import Foundation
import ProcessSupport
import Testing

/// Slate on four machines, whose peers come with keys: a store, a worker on each of two, and on the last the two agents of a load test,
/// which send for as long as it is wanted. The coordinator is with the store, whose journal it reads at the end.
///
/// Used by one task at a time.
final class FourMachines {
    static let names = ["store", "left", "right", "clients"]
    /// Each has the name of its machine and of its key.
    static let workers = ["left", "right"]
    static let agents = ["east", "west"]

    let scratch: Scratch
    let network: Namespaces
    var counts: [String: Int] = [:]
    /// Those that run; what is killed is started again under the same name.
    private(set) var processes: [String: Child] = [:]
    private let ticket: TurnstileTicket

    init(in scratch: Scratch) async throws {
        ticket = await TurnstileTicket(.clusters)
        self.scratch = scratch
        network = try await Namespaces(Self.names, in: scratch)
        for worker in Self.workers { try await keys("new", worker, "--role", "worker", "--out", keyFile(worker)) }
        for agent in Self.agents { try await keys("new", agent, "--role", "client", "--out", keyFile(agent)) }
        try await startStore()
        for worker in Self.workers { try startWorker(worker) }
        try await startLoad()
        try await goesOn("clients")
    }

    // MARK: Starting

    private var data: String { scratch.folder("data") }
    private var endpoint: String { get throws { "tcp://\(try network.address(of: "store")):7410" } }

    func keyFile(_ name: String) -> String { scratch.folder("\(name).key") }
    private func history(_ worker: String) -> String { scratch.folder("history-\(worker)") }

    func startStore() async throws {
        // A short silence and small snapshots: what is rare in life shall be frequent here.
        let variables = ["SAMOVAR_STORE_SILENCE_SECONDS": "3", "SAMOVAR_STORE_SNAPSHOT_MEBIBYTES": "1"]
        let keys = ["--keys", scratch.folder("keys")]
        processes["store"] = try start(["store", "--data", data, "--endpoint", endpoint] + keys, on: "store", variables)
        try await eventually("the store serves") { try self.process("store").errors.contains("serving") }
    }

    func startWorker(_ name: String) throws {
        try FileManager.default.createDirectory(atPath: history(name), withIntermediateDirectories: true)
        processes[name] = try start(
            ["worker", "--endpoint", endpoint, "--key", keyFile(name)], on: name, ["CHAOS_HISTORY": history(name)])
    }

    /// Many lines have a job that takes its time. Two workers have time left, and one alone hardly keeps up: however long it goes on, what was
    /// to do is done soon after a fault.
    private func startLoad() async throws {
        let meeting = scratch.folder("meeting")
        let inputs = ["slow", "slow", "quick", "quick", nil].flatMap { job in
            let asked = job.map { #","job":"\#($0)""# } ?? ""
            return ["--input", #"{"write":{"_0":{"column":"c{client}","number":{sequence}\#(asked)}}}"#]
        }
        processes["coordinator"] = try start(
            [
                "load", "--data", data, "--listen", "ipc://\(meeting)", "--processes", "0", "--agents", "\(Self.agents.count)",
                "--rate", "45", "--duration", "86400s", "--json",
            ] + inputs, on: "store")
        // An agent does not wait for its coordinator.
        try await eventually("the coordinator listens") { FileManager.default.fileExists(atPath: meeting) }
        for agent in Self.agents {
            processes[agent] = try start(
                [
                    "load", "--agent", "--join", "ipc://\(meeting)", "--name", agent, "--endpoint", endpoint, "--key",
                    keyFile(agent),
                ],
                on: "clients")
        }
    }

    private func start(_ arguments: [String], on machine: String, _ variables: [String: String] = [:]) throws -> Child {
        let words = try network.starter(machine) + [Executable.chaos] + arguments
        return try Child(words[0], Array(words[1...]), in: scratch, variables: variables)
    }

    func keys(_ words: String...) async throws {
        let place = words == ["reload"] ? ["--data", data] : ["--keys", scratch.folder("keys")]
        let child = try start(["keys"] + words + place, on: "store")
        guard try await child.wait() == .exited(0) else { throw TimedOut("keys \(words): \(child.errors)") }
    }

    // MARK: Looking

    func process(_ name: String) throws -> Child { try #require(processes[name]) }

    /// What is applied of what the clients on a machine, or all others, have sent; for the machine of a worker, what that has written down.
    func progress(of machine: String) throws -> Int {
        if Self.workers.contains(machine) { return try lines(of: machine) }
        // “ 12.0 s  applied 1,234 (120/s)  …”
        let words = try process("coordinator").errors.split(separator: " ")
        guard let index = words.lastIndex(of: "applied"), index + 1 < words.count else { return 0 }
        return Int(words[index + 1].filter(\.isNumber)) ?? 0
    }

    /// Waits until more is done there.
    func goesOn(_ machine: String) async throws {
        let before = try progress(of: machine)
        try await hold("something is done at \(machine)") { try self.progress(of: machine) > before + 20 }
    }

    /// Waits until it is so; else everybody's last words are told.
    func hold(_ what: String, _ isSo: () async throws -> Bool) async throws {
        do {
            try await eventually(what) { try await isSo() }
        } catch let error as TimedOut {
            throw TimedOut("\(error)\n\(words)")
        }
    }

    /// Effects that a worker began, and that another one has answered.
    func moved(from worker: String) throws -> Set<String> {
        let others = try Self.workers.filter { $0 != worker }.flatMap { try attempts(of: $0) }
        return Set(try begun(by: worker)).intersection(others.filter { $0.step == .answered }.map(\.key))
    }

    /// The turn that ordered an effect, by its key.
    static func turn(of key: String) throws -> Int {
        try #require(Int(key.split(separator: "/", omittingEmptySubsequences: false)[1]))
    }

    /// A turn on disk that is not before any that has had its time until now.
    func head() async throws -> Int {
        // The answer waits for what is computed, and tells of what was on disk before.
        _ = try await status()
        return try await status().turn
    }

    /// The effects of all attempts of a worker.
    func begun(by worker: String) throws -> [String] {
        try attempts(of: worker).filter { $0.step == .started }.map(\.key)
    }

    private func attempts(of worker: String) throws -> [Attempt] {
        try FileManager.default.contentsOfDirectory(atPath: history(worker)).flatMap {
            try HistoryFile.read("\(history(worker))/\($0)", as: Attempt.self)
        }
    }

    private func lines(of worker: String) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: history(worker)).reduce(0) {
            $0 + (FileManager.default.contents(atPath: "\(history(worker))/\($1)")?.count { $0 == UInt8(ascii: "\n") } ?? 0)
        }
    }

    private var words: String { processes.map { "\($0): \($1.errors.suffix(1_000))" }.joined(separator: "\n") }

    // MARK: The end

    /// Heals everything, waits until all is answered and done, and tells what the load test and the program say of it.
    func judge() async throws -> MachineVerdict {
        for name in Self.names { try await network.heal(name) }
        let coordinator = try process("coordinator")
        // It has no more sent, and waits for the answers.
        coordinator.send(SIGINT)
        try await coordinator.wait(within: .seconds(240))
        let ends = (["store"] + Self.workers).compactMap { name in
            processes[name].flatMap { child in child.end.map { "\(name): \($0): \(child.errors.suffix(1_000))" } }
        }
        try await untilNothingIsLeft()
        let view: MachineVerdict.View = try await ask("view")
        return MachineVerdict(
            faults: counts, ends: ends, report: try Self.decoded(coordinator), view: view.view.bare,
            answers: try Self.workers.map { ($0, try attempts(of: $0).count { $0.step == .answered }) })
    }

    private func untilNothingIsLeft() async throws {
        var least = Int.max
        while least > 0 {
            let before = least
            least = try await eventually("less than \(before) is left to do") {
                let left = try await self.status().openEffects
                return left < before ? left : nil
            }
        }
    }

    private struct Status: Decodable {
        let openEffects: Int
        let turn: Int
    }

    private struct Effects: Decodable {
        struct Open: Decodable {
            let effect: String
        }

        let open: [Open]
    }

    /// The turn that ordered the oldest effect that is open; nil if none is.
    func oldestOpen() async throws -> Int? {
        let effects: Effects = try await ask("effects", "--json", "--limit", "1")
        return try effects.open.first.map { try Self.turn(of: "/" + $0.effect) }
    }

    private func status() async throws -> Status { try await ask("status", "--json") }

    private func ask<Answer: Decodable>(_ words: String...) async throws -> Answer {
        let child = try start(words + ["--data", data], on: "store")
        guard try await child.wait() == .exited(0) else { throw TimedOut("\(words): \(child.errors)") }
        return try Self.decoded(child)
    }

    private static func decoded<Value: Decodable>(_ child: Child) throws -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: child.outputBytes)
        } catch {
            throw TimedOut("\(error): \(child.output.prefix(500)) \(child.errors.suffix(2_000))")
        }
    }
}
