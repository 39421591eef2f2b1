import Foundation
import GRDB
import ProcessSupport
import Testing

/// A start that refuses changes nothing, and what it refuses is not lost.
@Suite(.serialized) struct DamagedFolderTests {
    /// A store that was killed with turns in its log, and its last turn on disk.
    private func killed() async throws -> (store: CounterStore, last: Int) {
        let store = try await CounterStore(workers: 0)
        for _ in 0..<5 { try await store.increment(1) }
        return (store, try await lastTurnOfKilled(store))
    }

    /// Kills a store that has nothing left to write.
    private func lastTurnOfKilled(_ store: CounterStore) async throws -> Int {
        try await store.becomeQuiet()
        try await store.kill()
        // Of a copy: nothing but what a test does to it may change the folder.
        let copy = store.scratch.folder("copy-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.copyItem(atPath: store.data, toPath: copy)
        let verify = try Child(store.executable, ["journal", "verify", "--json", "--data", copy], in: store.scratch)
        try await verify.wait()
        return try #require(try verify.json["witnessed"] as? Int)
    }

    private func requireRefusal(of store: CounterStore, _ text: String) async throws {
        let before = try store.contents()
        let refused = try await store.run("store")
        #expect(refused.end == .exited(65), "\(refused.errors)")
        #expect(refused.errors.contains(text), "\(refused.errors)")
        #expect(try store.contents() == before)
    }

    @Test func `A flipped bit in the log is refused and a salvage keeps every turn`() async throws {
        let (store, last) = try await killed()
        let log = store.data + "/journal.sqlite-wal"
        var bytes = try Data(contentsOf: URL(filePath: log))
        // Behind the frames of what a new journal writes down of itself.
        bytes[bytes.count * 3 / 4] ^= 4
        try bytes.write(to: URL(filePath: log))
        try await requireRefusal(of: store, "head says that turn \(last) was on disk")

        let verified = try await store.run("journal", "verify", "--json")
        #expect(try verified.json["last"] as? Int == last, "\(verified.output)")
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":5"#))
        let archive = try #require(try FileManager.default.contentsOfDirectory(atPath: store.data + "/archive").first)
        #expect(try Data(contentsOf: URL(filePath: "\(store.data)/archive/\(archive)/journal.sqlite-wal")) == bytes)
        #expect(!FileManager.default.fileExists(atPath: store.data + "/examination"))
    }

    @Test func `A batch that cannot be replayed is refused and the marker stays`() async throws {
        let (store, turns) = try await JournalCommandTests.stopped()
        try await store.damage(turns[1])
        try await requireRefusal(of: store, "digest differs")
    }

    @Test func `Damage behind the newest snapshot is told by a running store and a salvage keeps every turn`() async throws {
        let store = try await CounterStore(workers: 0)
        var turns: [Int] = []
        for _ in 0..<3 { turns.append(try await store.increment(1)) }
        try await store.stop()
        let snapshot = try #require(store.snapshots.first)
        try await store.damage(turns[1])

        let serving = try await CounterStore(workers: 0, in: store.scratch)
        try await eventually("the damage is found") { serving.up.errors.contains("the journal is damaged behind a snapshot") }
        #expect(serving.up.errors.contains("(turn \(turns[1])): digest differs. The state does not come from there"))
        try await serving.increment(1)
        let timeline = try await serving.text("timeline")
        let last = try await lastTurnOfKilled(serving)

        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(65))
        #expect(
            verified.errors.contains(
                "the snapshot of turn \(snapshot) and what follows it up to turn \(last) can be kept: see `journal salvage`"),
            "\(verified.errors)")
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("Kept: the state after turn \(snapshot)"), "\(salvaged.output)")
        #expect(salvaged.output.contains("as the same timeline.") && salvaged.output.contains(timeline), "\(salvaged.output)")

        let again = try await CounterStore(workers: 0, in: store.scratch)
        #expect(try await again.text("timeline") == timeline)
        try await again.stop()
        #expect(try await store.run("replay", "--state").output.contains(#""sync":4"#))
        #expect(try await store.run("journal", "verify").end == .exited(0))
    }

    @Test func `A salvage that keeps a snapshot and no record leaves a past of one state`() async throws {
        let store = try await CounterStore(workers: 0)
        let turn = try await store.increment(1)
        try await store.stop()
        try await store.damage(turn)
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        let bisected = try await store.run("bisect", "state.sync == 1")
        #expect(bisected.end == .exited(65) && bisected.errors.contains("whose record is not kept any more"), "\(bisected.errors)")
    }

    @Test func `What is lost behind the rest makes it a new timeline`() async throws {
        let store = try await CounterStore(workers: 0)
        let first = try await store.increment(1)
        try await store.stop()
        let snapshot = try #require(store.snapshots.first)
        let serving = try await CounterStore(workers: 0, in: store.scratch)
        let timeline = try await serving.text("timeline")
        let (kept, lost) = (try await serving.increment(1), try await serving.increment(1))
        try await serving.stop()
        for turn in try store.snapshots where turn != snapshot {
            try FileManager.default.removeItem(atPath: "\(store.data)/snapshots/\(turn)")
        }
        try await store.damage(first)
        try await store.damage(lost)
        try await requireRefusal(of: store, "(turn \(lost)): digest differs.")

        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("as a new timeline.") && !salvaged.output.contains(timeline), "\(salvaged.output)")
        #expect(salvaged.output.contains("Lost: turns \(lost) to "), "\(salvaged.output)")
        #expect(kept < lost)
        #expect(try await store.run("replay", "--state").output.contains(#""sync":2"#))
    }

    @Test func `Up to a turn behind the damage a salvage keeps the snapshot before that turn and what follows it`() async throws {
        let store = try await CounterStore(workers: 0)
        let damaged = try await store.increment(1)
        try await store.stop()
        let snapshot = try #require(store.snapshots.first)
        let serving = try await CounterStore(workers: 0, in: store.scratch)
        let kept = try await serving.increment(1)
        try await serving.increment(1)
        try await serving.stop()
        try await store.damage(damaged)

        let beginning = try await store.run("journal", "salvage", "--upto", "\(damaged)")
        #expect(beginning.output.contains("Kept: the turns up to \(damaged - 1), as a new timeline."), "\(beginning.output)")
        let state = try await store.run("journal", "salvage", "--upto", "\(snapshot)")
        #expect(
            state.output.contains("Kept: the state after turn \(snapshot), which is a snapshot, as a new timeline."),
            "\(state.output)")
        let salvaged = try await store.run("journal", "salvage", "--upto", "\(kept)", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("Kept: the state after turn \(snapshot), which is a snapshot, and"), "\(salvaged.output)")
        #expect(salvaged.output.contains(" to \(kept), as a new timeline."), "\(salvaged.output)")
        #expect(salvaged.output.contains("can still be read: 1 input applied and 0 refused"), "\(salvaged.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":2"#))
        let verified = try await store.run("journal", "verify", "--json")
        #expect(verified.end == .exited(0), "\(verified.errors)")
        #expect(try verified.json["last"] as? Int == kept)
    }

    @Test func `A sound snapshot beyond the last batch, from which no salvage goes on, is named and archived`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        try await store.stop()
        let kept = try #require(try await store.run("journal", "verify", "--json").json["last"] as? Int)
        let cut = try await store.run("journal", "salvage", "--upto", "\(kept - 1)")
        #expect(cut.output.contains("Kept: the turns up to ") && !cut.output.contains("snapshot"), "\(cut.output)")

        let database = try Data(contentsOf: URL(filePath: store.data + "/journal.sqlite"))
        let again = try await CounterStore(workers: 0, in: store.scratch)
        try await again.increment(1)
        try await again.stop()
        let lost = try #require(store.snapshots.first)
        try database.write(to: URL(filePath: store.data + "/journal.sqlite"))
        try await requireRefusal(of: store, "ends at turn \(kept), but has a snapshot of turn \(lost)")

        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("Kept: the turns up to \(kept), as a new timeline."), "\(salvaged.output)")
        #expect(salvaged.output.contains("The state after turn \(lost) is in a snapshot that goes to"), "\(salvaged.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":1"#))
        let archive = try #require(try FileManager.default.contentsOfDirectory(atPath: store.data + "/archive").first)
        #expect(FileManager.default.fileExists(atPath: "\(store.data)/archive/\(archive)/snapshots/\(lost)"))
    }

    @Test func `When the facts are lost verify says how far the turns are sound and that nothing can go on from them`() async throws
    {
        let (store, turns) = try await JournalCommandTests.stopped()
        let database = store.data + "/journal.sqlite"
        let queue = try DatabaseQueue(path: database)
        let page = try await queue.read {
            try Int.fetchOne($0, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'facts'")
        }
        try queue.close()
        var bytes = try Data(contentsOf: URL(filePath: database))
        let begin = (try #require(page) - 1) * 8_192
        bytes.replaceSubrange(begin..<begin + 8_192, with: Data(count: 8_192))
        try bytes.write(to: URL(filePath: database))
        try await requireRefusal(of: store, "cannot be read")

        let verified = try await store.run("journal", "verify", "--json")
        #expect(verified.end == .exited(65))
        #expect(try verified.json["last"] as? Int ?? 0 >= turns.last ?? 1, "\(verified.output)")
        #expect(verified.errors.contains("nothing can be kept: put a backup back"), "\(verified.errors)")
        let salvage = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvage.errors.contains("nothing of the journal in"), "\(salvage.errors)")
    }

    @Test func `A folder that has only marker and lock left is no new one`() async throws {
        let (store, last) = try await killed()
        for name in try FileManager.default.contentsOfDirectory(atPath: store.data) where !["marker", "lock"].contains(name) {
            try FileManager.default.removeItem(atPath: store.data + "/" + name)
        }
        try await requireRefusal(
            of: store, "marker says that turn \(last) was on disk: put back what is lost, or begin anew with --fresh.\n")
        let fresh = try await CounterStore(workers: 0, in: store.scratch, arguments: ["--fresh"])
        try await fresh.stop()
    }

    @Test func `Of a journal that is no database nothing can be verified or salvaged, and both say so`() async throws {
        let (store, _) = try await JournalCommandTests.stopped()
        try Data(repeating: 65, count: 10_000).write(to: URL(filePath: store.data + "/journal.sqlite"))
        for command in ["verify", "salvage"] {
            let child = try await store.run("journal", command)
            #expect(child.end == .exited(65), "\(child.errors)")
            #expect(
                child.errors.hasSuffix(
                    "it is not a database: put a backup back, or begin anew with --fresh. (file is not a database)\n"),
                "\(child.errors)")
        }
    }

    @Test func `An older head does not hide a lost log`() async throws {
        let (store, last) = try await killed()
        let again = try await CounterStore(workers: 0, in: store.scratch)
        try await again.stop()
        let old = try Data(contentsOf: URL(filePath: store.data + "/head"))
        let later = try await CounterStore(workers: 0, in: store.scratch)
        try await later.increment(1)
        let turn = try await lastTurnOfKilled(later)
        #expect(turn > last)
        try old.write(to: URL(filePath: store.data + "/head"))
        try FileManager.default.removeItem(atPath: store.data + "/journal.sqlite-wal")
        try await requireRefusal(of: store, "marker says that turn \(turn) was on disk")
    }
}

extension CounterStore {
    /// One text of `status --json`.
    fileprivate func text(_ key: String) async throws -> String {
        try #require(try await run("status", "--json").json[key] as? String)
    }

    /// The turns of the snapshots, newest first.
    var snapshots: [Int] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: data + "/snapshots").compactMap { Int($0) }.sorted(by: >) }
    }

    /// What is in each file of the data folder; nil for a folder.
    fileprivate func contents() throws -> [String: Data?] {
        var contents: [String: Data?] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: data) {
            contents[name] = .some(FileManager.default.contents(atPath: data + "/" + name))
        }
        return contents
    }
}
