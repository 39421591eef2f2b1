public import Logging
public import SamovarCore
import SamovarLoad
import SamovarProtocol

/// A process that takes part in a load test: it does what a coordinator tells it, and ends with it.
public struct LoadAgent: Sendable {
    let address: String
    let name: String
    let machine: String
    let store: Endpoint?
    let schema: Schema?
    let logger: Logger

    /// - Parameters:
    ///   - address: of the coordinator, as ZeroMQ spells it.
    ///   - name: for people.
    ///   - machine: what it runs on, for people.
    ///   - store: where this agent reaches the store; nil for what the coordinator says.
    ///   - schema: of this executable's program; nil for a generic tool.
    public init(joining address: String, as name: String, on machine: String, store: Endpoint?, schema: Schema?, logger: Logger) {
        self.address = address
        self.name = name
        self.machine = machine
        self.store = store
        self.schema = schema
        self.logger = logger
    }

    /// Takes part until the end, on a thread of its own.
    ///
    /// - Throws: `LoadError` if it could not go on.
    public func run() async throws {
        try await onThread("samovar-load") {
            var loop = try AgentLoop(self)
            try loop.run()
        }
    }
}

/// Why a load test, or a part of it, has no result.
public struct LoadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence for a person.
    public let description: String

    /// An error with this sentence.
    public init(_ description: String) {
        self.description = description
    }
}
