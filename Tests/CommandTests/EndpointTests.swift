import Foundation
import ProcessSupport
import Testing

/// One endpoint is one store's, whatever data folders there are.
@Suite struct EndpointTests {
    @Test func `A second store with another data folder is refused and told the endpoint and who has it`() async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        let first = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("a"), arguments: ["--endpoint", endpoint])
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", endpoint], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        let owner = try #require(ProcessTable.all(naming: first.data).first { $0.command == "store" })
        let second = try Child(
            Executable.counter, ["store", "--data", scratch.folder("b"), "--endpoint", endpoint], in: scratch)
        #expect(try await second.wait() == .exited(78))
        #expect(
            second.errors.contains("error: another store, process \(owner.id), listens at \(endpoint): "), "\(second.errors)")
        let view = try Child(Executable.counter, ["view", "--endpoint", endpoint], in: scratch)
        #expect(try await view.wait() == .exited(0), "\(view.errors)")
        #expect(view.output.contains(#""sync":"1""#), "the first one still serves")
        try await first.stop()
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("sockets")), "nothing is left of an orderly end")
    }

    @Test func `The sockets may be in the data folder`() async throws {
        let scratch = try Scratch()
        let folder = scratch.folder("all")
        let store = try await CounterStore(workers: 0, in: scratch, data: folder, arguments: ["--endpoint", "ipc://" + folder])
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", "ipc://" + folder], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await store.stop()
        let again = try await CounterStore(workers: 0, in: scratch, data: folder, arguments: ["--endpoint", "ipc://" + folder])
        try await again.stop()
    }

    @Test func `What a killed store has left hinders no other`() async throws {
        let scratch = try Scratch()
        let endpoint = "ipc://" + scratch.folder("sockets")
        let first = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("a"), arguments: ["--endpoint", endpoint])
        try await first.kill()
        #expect(FileManager.default.fileExists(atPath: scratch.folder("sockets/store.lock")), "it was killed with its files there")
        let arguments = ["--endpoint", endpoint]
        let second = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("b"), arguments: arguments)
        let sent = try Child(Executable.counter, ["send", "increment", "--endpoint", endpoint], in: scratch)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        try await second.stop()
    }
}
