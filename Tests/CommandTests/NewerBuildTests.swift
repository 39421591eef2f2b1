import Foundation
import Journal
import ProcessSupport
import SQLiteJournal
import Testing

/// A release that was taken back, after it had written.
@Suite(.serialized) struct NewerBuildTests {
    @Test func `Turns that only a newer build can read are no damage, and given up only by who names a turn before`() async throws {
        let (store, _) = try await JournalCommandTests.stopped()
        let last = try #require(try await store.run("journal", "verify", "--json").json["last"] as? Int)
        let journal = try SQLiteJournal(at: store.data)
        // Kind, time, instance, origin, root and event: of a kind that there is not yet.
        try journal.append(Batch(first: last + 1, last: last + 1, bytes: [0x96, 0x7f, 0, 0xc0, 0xc0, 1, 0xc0]))
        try journal.close()
        let database = URL(filePath: store.data + "/journal.sqlite")
        let before = try Data(contentsOf: database)

        let words = "turn \(last + 1): the record is of kind 127, which only a newer build knows: run that one"
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
}
