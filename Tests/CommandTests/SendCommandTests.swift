import CrashPoints
import Foundation
import ProcessSupport
import Testing

/// What a `send` leaves in the journal, and what it says when its receipt gets lost.
@Suite struct SendCommandTests {
    /// The records of clients, once the store has ended.
    private func records(of store: CounterStore) async throws -> [String] {
        try await store.stop()
        let list = try await store.run("journal", "list", "--format", "json")
        return list.output.split(separator: "\n").map(String.init).filter { $0.contains("client ") }
    }

    @Test func `A send leaves one record, which says that it was the last of its session`() async throws {
        let store = try await CounterStore(workers: 0)
        for wait in ["applied", "settled"] {
            #expect(try await store.run("send", "increment", "--wait", wait).end == .exited(0))
        }
        let records = try await records(of: store)
        #expect(
            records.count == 2 && records.allSatisfy { $0.contains(#""applied""#) && $0.contains("#1, its last") }, "\(records)")
    }

    @Test func `A stream of inputs ends its session with a record of its own`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(2)
        let records = try await records(of: store)
        #expect(records.count == 3 && records.last?.contains("sessionExpired") == true, "\(records)")
    }

    @Test(arguments: [CrashPoint.storeAfterAppend, .storeAfterCommit, .storeBeforeAppend])
    func `A store that dies between an input and its receipt leaves no send without an answer`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        // The first passage is that of the start.
        let store = try await CounterStore(
            workers: 0, in: scratch,
            variables: ["SAMOVAR_CRASH_AT": "\(point.rawValue):2", "SAMOVAR_CRASH_MARK": mark])
        let sent = try await store.run("send", "increment")
        #expect(FileManager.default.fileExists(atPath: mark), "the store has died")
        #expect(sent.end == .exited(0) && sent.output.contains(#""status":"applied""#), "\(sent.output) \(sent.errors)")
        #expect(try await store.run("view").output.contains(#""sync":"1""#))
        #expect(try await records(of: store).count == 1)
    }
}
