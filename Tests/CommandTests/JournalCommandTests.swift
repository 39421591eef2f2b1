import Foundation
import GRDB
import ProcessSupport
import Testing

/// `journal` in all its forms, on real stores.
@Suite(.serialized) struct JournalCommandTests {
    /// A stopped store whose snapshots are gone, so that everything hangs on the batches, and the turn of each input.
    static func stopped(inputs: Int = 3) async throws -> (store: CounterStore, turns: [Int]) {
        let store = try await CounterStore(workers: 0)
        var turns: [Int] = []
        // One by one, so that each is a batch.
        for _ in 0..<inputs { turns.append(try await store.increment(1)) }
        try await store.stop()
        try store.removeSnapshots()
        return (store, turns)
    }

    @Test func `Turns are listed as text and as JSON`() async throws {
        let (store, turns) = try await Self.stopped()
        let text = try await store.run("journal", "list")
        #expect(text.end == .exited(0), "\(text.errors)")
        let lines = text.output.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasPrefix("1  20") == true)
        #expect(lines.first?.contains("started  store  start 1") == true, "\(lines)")
        #expect(
            lines.contains { $0.hasPrefix("\(turns[1])  ") && $0.contains("  applied  client ") && $0.hasSuffix("incremented {}") })
        #expect(lines.last?.contains("drained  store") == true)

        let json = try await store.run("journal", "list", "--from", "\(turns[1])", "--to", "\(turns[1])", "--format", "json")
        #expect(json.output.split(separator: "\n").count == 1)
        #expect(try json.json["turn"] as? Int == turns[1])
        #expect(try json.json["kind"] as? String == "applied")
        let batches = try await store.run("journal", "list", "--batches")
        #expect(batches.output.hasPrefix("turn 1  "), "\(batches.output)")
    }

    @Test func `Who lists turns beyond the end is told where that is`() async throws {
        let (store, _) = try await Self.stopped()
        let last = try #require(try await store.run("journal", "verify", "--json").json["last"] as? Int)
        for more in [[], ["--batches"], ["--format", "json"]] {
            let beyond = try store.start(["journal", "list", "--from", "\(last + 1)"] + more)
            #expect(try await beyond.wait() == .exited(0) && beyond.output == "")
            #expect(beyond.errors == "note: the journal ends at turn \(last)\n")
        }
        #expect(try await store.run("journal", "list", "--from", "\(last)").errors == "")
    }

    @Test func `A journal that was moved says where to, wherever it is looked at`() async throws {
        let (store, _) = try await Self.stopped()
        #expect(try await store.run("journal", "verify", "--json").json["movedTo"] is NSNull)
        let target = store.scratch.folder("target")
        let move = try Child(
            Executable.counter, ["journal", "import", "--move", store.data, "--data", target], in: store.scratch)
        #expect(try await move.wait() == .exited(0), "\(move.errors)")
        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(0) && verified.output.contains("\nmoved to  \(target), and closed for good\n"))
        #expect(try await store.run("journal", "verify", "--json").json["movedTo"] as? String == target)
        let list = try await store.run("journal", "list")
        #expect(list.output.contains("started"))
        #expect(list.errors == "note: the journal was moved to \(target), and is closed for good\n")
        let moved = try Child(Executable.counter, ["journal", "verify", "--data", target], in: store.scratch)
        #expect(try await moved.wait() == .exited(0) && !moved.output.contains("moved to"))
    }

    @Test func `A source that is damaged after its move is not needed, or the backup that is needed is named`() async throws {
        let (store, turns) = try await Self.stopped()
        let target = store.scratch.folder("target")
        func move() async throws -> Child { try await store.move(store.data, to: target) }
        let first = try await move()
        #expect(first.end == .exited(0), "\(first.errors)")
        try await store.damage(turns[1])
        let again = try await move()
        #expect(again.end == .exited(0), "\(again.errors)")
        #expect(again.output.hasPrefix("The journal was moved before: \(target) has it up to turn "), "\(again.output)")

        try FileManager.default.removeItem(atPath: target)
        let lost = try await move()
        #expect(lost.end == .exited(65), "\(lost.output)")
        #expect(lost.errors.hasPrefix("error: the journal in \(store.data) is damaged: "), "\(lost.errors)")
        let advice =
            " It was closed to be moved to \(target): if `journal verify` finds none there, restore a backup with `journal import`\n"
        #expect(lost.errors.hasSuffix(advice), "\(lost.errors)")
    }

    @Test func `A source that has lost its end is not left for an older copy of it`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        let old = store.scratch.folder("old")
        #expect(try await store.run("journal", "export", old).end == .exited(0))
        let turn = try await store.increment(1)
        try await store.stop()
        let target = store.scratch.folder("target")
        #expect(try await store.move(store.data, to: target).end == .exited(0))
        try FileManager.default.removeItem(atPath: target)
        #expect(try await store.move(old, to: target).end == .exited(0))
        try await DatabaseQueue(path: store.data + "/journal.sqlite").write { database in
            try database.execute(sql: "DELETE FROM batches WHERE last >= ?", arguments: [turn])
        }
        let again = try await store.move(store.data, to: target)
        #expect(again.end == .exited(78), "\(again.output)")
        #expect(again.errors.hasPrefix("error: \(target) has this journal already, up to turn \(turn - 1): "), "\(again.errors)")
    }

    @Test func `A snapshot that cannot be used is named with the reason, and the journal is sound without it`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        try await store.stop()
        let folder = store.data + "/snapshots"
        let turn = try #require(try FileManager.default.contentsOfDirectory(atPath: folder).first)
        try Data("none".utf8).write(to: URL(filePath: "\(folder)/\(turn)"))
        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(0), "\(verified.errors)")
        #expect(verified.output.contains("\nsnapshot  turn \(turn): cannot be used: "), "\(verified.output)")
        #expect(verified.output.contains(" is damaged: it is no snapshot."), "\(verified.output)")
    }

    @Test func `A sound journal verifies also with the generic tool`() async throws {
        let (store, turns) = try await Self.stopped()
        let verified = try Child(Executable.samovar, ["journal", "verify", "--data", store.data], in: store.scratch)
        #expect(try await verified.wait() == .exited(0), "\(verified.errors)")
        #expect(verified.output.hasPrefix("program   Counter version 1\n"), "\(verified.output)")
        let json = try await store.run("journal", "verify", "--json").json
        #expect(json["sound"] as? Bool == true)
        #expect(try #require(json["last"] as? Int) > turns[2])
    }

    @Test func `The generic tool says who reads a journal in a database, and offers to make none`() async throws {
        let scratch = try Scratch()
        for command in ["list", "verify"] {
            let child = try Child(
                Executable.samovar, ["journal", command, "--journal", "postgresql://127.0.0.1/shop"], in: scratch)
            #expect(try await child.wait() == .exited(78))
            #expect(
                child.errors
                    == "error: samovar reads journals in data folders alone: one in a database is for the program's own executable\n"
            )
        }
        for (executable, makes) in [(Executable.samovar, false), (Executable.counter, true)] {
            let help = try Child(executable, ["journal", "--help"], in: scratch)
            #expect(try await help.wait() == .exited(0))
            #expect(help.output.contains("\n  init ") == makes, "\(help.output)")
        }
    }

    @Test func `While a store runs, what would replace its journal says who has the folder`() async throws {
        let store = try await CounterStore(workers: 0)
        let child = try store.start(["journal", "salvage"])
        #expect(try await child.wait() == .exited(75))
        #expect(child.errors.contains("\(store.data) is in use by process"), "\(child.errors)")
    }

    // MARK: Damage and salvage

    @Test func `The first bad batch is named and what can be kept`() async throws {
        let (store, turns) = try await Self.stopped()
        try await store.damage(turns[1])
        let verified = try await store.run("journal", "verify")
        #expect(verified.end == .exited(65))
        #expect(verified.output.contains("(turn \(turns[1])): digest differs."), "\(verified.output)")
        #expect(verified.errors.contains("turns up to \(turns[1] - 1) can be kept: see `journal salvage`"), "\(verified.errors)")
        let again = try await store.run("store")
        #expect(again.end == .exited(65))
        #expect(again.errors.contains("(turn \(turns[1])): digest differs. `journal verify` tells"), "\(again.errors)")
    }

    @Test func `A salvage says what is lost and only then does it`() async throws {
        let (store, turns) = try await Self.stopped()
        let old = try #require(try await store.run("journal", "verify", "--json").json["timeline"] as? String)
        try await store.damage(turns[2])
        let files = try FileManager.default.contentsOfDirectory(atPath: store.data).sorted()

        let plan = try await store.run("journal", "salvage")
        #expect(plan.end == .exited(64))
        #expect(
            plan.output.contains("Kept: the turns up to \(turns[2] - 1), as a new timeline.\nLost: turns \(turns[2]) to "),
            "\(plan.output)")
        #expect(plan.output.contains("Nobody can say what was in turns \(turns[2]) to "), "\(plan.output)")
        #expect(plan.output.contains("What follows from it:"))
        #expect(plan.errors.contains("--accept-loss"))
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.data).sorted() == files)

        let done = try await store.run("journal", "salvage", "--accept-loss")
        #expect(done.end == .exited(0), "\(done.errors)")
        #expect(done.output.contains("The old journal is in \(store.data)/archive/"), "\(done.output)")
        let verified = try await store.run("journal", "verify", "--json").json
        #expect(verified["sound"] as? Bool == true)
        #expect(verified["last"] as? Int == turns[2] - 1)
        #expect(verified["ancestor"] as? String == "turn \(turns[2] - 1) of timeline \(old)")
        #expect(verified["timeline"] as? String != old)
        #expect(try await store.run("replay", "--state").output.contains(#""sync":2"#))

        let later = try await CounterStore(workers: 0, in: store.scratch)
        #expect(try await later.run("view").output.contains(#""sync":"2""#))
        try await later.increment(1)
        #expect(try await later.run("view").output.contains(#""sync":"3""#))
        // Everything that was there is still there.
        let archive = try #require(try FileManager.default.contentsOfDirectory(atPath: store.data + "/archive").first)
        let kept = try FileManager.default.contentsOfDirectory(atPath: "\(store.data)/archive/\(archive)").sorted()
        #expect(kept == ["head", "journal.id", "journal.sqlite"])
    }

    @Test func `A salvage says when what it keeps as it stands may not be what was written, and only then`() async throws {
        let (store, turns) = try await Self.stopped()
        try await store.damage(turns[2])
        let words = "Kept as they stand: secret, program and seed. One of them may not be what was written: run `verify`"
        let plan = try await store.run("journal", "salvage")
        #expect(plan.output.contains("Kept: the turns up to ") && !plan.output.contains("Kept as they stand"), "\(plan.output)")

        try await DatabaseQueue(path: store.data + "/journal.sqlite").write { database in
            var secret = try #require(try Data.fetchOne(database, sql: "SELECT value FROM facts WHERE name = 'secret'"))
            secret[0] ^= 1
            try database.execute(sql: "UPDATE facts SET value = ? WHERE name = 'secret'", arguments: [secret])
        }
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.end == .exited(0), "\(salvaged.errors)")
        #expect(salvaged.output.contains("(timeline, secret, program, seed) are damaged: digest differs."), "\(salvaged.output)")
        #expect(salvaged.output.contains(words), "\(salvaged.output)")
        #expect(try await store.run("journal", "verify").end == .exited(0), "the copy has a digest of its own")
    }

    @Test func `A sound journal can be cut and the lost turns are counted`() async throws {
        let (store, turns) = try await Self.stopped()
        let nothing = try await store.run("journal", "salvage", "--accept-loss")
        #expect(nothing.end == .exited(78))
        #expect(nothing.errors.contains("is sound up to its last turn"), "\(nothing.errors)")

        let done = try await store.run("journal", "salvage", "--upto", "\(turns[0])", "--accept-loss")
        #expect(done.end == .exited(0), "\(done.errors)")
        #expect(done.output.contains("can still be read: 2 inputs applied and 0 refused, of 2 clients"), "\(done.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":1"#))
    }

    @Test func `A salvage that was cut short is ended by the next`() async throws {
        let (store, turns) = try await Self.stopped()
        #expect(try await store.run("journal", "salvage", "--upto", "\(turns[0])", "--accept-loss").end == .exited(0))
        // As if the process had died when the new database was in its place and its identity was not.
        let manager = FileManager.default
        try manager.createDirectory(atPath: store.data + "/replacement", withIntermediateDirectories: false)
        try manager.moveItem(atPath: store.data + "/journal.id", toPath: store.data + "/replacement/journal.id")
        let archive = try #require(try manager.contentsOfDirectory(atPath: store.data + "/archive").first)
        try manager.copyItem(atPath: "\(store.data)/archive/\(archive)/journal.id", toPath: store.data + "/journal.id")
        let refused = try await store.run("store")
        #expect(refused.end == .exited(65))
        #expect(refused.errors.contains("was about to be replaced by \(store.data)/replacement"), "\(refused.errors)")

        let ended = try await store.run("journal", "salvage", "--accept-loss")
        #expect(ended.end == .exited(0), "\(ended.errors)")
        #expect(ended.output.contains("Ended a replacement of the journal that was cut short"), "\(ended.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":1"#))
    }

    @Test func `A log that was cut off is noticed and both turns are named`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(1)
        try await store.stop()
        let kept = try #require(try await store.run("journal", "verify", "--json").json["last"] as? Int)
        // What the database has without its log. A store that has nothing to do moves the log's pages there at any time.
        let database = try Data(contentsOf: URL(fileURLWithPath: store.data + "/journal.sqlite"))
        let again = try await CounterStore(workers: 0, in: store.scratch)
        // The end of the client's session is one more turn.
        let lost = try await again.increment(1) + 1
        try await eventually("all is on disk") { try await again.status("durable") == lost }
        try await again.kill()
        try database.write(to: URL(fileURLWithPath: store.data + "/journal.sqlite"))
        try Data().write(to: URL(fileURLWithPath: store.data + "/journal.sqlite-wal"))

        for command in ["store", "replay"] {
            let refused = try await store.run(command)
            #expect(refused.end == .exited(65))
            let text = "ends at turn \(kept), but \(store.data)/head says that turn \(lost) was on disk"
            #expect(refused.errors.contains(text) && refused.errors.contains("`journal salvage`"), "\(refused.errors)")
        }
        let salvaged = try await store.run("journal", "salvage", "--accept-loss")
        #expect(salvaged.output.contains("Nobody can say what was in turns \(kept + 1) to \(lost)."), "\(salvaged.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":1"#))
    }

    // MARK: Backups

    @Test func `A backup of a running store under load replays and verifies while it runs`() async throws {
        let store = try await CounterStore(workers: 0)
        let before = try await store.increment(200)
        let load = try store.start(["send", "-"], input: String(repeating: "increment\n", count: 6_000))
        let inside = try await store.run("journal", "export", "\(store.data)/replacement")
        #expect(inside.end == .exited(74) && inside.errors.contains("itself: name one elsewhere"), "\(inside.errors)")
        for number in 1...3 {
            let copy = store.scratch.folder("copy-\(number)")
            let export = try await store.run("journal", "export", copy)
            #expect(export.end == .exited(0), "\(export.errors)")
            #expect(export.output.contains("to \(copy)."))
            let verified = try Child(Executable.counter, ["journal", "verify", "--json", "--data", copy], in: store.scratch)
            #expect(try await verified.wait() == .exited(0), "\(verified.errors)")
            let last = try #require(try verified.json["last"] as? Int)
            #expect(last >= before)
            let replay = try Child(Executable.counter, ["replay", "--state", "--data", copy], in: store.scratch)
            #expect(try await replay.wait() == .exited(0), "\(replay.errors)")
            let list = try Child(Executable.counter, ["journal", "list", "--data", copy], in: store.scratch)
            #expect(try await list.wait() == .exited(0))
            let applied = list.output.split(separator: "\n").count { $0.contains("  applied  ") }
            #expect(replay.output.contains("\"sync\":\(applied)"), "\(replay.output) at \(last)")
        }
        #expect(try await load.wait(within: .seconds(120)) == .exited(0), "\(load.errors)")
        #expect(try await store.status("starts") == 1)
    }

    @Test func `A backup of a stopped store needs no store and is never written over anything`() async throws {
        let (store, turns) = try await Self.stopped()
        let copy = store.scratch.folder("copy")
        #expect(try await store.run("journal", "export", copy).end == .exited(0))
        #expect(try await store.run("journal", "export", copy).end == .exited(64))
        #expect(try await store.run("journal", "export", "\(store.data)/replacement").end == .exited(78))
        let verified = try Child(Executable.counter, ["journal", "verify", "--json", "--data", copy], in: store.scratch)
        #expect(try await verified.wait() == .exited(0))
        #expect(try #require(try verified.json["last"] as? Int) > turns[2])
        try await store.damage(turns[1])
        let bad = try await store.run("journal", "export", store.scratch.folder("bad"))
        #expect(bad.end == .exited(65), "\(bad.errors)")
        #expect(!FileManager.default.fileExists(atPath: store.scratch.folder("bad")))
        #expect(!FileManager.default.fileExists(atPath: store.scratch.folder("bad.building")))
    }

    @Test func `A backup of a store that --endpoint names is none of the folder that a variable names`() async throws {
        let (store, _) = try await Self.stopped(inputs: 1)
        let copy = store.scratch.folder("copy")
        let export = try Child(
            Executable.counter, ["journal", "export", copy, "--endpoint", "ipc://" + store.scratch.folder("other")],
            in: store.scratch, variables: ["SAMOVAR_DATA": store.data])
        #expect(try await export.wait() == .exited(69), "\(export.output)")
        #expect(!FileManager.default.fileExists(atPath: copy))
    }

    @Test func `A restored backup is a new timeline and the old journal is archived`() async throws {
        let (store, _) = try await Self.stopped()
        let copy = store.scratch.folder("copy")
        #expect(try await store.run("journal", "export", copy).end == .exited(0))
        let old = try #require(try await store.run("journal", "verify", "--json").json["timeline"] as? String)
        let later = try await CounterStore(workers: 0, in: store.scratch)
        try await later.increment(5)
        try await later.stop()

        let restored = try await store.run("journal", "import", copy)
        #expect(restored.end == .exited(0), "\(restored.errors)")
        #expect(restored.output.contains("The journal that was there is in \(store.data)/archive/"), "\(restored.output)")
        let verified = try await store.run("journal", "verify", "--json").json
        #expect(verified["timeline"] as? String != old)
        #expect(verified["sound"] as? Bool == true)
        #expect(try await store.run("replay", "--state").output.contains(#""sync":3"#))
    }

    @Test func `An import that ends another one says so and restores nothing`() async throws {
        let (store, _) = try await Self.stopped()
        let (early, late) = (store.scratch.folder("early"), store.scratch.folder("late"))
        #expect(try await store.run("journal", "export", early).end == .exited(0))
        let later = try await CounterStore(workers: 0, in: store.scratch)
        try await later.increment(5)
        try await later.stop()
        #expect(try await store.run("journal", "export", late).end == .exited(0))
        // As an import leaves it that dies before it puts the new journal in its place.
        try FileManager.default.moveItem(atPath: late, toPath: store.data + "/replacement")

        let ended = try await store.run("journal", "import", early)
        #expect(ended.end == .exited(0), "\(ended.errors)")
        #expect(ended.output.contains("Ended a replacement of the journal that was cut short"), "\(ended.output)")
        #expect(!ended.output.contains("Restored"), "\(ended.output)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":8"#))
        let restored = try await store.run("journal", "import", early)
        #expect(restored.output.contains("Restored the turns up to "), "\(restored.output)\(restored.errors)")
        #expect(try await store.run("replay", "--state").output.contains(#""sync":3"#))
    }

    @Test func `An import of what is not there or damaged makes no folder`() async throws {
        let (store, turns) = try await Self.stopped()
        try await store.damage(turns[2])
        let target = store.scratch.folder("new")
        for (source, reason) in [
            (store.scratch.folder("none"), "There is no data folder "), (store.data, "the journal in \(store.data) is damaged: "),
        ] {
            let child = try Child(
                Executable.counter, ["journal", "import", source, "--data", target + "/data"], in: store.scratch)
            #expect(try await child.wait() != .exited(0))
            #expect(child.errors.contains(reason), "\(child.errors)")
            #expect(!FileManager.default.fileExists(atPath: target))
        }
    }

    // MARK: Trimming

    @Test func `A store that retains little trims behind its snapshots and says so`() async throws {
        let store = try await CounterStore(workers: 0)
        try await store.increment(10)
        try await store.stop()
        let trimmed = try #require(try await store.run("journal", "verify", "--json").json["last"] as? Int)
        let second = try await CounterStore(workers: 0, in: store.scratch)
        try await second.increment(10)
        try await second.stop()
        let third = try await CounterStore(workers: 0, in: store.scratch, arguments: ["--retain", "5"])
        try await eventually("the journal is trimmed") { third.up.errors.contains("trimmed the journal up to turn \(trimmed)") }
        let turn = try await third.increment(10)
        let copy = store.scratch.folder("copy")
        #expect(try await third.run("journal", "export", copy).end == .exited(0))
        try await third.kill()

        for data in [store.data, copy] {
            func run(_ arguments: String...) async throws -> Child {
                let child = try Child(Executable.counter, arguments + ["--data", data], in: store.scratch)
                try await child.wait()
                return child
            }
            let verified = try await run("journal", "verify", "--json")
            #expect(verified.end == .exited(0), "\(verified.errors)")
            #expect(try verified.json["first"] as? Int == trimmed + 1)
            #expect(try await run("replay", "--state").output.contains(#""sync":30"#))
            #expect(try await run("replay", "--state", "--turn", "\(turn - 1)").output.contains(#""sync":29"#))
            let early = try await run("replay", "--state", "--turn", "5")
            #expect(early.end == .exited(78))
            #expect(early.errors.contains("turn 5 is not kept any more"), "\(early.errors)")
        }
        let later = try await CounterStore(workers: 0, in: store.scratch)
        #expect(try await later.run("view").output.contains(#""sync":"30""#))
        try await later.stop()
        try later.removeSnapshots()
        let refused = try await later.run("store")
        #expect(refused.end == .exited(65))
        #expect(refused.errors.contains("none of the snapshots"), "\(refused.errors)")
    }
}

extension CounterStore {
    func move(_ source: String, to target: String) async throws -> Child {
        let child = try Child(Executable.counter, ["journal", "import", "--move", source, "--data", target], in: scratch)
        try await child.wait()
        return child
    }

    /// Changes the batch that holds a turn, behind the back of a store that has ended.
    func damage(_ turn: Int) async throws {
        try await DatabaseQueue(path: data + "/journal.sqlite").write { database in
            try database.execute(
                sql: "UPDATE batches SET data = CAST(data || x'00' AS BLOB) WHERE first <= ? AND last >= ?",
                arguments: [turn, turn])
        }
    }
}
