import CrashPoints
import Foundation
import ProcessSupport
import Testing

/// `check`: whether a build can take over a folder, asked before it does, with real processes.
@Suite struct CheckCommandTests {
    private let scratch: Scratch
    private let data: String

    init() throws {
        scratch = try Scratch()
        data = scratch.folder("data")
        try FileManager.default.createDirectory(atPath: scratch.folder("tmp"), withIntermediateDirectories: false)
    }

    private func start(_ version: Int, _ arguments: [String], _ variables: [String: String] = [:]) throws -> Child {
        let environment = ["VERSIONED_PROGRAM": "\(version)", "TMPDIR": scratch.folder("tmp")]
        return try Child(
            Executable.path("VersionedProgram"), arguments + ["--data", data], in: scratch,
            variables: environment.merging(variables) { $1 })
    }

    private func run(_ version: Int, _ arguments: String..., variables: [String: String] = [:]) async throws -> Child {
        let child = try start(version, arguments, variables)
        try await child.wait()
        return child
    }

    /// Runs a store while something is done, with these inputs.
    private func serve(
        _ inputs: [String] = [], variables: [String: String] = [:], _ body: () async throws -> Void = {}
    ) async throws {
        let up = try start(1, ["up", "--workers", "0"], variables)
        try await eventually("the store serves") { up.errors.contains("serving") }
        for input in inputs { #expect(try await run(1, "send", input).end == .exited(0)) }
        try await body()
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0))
    }

    private static let inputs = [#"{"add":{"count":3}}"#, #"{"order":{"text":"tea"}}"#]

    /// What the store would say that is refused; the paths and numbers before it are left out.
    private static let unmigrated =
        "cannot be migrated: the state of version 1 cannot be read, migrated or not: "

    @Test func `A state without a migration is found beside the running store, and the copy is gone`() async throws {
        try await serve(Self.inputs) {
            let check = try await run(4, "check")
            #expect(check.end == .exited(78), "\(check.output)\(check.errors)")
            #expect(check.errors.contains(" in \(data) " + Self.unmigrated), "\(check.errors)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).isEmpty)
        }
        let refusal = try await run(4, "check", "--format", "json")
        #expect(refusal.end == .exited(78) && refusal.output.split(separator: "\n").count == 1)
        #expect(refusal.output.hasPrefix(#"{"ok":false,"exit":78,"problems":["the snapshot of turn "#), "\(refusal.output)")
        let store = try await run(4, "store")
        #expect(store.end == .exited(78))
        #expect(store.errors.contains(Self.unmigrated), "\(store.errors)")
        let check = try await run(4, "check")
        #expect(check.end == .exited(78))
        #expect(check.errors == store.errors)
    }

    @Test func `A running store that cannot make a copy is to be asked again later`() async throws {
        try scratch.write("", to: "file")
        try await serve {
            let check = try await run(1, "check", variables: ["TMPDIR": scratch.folder("file")])
            #expect(check.end == .exited(75), "\(check.output)\(check.errors)")
            #expect(check.errors.contains("the backup failed: "), "\(check.errors)")
        }
    }

    /// The store dies, so that the check waits for it when the signal comes.
    @Test(arguments: [(CrashPoint.copyBeforeName, SIGINT), (.copyAfterName, SIGTERM)] as [(CrashPoint, Int32)])
    func `A check that a signal ends leaves nothing of the copy, whole or begun`(_ point: CrashPoint, _ signal: Int32) async throws
    {
        let store = try start(1, ["store"], ["SAMOVAR_CRASH_AT": point.rawValue])
        try await eventually("the store serves") { store.errors.contains("serving") }
        let check = try start(1, ["check"])
        #expect(try await store.wait() == .killed(SIGKILL))
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).count == 1)
        check.send(signal)
        #expect(try await check.wait() == .exited(128 + signal), "\(check.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).isEmpty)
    }

    /// A store that stops while it makes the snapshot for the copy of a check, of which nothing is there yet.
    private func stoppedBeforeCopy() async throws -> (store: Child, check: Child) {
        let store = try start(
            1, ["store"], ["SAMOVAR_CRASH_AT": CrashPoint.storeDuringRecovery.rawValue, "SAMOVAR_CRASH_BY": "stop"])
        try await eventually("the store serves") { store.errors.contains("serving") }
        #expect(try await run(1, "send", Self.inputs[0]).end == .exited(0))
        let process = try #require(ProcessTable.all(naming: data).first { $0.command == "store" })
        let check = try start(1, ["check"])
        try await eventually("the store is stopped: \(check.errors)") { process.isStopped }
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).isEmpty)
        return (store, check)
    }

    @Test(.enabled("there is no /proc") { ProcessTable.isAvailable })
    func `A check that a signal ends before its copy is begun waits for it and deletes it`() async throws {
        let (store, check) = try await stoppedBeforeCopy()
        check.send(SIGINT)
        try await eventually("it waits") {
            check.errors == "the copy that the store makes is deleted first: a second signal ends this now, and may leave it\n"
        }
        store.send(SIGCONT)
        #expect(try await check.wait() == .exited(128 + SIGINT), "\(check.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).isEmpty)
    }

    @Test(.enabled("there is no /proc") { ProcessTable.isAvailable }, arguments: [(SIGINT, 130), (nil, 69)] as [(Int32?, Int32)])
    func `A check that ends while its store stands still says where that may still make a copy`(
        _ signal: Int32?, _ code: Int32
    ) async throws {
        let (store, check) = try await stoppedBeforeCopy()
        if let signal { check.send(signal) }
        #expect(try await check.wait() == .exited(code), "\(check.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).isEmpty)

        store.send(SIGCONT)
        let copy = try await eventually("the store makes it") {
            try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tmp")).first { !$0.hasSuffix(".building") }
        }
        #expect(check.errors.contains("/tmp/\(copy): delete it\n"), "\(check.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }

    @Test func `What passes while the old store runs starts after it`() async throws {
        try await serve(Self.inputs) {
            let check = try await run(5, "check")
            #expect(check.end == .exited(0), "\(check.errors)")
            #expect(check.output.hasPrefix("ok: this build goes on with \(data)\n  journal "), "\(check.output)")
            #expect(check.output.contains("\n  program    Versioned version 1, read as Versioned version 5\n"))
            #expect(check.output.contains("\n  replayed   0 turns\n  effects    1 open, 0 dead\n"), "\(check.output)")
            #expect(check.output.hasSuffix("\n  sessions   0\n"), "\(check.output)")
            #expect(check.errors.hasPrefix("note: this holds for a store that is stopped in order; "), "\(check.errors)")
        }
        #expect(try await run(5, "check").end == .exited(0))
        let up = try start(5, ["up", "--workers", "0"])
        try await eventually("the newer store serves") { up.errors.contains("serving") }
        #expect(try await run(5, "view").output.contains(#""sum":3"#))
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0))
    }

    @Test func `An effect that waits and cannot be read by the build is named, though a store would start`() async throws {
        let other = ["VERSIONED_EFFECT": "words"]
        try await serve(Self.inputs) {
            let check = try await run(1, "check", variables: other)
            #expect(check.end == .exited(65))
            #expect(check.output.hasPrefix("this build starts, but cannot read all of \(data)\n"))
            #expect(check.errors.contains(" cannot be read by this build: "), "\(check.errors)")
            #expect(check.errors.hasPrefix("error: effect "), "\(check.errors)")
        }
        #expect(try await run(1, "check", "--format", "json").output.contains(#""ok":true"#))
        let check = try await run(1, "check", "--format", "json", variables: other)
        #expect(check.end == .exited(65))
        #expect(check.output.contains(#""openEffects":1,"#) && check.output.contains(#""problems":["effect "#), "\(check.output)")
    }

    @Test func `A source that the build does not want any more need not be one that it can read`() async throws {
        let other = ["VERSIONED_EFFECT": "words"]
        try await serve(variables: ["VERSIONED_SOURCE": "feed"]) {
            let check = try await run(1, "check", variables: other)
            #expect(check.end == .exited(0), "\(check.output)\(check.errors)")
            #expect(check.output.contains("\n  effects    1 open, 0 dead\n"), "\(check.output)")
        }
        let check = try await run(1, "check", variables: other)
        #expect(check.end == .exited(0), "\(check.output)\(check.errors)")
    }

    @Test func `After a crash the turns without a snapshot are replayed, and what could not be compared is said`() async throws {
        let store = try start(1, ["store"])
        try await eventually("the store serves") { store.errors.contains("serving") }
        for input in Self.inputs { #expect(try await run(1, "send", input).end == .exited(0)) }
        store.send(SIGKILL)
        try await store.wait()
        let same = try await run(1, "check")
        #expect(same.end == .exited(0), "\(same.errors)")
        #expect(same.output.contains("\n  snapshot   none: every turn is replayed\n"))
        #expect(same.output.contains(" turns: every command is the recorded one\n"), "\(same.output)")
        let newer = try await run(5, "check")
        #expect(newer.end == .exited(0), "\(newer.errors)")
        #expect(newer.output.contains(" turns: no command was compared: all 2 are of older versions\n"), "\(newer.output)")

        // `verify` says so, too.
        let verify = try await run(5, "verify")
        #expect(verify.end == .exited(0), "\(verify.errors)")
        #expect(verify.output.contains(", no command was compared: all 2 are of older versions, "), "\(verify.output)")
    }

    @Test func `verify and schema --check find a state without a migration`() async throws {
        let file = scratch.folder("schema.json")
        #expect(
            try await Child(Executable.path("VersionedProgram"), ["schema", "--write", file], in: scratch).wait() == .exited(0))
        try await serve(Self.inputs)
        let verify = try await run(4, "verify")
        #expect(verify.end == .exited(65), "\(verify.output)")
        #expect(verify.errors.contains(": a start refuses to go on from its snapshot: the state of version 1"), "\(verify.errors)")

        for (version, end) in [(4, 65), (5, 0)] as [(Int, Int32)] {
            let schema = try Child(
                Executable.path("VersionedProgram"), ["schema", "--check", file], in: scratch,
                variables: ["VERSIONED_PROGRAM": "\(version)"])
            #expect(try await schema.wait() == .exited(end), "\(schema.output)")
            #expect(schema.output.contains("give a migration from version 1 or a later one a `state:`") == (end != 0))
        }
    }

    @Test func `A folder without a journal is none that can be taken over`() async throws {
        let check = try await run(1, "check")
        #expect(check.end == .exited(78))
        #expect(check.errors == "error: There is no data folder \(data).\n")
    }

    @Test func `A folder whose store has keys is checked with the flags of its up`() async throws {
        let keys = scratch.folder("keys")
        let made = try Child(
            Executable.counter,
            ["keys", "new", "ops", "--role", "operator", "--keys", keys, "--out", scratch.folder("ops.key")], in: scratch)
        #expect(try await made.wait() == .exited(0), "\(made.errors)")
        try await serve()
        let check = try await run(1, "check", "--endpoint", "tcp://*:7410", "--keys", keys)
        #expect(check.end == .exited(0), "\(check.errors)")
    }
}
