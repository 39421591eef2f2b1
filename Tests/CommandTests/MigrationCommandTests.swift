import Foundation
import ProcessSupport
import Testing

/// A journal that outlives the version of the program that began it, with real processes.
@Suite struct MigrationCommandTests {
    private func start(_ version: Int, _ arguments: [String], in scratch: Scratch) throws -> Child {
        try Child(
            Executable.path("VersionedProgram"), arguments + ["--data", scratch.folder("data")], in: scratch,
            variables: ["VERSIONED_PROGRAM": "\(version)"])
    }

    private func run(_ version: Int, _ arguments: String..., in scratch: Scratch) async throws -> Child {
        let child = try start(version, arguments, in: scratch)
        try await child.wait()
        return child
    }

    /// Runs a store for a while.
    private func serve(_ version: Int, in scratch: Scratch, _ body: () async throws -> Void) async throws {
        let up = try start(version, ["up", "--workers", "0"], in: scratch)
        try await eventually("the store serves") { up.errors.contains("serving") }
        try await body()
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0))
    }

    private func send(_ version: Int, _ count: Int, in scratch: Scratch) async throws -> Child {
        try await run(version, "send", #"{"add":{"count":\#(count)}}"#, in: scratch)
    }

    @Test func `A newer version reads the journal of an older one, which cannot read it from then on`() async throws {
        let scratch = try Scratch()
        try await serve(1, in: scratch) {
            let sent = try await send(1, 3, in: scratch)
            #expect(sent.end == .exited(0))
        }
        #expect(try await run(2, "replay", "--state", in: scratch).output.contains(#""total":6"#))
        try await serve(2, in: scratch) {
            #expect(try await run(2, "view", in: scratch).output.contains(#""total":6"#))
            #expect(try await send(2, 1, in: scratch).end == .exited(0))
            let old = try await send(1, 1, in: scratch)
            #expect(old.end == .exited(78))
        }
        try await serve(2, in: scratch) {
            let view = try await run(2, "view", in: scratch)
            #expect(view.output.contains(#""total":7"#))
        }
        let old = try await run(1, "store", in: scratch)
        #expect(old.end == .exited(78))
        #expect(
            old.errors.hasSuffix(
                "holds the journal of Versioned version 2; this program is Versioned version 1, which is older: run the newer "
                    + "program, or begin anew with --fresh\n"))
    }

    @Test func `Verify passes over older turns that are taken otherwise now, as a start does, and says so`() async throws {
        let scratch = try Scratch()
        try await serve(1, in: scratch) {
            let sent = try await send(1, 3, in: scratch)
            #expect(sent.end == .exited(0))
        }
        // The snapshot of the last turn of version 1 is there, and no turn of it is computed again.
        for total in [9, 12] {
            try await serve(6, in: scratch) {
                let sent = try await send(6, 1, in: scratch)
                #expect(sent.end == .exited(0))
                let view = try await run(6, "view", in: scratch)
                #expect(view.output.contains("\"total\":\(total)"))
            }
            let verify = try await run(6, "verify", in: scratch)
            #expect(verify.end == .exited(0), "\(verify.errors)")
            #expect(verify.output.contains("for this build takes turns of older versions otherwise"), "\(verify.output)")
        }
        let equal = try await run(2, "verify", in: scratch)
        #expect(equal.end == .exited(78), "\(equal.errors)")
    }

    /// The past of a journal that version 1 began, and version 6 went on with.
    private func migrated(in scratch: Scratch) async throws {
        for _ in 0..<2 {
            try await serve(1, in: scratch) {
                for count in [3, 2] {
                    let sent = try await send(1, count, in: scratch)
                    #expect(sent.end == .exited(0))
                }
            }
        }
        try await serve(6, in: scratch) {
            let sent = try await send(6, 1, in: scratch)
            #expect(sent.end == .exited(0))
            let ordered = try await run(6, "send", #"{"order":{"text":"tea"}}"#, in: scratch)
            #expect(ordered.end == .exited(0))
        }
    }

    @Test func `The past is the same whichever way one comes to a turn, over turns of an older version, too`() async throws {
        let scratch = try Scratch()
        try await migrated(in: scratch)
        let why = try await run(6, "why", "state.total", "--all", "--format", "json", in: scratch)
        #expect(
            why.errors.components(separatedBy: "turns of an older version are shown as this one computes").count == 2,
            "\(why.errors)")
        let changes = try why.output.split(separator: "\n").map { line in
            let change = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            return (turn: try #require(change["turn"] as? Int), total: try #require(change["after"] as? Int))
        }
        // 0, two changes and the snapshot of each start of version 1, and one change of version 6.
        #expect(changes.map(\.total) == [0, 18, 30, 10, 28, 40, 20, 23], "\(changes)")
        let older = try await run(6, "replay", "--state", "--turn", "\(changes[1].turn)", in: scratch)
        #expect(older.errors.contains("turns of an older version are shown as this one computes"), "\(older.errors)")
        let fork = try await run(6, "fork", "--turn", "\(changes[1].turn)", scratch.folder("fork"), in: scratch)
        #expect(fork.errors.contains("turns of an older version are shown as this one computes"), "\(fork.errors)")
        let whatIf = try await run(6, "whatif", "--remove", "\(changes[1].turn)", in: scratch)
        #expect(
            whatIf.end == .exited(64) && whatIf.errors.contains("it was written by version 1 of the program"), "\(whatIf.errors)")
        let newest = try await run(6, "replay", "--state", in: scratch)
        #expect(newest.output == "{\"total\":23}\n")
        var (total, next, turn) = (0, changes[...], 1)
        while true {
            let state = try await run(6, "replay", "--state", "--turn", "\(turn)", in: scratch)
            guard state.end == .exited(0) else {
                #expect(state.errors.contains("ends at turn \(turn - 1)"), "\(state.errors)")
                break
            }
            if let change = next.first, change.turn == turn { (total, next) = (change.total, next.dropFirst()) }
            #expect(state.output == "{\"total\":\(total)}\n", "turn \(turn)")
            turn += 1
        }
        #expect(next.isEmpty)
        let found = try await run(6, "bisect", "state.total == 23", "--format", "json", in: scratch)
        #expect(found.output.hasPrefix("{\"turn\":\(changes[7].turn),"), "\(found.output)\(found.errors)")
        let traced = try await run(6, "trace", in: scratch)
        #expect(
            traced.end == .exited(0) && traced.errors.hasSuffix("1 effect is still open, and no span yet\n"), "\(traced.errors)")
        #expect(traced.errors.contains("turns of an older version are shown as this one computes"), "\(traced.errors)")
        let capsule = try await run(
            6, "capsule", "\(changes[1].turn)..\(changes[1].turn)", scratch.folder("T.swift"), "--fails", "state.total > 0",
            in: scratch)
        #expect(capsule.end == .exited(78), "\(capsule.errors)")
        #expect(
            capsule.errors.contains(
                "turn \(changes[1].turn) was written by version 1 of Versioned, and a capsule has turns of version 6 alone: name later ones"
            ),
            "\(capsule.errors)")
    }

    @Test func `A state that follows from older turns that are taken otherwise now is not known, and which one is`() async throws {
        let scratch = try Scratch()
        try await migrated(in: scratch)
        let folder = scratch.folder("data/snapshots")
        let snapshots = try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { Int($0) }.sorted()
        for snapshot in snapshots.dropLast() { try FileManager.default.removeItem(atPath: "\(folder)/\(snapshot)") }
        let last = try #require(snapshots.last)
        let why = try await run(6, "why", "state.total", "--all", in: scratch)
        #expect(why.end == .exited(78), "\(why.output)")
        #expect(
            why.errors.contains(
                "is not known any more: it follows from turns of an older version, which this one takes otherwise; ")
                && why.errors.contains("that of turn \(last) is the next one that is"), "\(why.errors)")
        let diff = try await run(6, "diff", "\(last)", in: scratch)
        #expect(diff.end == .exited(0), "\(diff.errors)")
    }

    @Test func `Another command of a newer version's own turn is found, whatever snapshots are left behind it`() async throws {
        let scratch = try Scratch()
        try await serve(1, in: scratch) {
            let sent = try await send(1, 3, in: scratch)
            #expect(sent.end == .exited(0))
        }
        try await serve(2, in: scratch) {
            let ordered = try await run(2, "send", #"{"order":{"text":"tea"}}"#, in: scratch)
            #expect(ordered.end == .exited(0))
        }
        // The oldest snapshot is behind that by then.
        for _ in 0..<4 { try await serve(2, in: scratch) { _ = try await send(2, 1, in: scratch) } }
        let same = try await run(2, "verify", in: scratch)
        #expect(same.end == .exited(0) && !same.output.contains("otherwise than they did"), "\(same.output)\(same.errors)")
        let changed = try Child(
            Executable.path("VersionedProgram"), ["verify", "--data", scratch.folder("data")], in: scratch,
            variables: ["VERSIONED_PROGRAM": "2", "VERSIONED_EFFECT": "1"])
        #expect(try await changed.wait() == .exited(65), "\(changed.output)")
    }

    @Test func `Verify by a newer version that has not started yet passes nothing over`() async throws {
        let scratch = try Scratch()
        for _ in 0..<2 {
            try await serve(1, in: scratch) {
                let sent = try await send(1, 3, in: scratch)
                #expect(sent.end == .exited(0))
            }
        }
        let verify = try await run(6, "verify", in: scratch)
        #expect(verify.end == .exited(65), "\(verify.output)")
        #expect(
            verify.errors.contains(
                "its snapshot is not what a replay gives: this build takes turns of older versions otherwise, and"),
            "\(verify.errors)")
    }

    @Test func `A newer version that cannot listen leaves the journal to the older one`() async throws {
        let scratch = try Scratch()
        try await serve(1, in: scratch) {}
        let port = ["--endpoint", "tcp://127.0.0.1:\(try Ports.free())", "--insecure-tcp"]
        let owner = try await CounterStore(workers: 0, in: scratch, data: scratch.folder("other"), arguments: port)
        let newer = try start(2, ["store"] + port, in: scratch)
        #expect(try await newer.wait() == .exited(75), "\(newer.errors)")
        #expect(newer.errors.contains("cannot listen at tcp://127.0.0.1:"), "\(newer.errors)")
        try await serve(1, in: scratch) {
            let sent = try await send(1, 3, in: scratch)
            #expect(sent.end == .exited(0))
        }
        try await owner.stop()
    }

    @Test func `A version that no migration leads from is refused`() async throws {
        let scratch = try Scratch()
        try await serve(1, in: scratch) {}
        let newer = try await run(3, "store", in: scratch)
        #expect(newer.end == .exited(78))
        #expect(
            newer.errors.hasSuffix(
                "holds the journal of Versioned version 1; this program is Versioned version 3, and has no migration from "
                    + "version 1: add one to `migrations`, or begin anew with --fresh\n"))
    }

    @Test func `A schema file is written and checked`() async throws {
        let scratch = try Scratch()
        let file = scratch.folder("schema.json")
        let schema = { (arguments: String...) in
            let child = try Child(Executable.counter, ["schema"] + arguments, in: scratch)
            try await child.wait()
            return child
        }
        #expect(try await schema("--write", file).end == .exited(0))
        #expect(try await schema("--check", file).end == .exited(0))

        let golden = try String(contentsOfFile: file, encoding: .utf8)
        let older = golden.replacing(#""increment" : {"#, with: #""jump" : {}, "increment" : {"#)
        #expect(older != golden)
        try scratch.write(older, to: "schema.json")
        let broken = try await schema("--check", file)
        #expect(broken.end == .exited(65))
        #expect(
            broken.output
                == "Input.jump is gone: old records with it cannot be read; keep it, or give it a migration and the schema a new version\n"
        )

        try scratch.write("{}", to: "schema.json")
        #expect(try await schema("--check", file).errors == "error: \(file) is no schema file: write one with --write\n")
    }
}
