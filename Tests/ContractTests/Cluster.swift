import Foundation
import Logging
import ProcessSupport
import Samovar
import SamovarCore
import SamovarHost
import Synchronization
import Testing

@testable import ContractProgram

/// A store of the contract program and its workers, each a process of its own, and connectors in this one.
final class Cluster: Sendable {
    let scratch: Scratch
    let name: String
    private let store: Mutex<Child?>
    private let seed: String?

    init(_ name: String = "a", in scratch: Scratch? = nil, seed: String? = nil) async throws {
        self.scratch = try scratch ?? Scratch()
        self.name = name
        self.seed = seed
        store = Mutex(nil)
        try await startStore()
    }

    var address: String { "ipc://\(scratch.folder(name + "-sockets"))" }
    var endpoint: Endpoint { get throws { try Endpoint(address, dataFolder: ".") } }
    private var place: [String] { ["--data", scratch.folder(name), "--endpoint", address] }

    func startStore() async throws {
        let child = try Child(
            Executable.path("ContractProgram"),
            ["store"] + (seed.map { ["--seed", $0] } ?? ["--seed", "{\"loads\":false}"]) + place,
            in: scratch)
        store.withLock { $0 = child }
        try await eventually("the store serves") { child.errors.contains("serving") }
    }

    func killStore() async throws {
        let child = store.withLock { $0 }
        child?.send(SIGKILL)
        try await child?.wait()
    }

    func signalStore(_ signal: Int32) {
        store.withLock { $0?.send(signal) }
    }

    func startWorker(_ arguments: String...) throws -> Child { try start(["worker"] + arguments) }

    func start(_ arguments: [String]) throws -> Child {
        try Child(Executable.path("ContractProgram"), arguments + place, in: scratch)
    }

    /// Runs a command to its end.
    func run(_ arguments: String...) async throws -> Child {
        let child = try start(arguments)
        try await child.wait()
        return child
    }

    /// Runs a command that needs the data folder and no store.
    func runOffline(_ command: String) async throws -> Child {
        let child = try Child(Executable.path("ContractProgram"), [command, "--data", scratch.folder(name)], in: scratch)
        try await child.wait()
        return child
    }

    /// Runs `body` with a connector to the store.
    func connected<Result: Sendable>(
        _ body: @escaping @Sendable (Connector<Contract>) async throws -> Result
    ) async throws -> Result {
        let connector = try Connector(Contract.self, at: StoreAccess([endpoint]), logger: Logger(label: "test"))
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await connector.run()
                return nil
            }
            group.addTask {
                defer { connector.close() }
                return try await body(connector)
            }
            var result: Result?
            while let next = try await group.next() { result = next ?? result }
            return try #require(result)
        }
    }

    /// The view, as soon as it is as it should be.
    @discardableResult
    func eventuallyView(
        _ what: String, within limit: Duration = patience, _ isSo: @escaping @Sendable (Contract.State) -> Bool
    ) async throws -> Contract.State {
        try await connected { connector in
            try await eventually(what, within: limit) {
                guard let view = try await connector.view(), isSo(view.state) else { return nil }
                return view.state
            }
        }
    }
}

extension Connector {
    /// The turn of an input that is applied.
    func turn(of input: P.Input, wait: Wait = .applied) async throws -> Int {
        let receipt = await send(input, wait: wait)
        guard case .applied(let turn, _) = receipt else { throw TimedOut("not applied: \(receipt)") }
        return turn
    }
}
