import Foundation
import Logging
import ProcessSupport
import SamovarHost
import Testing

/// A store with keys, and more who want in than there is room for.
@Suite(.serialized, .enabled(if: ProcessTable.isAvailable))
struct KeyedTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Runs a client that watches views, until it is closed.
    private func watch(_ store: KeyedStore, _ tasks: inout ThrowingTaskGroup<Void, any Error>) throws -> StoreClient {
        let client = try StoreClient(
            at: StoreAccess(store.endpoint, keyFile: store.key("client")),
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        tasks.addTask { try await client.run() }
        tasks.addTask { for await _ in client.views() {} }
        return client
    }

    @Test func `Clients beyond the limit come later, and nobody who is in is thrown out`() async throws {
        let store = try await KeyedStore(
            in: scratch,
            keys: [
                ("operator", ["--role", "operator"]), ("worker", ["--role", "worker"]),
                ("client", ["--role", "client", "--sessions", "1000", "--hellos", "1000"]),
            ],
            // Between the marks at which the store has no room and at which it closes its listeners there is a tenth, 60: for twelve who come late,
            // with two connections each, and the next two before the former are gone.
            starter: ["prlimit", "--nofile=600:600"])
        let limit = try await store.number("maximumClients")
        #expect(limit == 188)
        let own = try store.process.descriptors
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            var clients = try (0..<limit).map { _ in try watch(store, &tasks) }
            try await eventually("as many as there is room for are in") { try await store.number("clients") == limit }
            clients += try (0..<12).map { _ in try watch(store, &tasks) }
            let late = clients.suffix(12)
            try await eventually("the others are told so") {
                late.allSatisfy { $0.obstacle?.contains("limit of the store") ?? false }
            }
            // Who is sent away keeps no connection, neither at the front nor for views.
            try await eventually("they have gone: \(try store.process.descriptors) descriptors") {
                try store.process.descriptors <= own + 2 * limit + 2
            }
            #expect(clients.prefix(limit).allSatisfy { $0.obstacle == nil })

            // A worker gets in beside them, and an operator asks for it.
            let worker = try store.start(["worker"], as: "worker")
            try await eventually("the worker is there") { (try await store.status()?["workers"] as? [Any])?.count == 1 }

            for client in clients.prefix(12) { client.close() }
            try await eventually("the others get in when these have left") { late.allSatisfy { $0.obstacle == nil } }
            #expect(try await store.number("clients") == limit)
            #expect(!store.child.errors.contains("descriptors"), "\(store.child.errors)")
            worker.send(SIGKILL)
            for client in clients { client.close() }
            try await tasks.waitForAll()
        }
    }
}
