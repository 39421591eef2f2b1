import Foundation
import JournalChain
import PostgreSQLSupport
import ProcessSupport
import Testing

@testable import PostgreSQLJournal

/// A store with its journal in a database, and the commands on it, as a person runs them.
@Suite(.enabled("there is no PostgreSQL: commands on journals in it are not tested") { TestServer.programs != nil })
struct JournalCommandTests {
    /// The example `tickets` with a journal of its own.
    private struct Shop {
        let server: TestServer
        let place: PostgreSQLPlace
        let scratch: Scratch

        init() async throws {
            server = try await TestServer.common()
            place = try server.place()
            scratch = try Scratch()
        }

        var journal: String { "\(place.address)&schema=\(place.schema)" }
        var data: String { scratch.folder("data") }

        func start(_ arguments: [String], in folder: String? = nil) throws -> Child {
            try Child(
                Executable.path("tickets"), arguments + ["--data", folder ?? data, "--journal", journal], in: scratch)
        }

        func run(_ arguments: String..., in folder: String? = nil) async throws -> Child {
            let child = try start(arguments, in: folder)
            try await child.wait()
            return child
        }

        func send() async throws -> Child { try await run("send", #"{"buy":{"by":"Ada"}}"#, "--wait", "settled") }

        func timeline() async throws -> Substring? {
            let verify = try await run("journal", "verify")
            return verify.output.split(separator: "\n").first { $0.hasPrefix("timeline") }
        }

        /// A store whose journal is in its folder, and which was stopped.
        func serveAlone() async throws {
            let alone = try Child(Executable.path("tickets"), ["up", "--data", data], in: scratch)
            try await eventually("the store serves: \(alone.errors)") { alone.errors.contains("serving") }
            alone.send(SIGINT)
            #expect(try await alone.wait() == .exited(0), "\(alone.errors)")
        }

        /// A store that has sold a ticket, and was stopped.
        func sell() async throws {
            let up = try start(["up", "--workers", "1"])
            try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
            let sent = try await send()
            #expect(sent.end == .exited(0), "\(sent.errors)")
            up.send(SIGINT)
            #expect(try await up.wait() == .exited(0), "\(up.errors)")
        }
    }

    @Test func `A store says that there is no journal, and one is made once`() async throws {
        let shop = try await Shop()
        let store = try await shop.run("store")
        #expect(store.end == .exited(78) && store.errors.contains("`journal init` makes one"), "\(store.errors)")
        #expect(try await shop.run("journal", "init").output == "Made the journal at \(shop.place).\n")
        #expect(try await shop.run("journal", "init").output == "There is a journal at \(shop.place) already; it stays as it is.\n")
    }

    @Test func `Every command reads what a store has written, also while it serves`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        let up = try shop.start(["up", "--workers", "1"])
        try await eventually("the store serves: \(up.errors)") { up.errors.contains("serving") }
        #expect(try await shop.send().end == .exited(0))
        let view = #""view":{"sold":1,"printed":1,"unprinted":[]}"#
        try await eventually("the view is as of the last turn") { try await shop.run("replay").output.contains(view) }
        let list = try await shop.run("journal", "list")
        #expect(list.output.hasPrefix("1  20") && list.output.contains("bought {by Ada}"), "\(list.output)\(list.errors)")
        for command in [["verify"], ["journal", "verify"], ["journal", "list", "--batches"]] {
            let child = try shop.start(command)
            #expect(try await child.wait() == .exited(0), "\(command): \(child.errors)")
        }
        let copy = shop.scratch.folder("copy")
        #expect(try await shop.run("journal", "export", copy).end == .exited(0))
        let replay = try Child(Executable.path("tickets"), ["replay", "--data", copy], in: shop.scratch)
        #expect(try await replay.wait() == .exited(0))
        #expect(replay.output.contains(view), "\(replay.output)\(replay.errors)")
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")
        let check = try await shop.run("check")
        #expect(check.end == .exited(0), "\(check.errors)")
    }

    @Test func `A data folder knows that its journal is elsewhere`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        for command in [["store"], ["replay"], ["journal", "list"]] {
            let child = try Child(Executable.path("tickets"), command + ["--data", shop.data], in: shop.scratch)
            #expect(try await child.wait() == .exited(78))
            #expect(child.errors.contains("journal of \(shop.data) is at \(shop.place): name it with --journal"), "\(child.errors)")
        }
    }

    @Test func `A journal is moved to a folder and back with its timeline, and is closed where it was`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let before = try await shop.timeline()

        let folder = shop.scratch.folder("folder")
        let away = try Child(
            Executable.path("tickets"), ["journal", "import", "--move", shop.journal, "--data", folder], in: shop.scratch)
        #expect(try await away.wait() == .exited(0), "\(away.errors)")
        let closed = try await shop.run("store")
        #expect(
            closed.end == .exited(78) && closed.errors.contains("was moved to \(folder), and is closed for good"),
            "\(closed.errors)")
        let checked = try await shop.run("check")
        #expect(checked.end == .exited(78) && checked.errors == closed.errors, "\(checked.output)\(checked.errors)")

        let back = try await shop.run("journal", "import", "--move", folder, in: shop.scratch.folder("other"))
        #expect(back.end == .exited(0), "\(back.errors)")
        #expect(back.output.contains("The journal that was there is in "))
        #expect(try await shop.timeline() == before)
        let store = try Child(Executable.path("tickets"), ["store", "--data", folder], in: shop.scratch)
        #expect(try await store.wait() == .exited(78))
        try await shop.sell()
        #expect(try await shop.run("replay").output.contains(#""sold":2"#))
    }

    @Test func `A journal that was moved is not salvaged, for its timeline goes on elsewhere`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let folder = shop.scratch.folder("folder")
        let away = try Child(
            Executable.path("tickets"), ["journal", "import", "--move", shop.journal, "--data", folder], in: shop.scratch)
        #expect(try await away.wait() == .exited(0), "\(away.errors)")
        // Behind the snapshot of the stop: a salvage of what follows keeps the timeline.
        try shop.server.run("UPDATE \(shop.place.table("batches")) SET data = 'x' WHERE first = 1")
        for words in [[], ["--accept-loss"]] {
            let salvage = try shop.start(["journal", "salvage"] + words)
            #expect(try await salvage.wait() == .exited(78), "\(salvage.output)\(salvage.errors)")
            #expect(salvage.errors.contains("was moved to \(folder), and is closed for good"), "\(salvage.errors)")
        }
    }

    @Test func `A standby that stood still while the journal was moved does not serve it`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        let store = try shop.start(["store"])
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("] serving") }
        let standby = try shop.start(["store", "--standby"], in: shop.scratch.folder("standby"))
        try await eventually("the standby follows: \(standby.errors)") { standby.errors.contains("this one follows it") }
        standby.send(SIGSTOP)
        defer { standby.send(SIGCONT) }
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        let folder = shop.scratch.folder("folder")
        let away = try Child(
            Executable.path("tickets"), ["journal", "import", "--move", shop.journal, "--data", folder], in: shop.scratch)
        #expect(try await away.wait() == .exited(0), "\(away.errors)")
        standby.send(SIGCONT)
        #expect(try await standby.wait() == .exited(78), "\(standby.errors)")
        #expect(standby.errors.contains("was moved to \(folder), and is closed for good"), "\(standby.errors)")
        #expect(!standby.errors.contains("] serving"), "\(standby.errors)")
    }

    @Test func `A journal that was moved is not moved over what has followed since`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let copy = shop.scratch.folder("copy")
        _ = try await shop.run("journal", "export", copy)
        try await shop.sell()
        let before = try await shop.run("replay").output
        // Another copy of the same journal, of which it cannot know that the original goes on.
        let again = try await shop.run("journal", "import", "--move", copy)
        #expect(again.end == .exited(78), "\(again.errors)")
        #expect(again.errors.contains("\(shop.place) has this journal already, up to turn "), "\(again.errors)")
        #expect(try await shop.run("replay").output == before)
    }

    @Test func `A data folder whose journal was moved is that of its store, with the address`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.serveAlone()
        #expect(try await shop.run("store").errors.contains("has a journal of its own: move it with `journal import --move`"))
        let away = try await shop.run("journal", "import", "--move", shop.data)
        #expect(away.end == .exited(0), "\(away.errors)")
        try await shop.sell()
        let back = try Child(
            Executable.path("tickets"), ["journal", "import", "--move", shop.journal, "--data", shop.data], in: shop.scratch)
        #expect(try await back.wait() == .exited(0), "\(back.errors)")
        let replay = try Child(Executable.path("tickets"), ["replay", "--data", shop.data], in: shop.scratch)
        #expect(try await replay.wait() == .exited(0), "\(replay.errors)")
        #expect(replay.output.contains(#""sold":1"#), "\(replay.output)")
    }

    @Test func `A move that was cut short before its source was left is ended by the same command`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.serveAlone()
        #expect(try await shop.run("journal", "import", "--move", shop.data).end == .exited(0))
        let timeline = try await shop.timeline()
        // As it is if the process ends between the installation and the archiving of what is left.
        let archives = "\(shop.data)/archive"
        let archive = try #require(FileManager.default.contentsOfDirectory(atPath: archives).first)
        for name in try FileManager.default.contentsOfDirectory(atPath: "\(archives)/\(archive)") {
            try FileManager.default.moveItem(atPath: "\(archives)/\(archive)/\(name)", toPath: "\(shop.data)/\(name)")
        }
        try FileManager.default.removeItem(atPath: "\(shop.data)/journal.place")
        #expect(try await shop.run("store").errors.contains("has a journal of its own: move it with `journal import --move`"))

        let ended = try await shop.run("journal", "import", "--move", shop.data)
        #expect(ended.end == .exited(0), "\(ended.errors)")
        #expect(ended.output.hasPrefix("The journal was moved before: \(shop.place) has it up to turn "), "\(ended.output)")
        #expect(try await shop.timeline() == timeline)
        try await shop.sell()
    }

    @Test func `A move that its target does not take has not closed the source`() async throws {
        let shop = try await Shop()
        try await shop.serveAlone()
        let (schema, guest) = (shop.place.schema, "guest_\(shop.place.schema)")
        try shop.server.run("CREATE ROLE \(guest) LOGIN")
        let asGuest = ["--data", shop.data, "--journal", shop.journal.replacing("//samovar@", with: "//\(guest)@")]
        let move = ["journal", "import", "--move", shop.data]
        let denied = try Child(Executable.path("tickets"), move + asGuest, in: shop.scratch)
        #expect(try await denied.wait() == .exited(78), "\(denied.errors)")
        #expect(denied.errors.contains("that takes a role that may make schemas"), "\(denied.errors)")
        try await shop.serveAlone()

        try shop.server.run("CREATE SCHEMA \"\(schema)\"")
        let barred = try await shop.run("journal", "import", "--move", shop.data)
        #expect(barred.end == .exited(78), "\(barred.errors)")
        #expect(barred.errors.contains("There is a schema without a journal at \(shop.place)"), "\(barred.errors)")
        try await shop.serveAlone()

        #expect(try await shop.run("journal", "init", "--role", guest).end == .exited(0))
        let owner = try shop.start(["up", "--workers", "0"], in: shop.scratch.folder("owner"))
        try await eventually("another store serves: \(owner.errors)") { owner.errors.contains("serving") }
        let busy = try await shop.run("journal", "import", "--move", shop.data)
        #expect(busy.end == .exited(75), "\(busy.errors)")
        owner.send(SIGINT)
        #expect(try await owner.wait() == .exited(0), "\(owner.errors)")
        try await shop.serveAlone()

        // It may make schemas by now, and does not own this one.
        try shop.server.run("GRANT CREATE ON DATABASE postgres TO \(guest)")
        let foreign = try Child(Executable.path("tickets"), move + asGuest, in: shop.scratch)
        #expect(try await foreign.wait() == .exited(78), "\(foreign.errors)")
        #expect(foreign.errors.contains("that takes the role that made it"), "\(foreign.errors)")
        try await shop.serveAlone()

        let moved = try await shop.run("journal", "import", "--move", shop.data)
        #expect(moved.end == .exited(0), "\(moved.errors)")
        try await shop.sell()
    }

    @Test func `A move that was cut short is begun again by whoever comes to the same place in another way`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let timeline = try await shop.timeline()
        // As it is if the process ends when the source is closed, and the copy is no journal yet.
        let target = try shop.server.place()
        let moved = "postgresql://clerk@/postgres?host=\(shop.server.folder)&connect_timeout=3, schema \(target.schema)"
        try shop.server.run(
            "INSERT INTO \(shop.place.table("facts")) VALUES (0, 'moved', convert_to('\(moved)', 'UTF8'))")
        let aim = ["--data", shop.scratch.folder("new"), "--journal", "\(target.address)&schema=\(target.schema)"]
        let again = try Child(Executable.path("tickets"), ["journal", "import", "--move", shop.journal] + aim, in: shop.scratch)
        #expect(try await again.wait() == .exited(0), "\(again.errors)")
        let verify = try Child(Executable.path("tickets"), ["journal", "verify"] + aim, in: shop.scratch)
        #expect(try await verify.wait() == .exited(0), "\(verify.errors)")
        #expect(verify.output.split(separator: "\n").first { $0.hasPrefix("timeline") } == timeline)
    }

    @Test func `A backup goes on as a new timeline, and turns are given up in the same way`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let before = try await shop.timeline()
        let copy = shop.scratch.folder("copy")
        _ = try await shop.run("journal", "export", copy)
        let restored = try await shop.run("journal", "import", copy)
        #expect(restored.end == .exited(0), "\(restored.errors)")
        let after = try await shop.timeline()
        #expect(after != nil && after != before)
        let salvage = try await shop.run("journal", "salvage", "--upto", "2", "--accept-loss")
        #expect(salvage.end == .exited(0), "\(salvage.errors)")
        #expect(try await shop.run("journal", "list").output.split(separator: "\n").last?.hasPrefix("2  ") == true)
        try await shop.sell()
    }

    @Test func `A batch that was changed is found, and what is before it can be kept`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        let batches = shop.place.table("batches")
        try shop.server.run(
            """
            DELETE FROM \(shop.place.table("snapshots"));
            UPDATE \(batches) SET data = 'x' WHERE first = (SELECT max(first) FROM \(batches))
            """)
        let verify = try await shop.run("journal", "verify")
        #expect(verify.end == .exited(65) && verify.output.contains(": digest differs"), "\(verify.output)")
        let store = try await shop.run("store")
        #expect(store.end == .exited(65), "\(store.errors)")
        #expect(try await shop.run("journal", "salvage", "--accept-loss").end == .exited(0))
        try await shop.sell()
    }

    @Test func `Of a trimmed journal no more is kept than was asked for`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        try await shop.sell()
        try await shop.sell()
        let journal = try PostgreSQLJournal(at: shop.place, access: .readWrite)
        // As of the first stop: the journal then begins behind a snapshot.
        let begin = try #require(try journal.snapshots().last)
        while try journal.trim(through: begin) {}
        #expect(journal.first == begin + 1 && begin < journal.last)
        try journal.close()
        let early = try await shop.run("journal", "salvage", "--upto", "\(begin - 1)", "--accept-loss")
        #expect(early.end == .exited(65), "\(early.output)")
        #expect(early.errors.contains("can be kept up to turn \(begin - 1); put a backup back"), "\(early.errors)")
        let salvage = try await shop.run("journal", "salvage", "--upto", "\(begin)", "--accept-loss")
        #expect(salvage.end == .exited(0), "\(salvage.errors)")
        #expect(salvage.output.contains("Kept: the turns up to \(begin), as a new timeline."), "\(salvage.output)")
    }

    @Test func `A load test has a journal of its own, and is judged by it`() async throws {
        let shop = try await Shop()
        _ = try await shop.run("journal", "init")
        let load = try Child(
            Executable.path("tickets"),
            ["load", "--journal", shop.journal, "--rate", "200", "--duration", "2s"], in: shop.scratch)
        #expect(try await load.wait(within: .seconds(60)) == .exited(0), "\(load.output)\(load.errors)")
        #expect(load.output.contains("journal"), "\(load.output)")
    }

    @Test func `A standby needs a journal that stores share`() async throws {
        let scratch = try Scratch()
        let arguments = [["store", "--standby"], ["store", "--hand-over"], ["up", "--stores", "2"]]
        for words in arguments {
            let child = try Child(Executable.path("tickets"), words + ["--data", scratch.folder("data")], in: scratch)
            #expect(try await child.wait() == .exited(64))
            #expect(child.errors.contains("needs a journal that several stores reach: name one with --journal"), "\(child.errors)")
        }
    }
}
