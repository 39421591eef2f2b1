import Foundation
import ProcessSupport
import Testing

/// The journal of a running store, which has its data folder for itself, is read by asking the store.
@Suite(.serialized) struct ServedJournalTests {
    /// So many inputs, each a turn of its own, that their batches fill several pages.
    private static let inputs = 30_000

    private static func read(_ store: CounterStore, _ arguments: [String]) async throws -> String {
        let child = try store.start(arguments)
        #expect(try await child.wait() == .exited(0), "\(arguments): \(child.errors)")
        #expect(child.errors.isEmpty, "\(arguments): \(child.errors)")
        return child.output
    }

    @Test func `What the commands say beside a running store is what they say of its folder afterwards`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(Self.inputs)
        try await store.becomeQuiet()
        let newest = try await store.status("turn")
        let commands = [
            ["journal", "list", "--to", "\(turn)"], ["journal", "list", "--from", "\(turn - 2)", "--to", "\(turn)"],
            ["journal", "list", "--batches", "--to", "\(turn)"],
            ["replay", "--state", "--turn", "\(turn - 7)"], ["why", "state.sync", "--turn", "\(turn)"],
            ["diff", "1", "\(turn)"], ["bisect", "state.sync == 20000"],
        ]
        var running: [String] = []
        for command in commands { running.append(try await Self.read(store, command)) }
        #expect(running[0].split(separator: "\n").count == turn)
        #expect(running[3].contains("\(Self.inputs - 7)") && running[5].contains("→ \(Self.inputs)"), "\(running[3...])")
        let last = try await Self.read(store, ["journal", "list", "--last", "\(newest - turn + 3)"])
        #expect(last.hasPrefix(running[1]) && last.split(separator: "\n").count == newest - turn + 3, "\(last)")
        let verified = try await Self.read(store, ["verify"])
        #expect(verified.hasPrefix("ok: \(newest) turns "), "\(verified)")
        let sound = try await store.run("journal", "verify", "--json").json
        #expect(sound["sound"] as? Bool == true && sound["last"] as? Int == newest, "\(sound)")
        #expect(try await store.status("turn") == newest, "reading leaves nothing in the journal")
        try await store.stop()
        for (command, before) in zip(commands, running) {
            #expect(try await Self.read(store, command) == before, "\(command)")
        }
    }

    @Test func `A snapshot is where a replay beside a running store begins`() async throws {
        let first = try await CounterStore(workers: 0)
        let turn = try await first.increment(10)
        try await first.stop()
        let store = try await CounterStore(workers: 0, in: first.scratch, data: first.data)
        let later = try await store.increment(2)
        #expect(try await Self.read(store, ["replay", "--state", "--turn", "\(turn)"]).contains("\"sync\":10"))
        #expect(try await Self.read(store, ["replay", "--state"]).contains("\"sync\":12"))
        let why = try await Self.read(store, ["why", "state.sync"])
        #expect(why.hasPrefix("state.sync = 12, since \(later) "), "\(why)")
    }

    @Test func `Where it was trimmed, it says from where the past is known`() async throws {
        let store = try await CounterStore(
            workers: 0, arguments: ["--retain", "5"], variables: ["SAMOVAR_STORE_SNAPSHOT_TURNS": "100"])
        try await store.increment(1_000)
        let listed = try await eventuallyTrimmed(store)
        #expect(!listed.hasPrefix("1  "), "\(listed.prefix(200))")
        let early = try await store.run("replay", "--turn", "2")
        #expect(early.end == .exited(78) && early.errors.contains("turn 2 is not kept any more"), "\(early.errors)")
        let sound = try await store.run("journal", "verify", "--json").json
        #expect(sound["sound"] as? Bool == true && sound["first"] as? Int ?? 0 > 1, "\(sound)")
    }

    private func eventuallyTrimmed(_ store: CounterStore) async throws -> String {
        for _ in 0..<100 {
            let output = try await Self.read(store, ["journal", "list"])
            if !output.hasPrefix("1  ") { return output }
            try await store.increment(100)
        }
        return try await Self.read(store, ["journal", "list"])
    }

    @Test func `Who has the folder and is no store is named after a while`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        try await store.stop()
        // As another command has it.
        let lock = open(store.data + "/lock", O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        let list = try await store.run("journal", "list")
        #expect(list.end == .exited(75) && list.errors.contains("is in use by"), "\(list.errors)")
    }

    @Test func `A damaged batch ends the listing with its name, and verify with 65, while the store goes on`() async throws {
        let first = try await CounterStore(workers: 0)
        var turns: [Int] = []
        for _ in 0..<3 { turns.append(try await first.increment(1)) }
        try await first.stop()
        try await first.damage(turns[1])
        let store = try await CounterStore(workers: 0, in: first.scratch, data: first.data)
        let list = try await store.run("journal", "list")
        #expect(list.end == .exited(65) && list.errors.contains("(turn \(turns[1])): digest differs."), "\(list.errors)")
        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(65) && verified.output.contains("digest differs."), "\(verified.output)\(verified.errors)")
        try await store.increment(1)
    }
}
