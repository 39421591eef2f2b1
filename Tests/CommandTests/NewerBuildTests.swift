import Foundation
import Journal
import ProcessSupport
import SQLiteJournal
import Testing

/// A release that was taken back, after it had written.
@Suite(.serialized) struct NewerBuildTests {
    private static func words(_ turn: Int) -> String {
        "turn \(turn): the record is of kind 127, which only a newer build knows: run that one"
    }

    @Test func `Turns that only a newer build can read are no damage, and given up only by who names a turn before`() async throws {
        let (store, _) = try await JournalCommandTests.stopped()
        let last = try store.appendNewer()
        let found = try await store.run("journal", "verify", "--json").json
        #expect((found["newerBuild"] as? String)?.contains(Self.words(last + 1)) == true, "\(found)")
        #expect(found["salvageable"] is NSNull && found["last"] as? Int == last, "\(found)")
        let database = URL(filePath: store.data + "/journal.sqlite")
        let before = try Data(contentsOf: database)

        let words = Self.words(last + 1)
        for command in [["store"], ["replay", "--state"], ["verify"], ["journal", "list"], ["journal", "verify"]] {
            let child = try store.start(command)
            #expect(try await child.wait() == .exited(78), "\(command): \(child.errors)")
            #expect((child.output + child.errors).contains(words), "\(command): \(child.output)\(child.errors)")
            #expect(!child.errors.contains("salvage"), "\(command): \(child.errors)")
        }
        let copy = try Child(
            store.executable, ["journal", "import", store.data, "--data", store.scratch.folder("copy")], in: store.scratch)
        #expect(try await copy.wait() == .exited(78) && copy.errors.contains(words), "\(copy.errors)")
        for more in [[], ["--upto", "\(last + 1)"]] {
            let child = try store.start(["journal", "salvage", "--accept-loss"] + more)
            #expect(try await child.wait() == .exited(78), "\(child.errors)")
            #expect(child.errors.contains("Run that one; or give those turns up, with --upto \(last)\n"), "\(child.errors)")
        }
        #expect(try Data(contentsOf: database) == before)

        let salvaged = try await store.run("journal", "salvage", "--accept-loss", "--upto", "\(last)")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("Kept: the turns up to \(last), as a new timeline."), "\(salvaged.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":3"#))
    }

    /// A store that has ended, and whose journal is damaged at a turn before one of its snapshots.
    private static func damaged() async throws -> (store: CounterStore, turn: Int, snapshot: Int) {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(1)
        try await store.stop()
        let snapshot = try #require(store.snapshots.first)
        let serving = try await CounterStore(workers: 0, in: store.scratch)
        try await serving.increment(1)
        try await serving.stop()
        try await store.damage(turn)
        return (store, turn, snapshot)
    }

    @Test func `Behind damage, too, turns of a newer build are named, and what is before them can be salvaged`() async throws {
        let (store, damaged, snapshot) = try await Self.damaged()
        let last = try store.appendNewer()

        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(78), "\(verified.errors)")
        for words in ["(turn \(damaged)): digest differs", "snapshot of turn \(snapshot)", Self.words(last + 1)] {
            #expect(verified.output.contains(words), "\(verified.output)")
        }
        let refused = try await store.run("journal", "salvage", "--accept-loss")
        #expect(refused.end == .exited(78), "\(refused.errors)")
        #expect(refused.errors.contains("or give those turns up, with --upto \(last)\n"), "\(refused.errors)")

        let salvaged = try await store.run("journal", "salvage", "--accept-loss", "--upto", "\(last)")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("Kept: the state after turn \(snapshot), which is a snapshot, and"), "\(salvaged.output)")
        #expect(salvaged.output.contains(" to \(last), as a new timeline."), "\(salvaged.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":2"#))
    }

    @Test func `Beside other problems, turns of a newer build are named, and nobody is told that nothing is damaged`() async throws
    {
        let (store, _, _) = try await Self.damaged()
        // It begins at a snapshot then.
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        try store.removeSnapshots()
        let last = try store.appendNewer()

        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(78), "\(verified.errors)")
        for words in ["were trimmed, and no snapshot", Self.words(last + 1)] {
            #expect(verified.output.contains(words), "\(verified.output)")
        }
        #expect(verified.errors.contains("let `journal verify` of that one tell what can be kept"), "\(verified.errors)")
        let copy = try Child(
            store.executable, ["journal", "import", store.data, "--data", store.scratch.folder("copy")], in: store.scratch)
        #expect(try await copy.wait() == .exited(78) && copy.errors.contains(Self.words(last + 1)), "\(copy.errors)")
        let refused = try await store.run("journal", "salvage", "--accept-loss")
        #expect(refused.end == .exited(78), "\(refused.errors)")
        let sentence = "is not sound, and only a newer build can read what follows turn \(last). Let that one salvage it"
        #expect(refused.errors.contains(sentence), "\(refused.errors)")
    }
}

extension CounterStore {
    /// Appends a turn of a kind that there is not yet, as a newer build would have.
    ///
    /// - Returns: the turn before it.
    func appendNewer() throws -> Int {
        let journal = try SQLiteJournal(at: data)
        let last = journal.last
        // Kind, time, instance, origin, root and event.
        try journal.append(Batch(first: last + 1, last: last + 1, bytes: [0x96, 0x7f, 0, 0xc0, 0xc0, 1, 0xc0]))
        try journal.close()
        return last
    }
}
