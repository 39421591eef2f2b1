import Foundation
import ProcessSupport
import Testing

/// `verify`, and stores that meet a journal which tells another story than their program.
@Suite struct VerifyTests {
    private static let fickle = Executable.path("FickleProgram")
    private static let names = #"{"add":{"names":["Ada","Alan","Barbara","Donald","Edsger","Frances","Grace","John"]}}"#

    /// A data folder of `Tests/Fixtures`, unpacked.
    private static func fixture(_ name: String, in scratch: Scratch) async throws -> String {
        let data = scratch.folder("data")
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: false)
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Fixtures/\(name).tar.gz").path
        #expect(try await Child("tar", ["-C", data, "-xzf", file], in: scratch).wait() == .exited(0))
        return data
    }

    /// Runs a command to its end.
    private static func run(
        _ executable: String, _ arguments: [String], _ data: String, in scratch: Scratch, order: String? = nil
    ) async throws -> Child {
        let child = try start(executable, arguments, data, in: scratch, order: order)
        try await child.wait()
        return child
    }

    private static func start(
        _ executable: String, _ arguments: [String], _ data: String, in scratch: Scratch, order: String? = nil
    ) throws -> Child {
        try Child(
            executable, arguments + ["--data", data], in: scratch, variables: order.map { ["FICKLE_ORDER": $0] } ?? [:])
    }

    /// A folder in which a store took these inputs, and was killed, so that no snapshot spares a start the replay.
    private static func folder(_ inputs: [String], order: String?, in scratch: Scratch) async throws -> String {
        let data = scratch.folder("data")
        let store = try start(fickle, ["store"], data, in: scratch, order: order)
        try await eventually("the store serves") { store.errors.contains("serving") }
        let sent = try Child(
            fickle, ["send", "-", "--data", data], in: scratch, input: ([names] + inputs).joined(separator: "\n"))
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
        store.send(SIGKILL)
        try await store.wait()
        return data
    }

    @Test func `A program that prints is verified as any other`() async throws {
        let scratch = try Scratch()
        let data = try await Self.folder([#"{"look":{}}"#], order: "forward", in: scratch)
        let verify = try Child(
            Self.fickle, ["verify", "--data", data], in: scratch, variables: ["FICKLE_ORDER": "forward", "FICKLE_TALKS": "1"])
        #expect(try await verify.wait() == .exited(0), "\(verify.errors)")
        #expect(verify.output.hasPrefix("ok: ") && verify.errors.contains("turn 2\n"), "\(verify.output)\(verify.errors)")
    }

    // MARK: Fixtures

    /// Of a build without policies, of one with them, and of one that keeps snapshots in files: no later one reads older ones.
    @Test(arguments: [
        ("counter-1", "ok: 48 turns of timeline 0dc8c9df-26b1-2b85-babb-39888fb81721, ", "48 states and 0 snapshots agree\n", 2),
        ("counter-2", "ok: 50 turns of timeline e1b7d81c-08aa-6930-29a4-d7998d254311, ", "50 states and 0 snapshots agree\n", 4),
        ("counter-3", "ok: 48 turns of timeline d717c375-9cd0-59f8-a38d-a321d32da226, ", "48 states and 0 snapshots agree\n", 2),
    ])
    func `The journal of an earlier build passes`(_ name: String, _ begin: String, _ end: String, _ count: Int) async throws {
        let scratch = try Scratch()
        let data = try await Self.fixture(name, in: scratch)
        let verify = try await Self.run(Executable.counter, ["verify"], data, in: scratch)
        #expect(verify.end == .exited(0), "\(verify.errors)")
        #expect(verify.output.hasPrefix(begin) && verify.output.hasSuffix(end), "\(verify.output)")
        let replay = try await Self.run(Executable.counter, ["replay", "--state"], data, in: scratch)
        #expect(replay.output == "{\"sync\":20,\"async\":\(count),\"isBusy\":true}\n")
        // And a store goes on with it: there is nothing to do, because the last job was dropped.
        let up = try await Self.run(Executable.counter, ["up", "--until-idle"], data, in: scratch)
        #expect(up.end == .exited(0), "\(up.errors)")
        let after = try await Self.run(Executable.counter, ["replay", "--state"], data, in: scratch)
        #expect(after.output == replay.output)
    }

    @Test func `A journal of an update that follows the order of a set fails and names the first turn`() async throws {
        let scratch = try Scratch()
        let data = try await Self.fixture("fickle-1", in: scratch)
        let verify = try await Self.run(Self.fickle, ["verify"], data, in: scratch)
        #expect(verify.end == .exited(65))
        let sentence = "error: turn 4: `update` orders something else in each process: it is not deterministic\n"
        #expect(verify.errors.hasPrefix(sentence), "\(verify.errors)")
        #expect(verify.errors.contains("  message    {\"visit\":{}}\n"))
        #expect(verify.errors.contains("hash 6e2e7ce651957095, build FickleProgram 2026-11-21T07:12:55Z"))
        #expect(verify.errors.contains("  process 1  hash ") && verify.errors.contains("  process 2  hash "))
        #expect(verify.errors.contains("run {\"visit\":{\"name\":\"Ada\"}} in queue default, 1 attempt"))
    }

    @Test func `An update that follows no set is told from one that does`() async throws {
        let scratch = try Scratch()
        let data = try await Self.fixture("fickle-1", in: scratch)
        let verify = try await Self.run(Self.fickle, ["verify", "--format", "json"], data, in: scratch, order: "forward")
        #expect(verify.end == .exited(65))
        #expect(verify.errors.contains("it has changed, or depends on more than its arguments"), "\(verify.errors)")
        #expect(try verify.json["ok"] as? Bool == false)
        let finding = try #require(try verify.json["finding"] as? [String: Any])
        #expect(finding["turn"] as? Int == 4 && finding["kind"] as? String == "command")
        #expect(finding["deterministic"] as? Bool == true)
    }

    // MARK: States

    @Test func `States that differ although no command does are found at their turn`() async throws {
        let scratch = try Scratch()
        // Enough turns around it that the digests of the first passes are some turns apart.
        let inputs = Array(repeating: Self.names, count: 200)
        let data = try await Self.folder(inputs + [#"{"look":{}}"#] + inputs, order: nil, in: scratch)
        let verify = try await Self.run(Self.fickle, ["verify"], data, in: scratch)
        #expect(verify.end == .exited(65))
        let lines = verify.errors.split(separator: "\n").map(String.init)
        #expect(lines.first?.hasSuffix("`update` makes another state in each process: it is not deterministic") == true, "\(lines)")
        #expect(lines.contains("  message    {\"look\":{}}"), "\(lines)")
        #expect(lines.contains { $0.hasPrefix("  differs    state.seen[") }, "\(lines)")
    }

    @Test func `A snapshot that is not what a replay gives is found`() async throws {
        let scratch = try Scratch()
        let data = try await Self.folder([#"{"look":{}}"#], order: "forward", in: scratch)
        // A stop in order takes a snapshot.
        let store = try Self.start(Self.fickle, ["store"], data, in: scratch, order: "forward")
        try await eventually("the store serves") { store.errors.contains("serving") }
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0))
        #expect(try await Self.run(Self.fickle, ["verify"], data, in: scratch, order: "forward").end == .exited(0))
        let verify = try await Self.run(Self.fickle, ["verify"], data, in: scratch, order: "backward")
        #expect(verify.end == .exited(65))
        #expect(verify.errors.contains("its snapshot is not what a replay gives"), "\(verify.errors)")
        #expect(verify.errors.contains("  differs    state\n"))
    }

    @Test func `A build that wants other subscriptions verifies what a former one wrote`() async throws {
        let scratch = try Scratch()
        let data = try await Self.folder([#"{"look":{}}"#], order: "forward", in: scratch)
        // The time of the file is the name of the build.
        let next = scratch.folder("next")
        #expect(try await Child("cp", [Self.fickle, next], in: scratch).wait() == .exited(0))
        let variables = ["FICKLE_ORDER": "forward", "FICKLE_WATCHES": "1"]
        // Each stops in order, and so leaves a snapshot.
        for (executable, variables) in [(Self.fickle, ["FICKLE_ORDER": "forward"]), (next, variables)] {
            let store = try Child(executable, ["store", "--data", data], in: scratch, variables: variables)
            try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0))
        }
        let verify = try Child(next, ["verify", "--data", data], in: scratch, variables: variables)
        #expect(try await verify.wait() == .exited(0), "\(verify.errors)")
        #expect(
            verify.output.contains(", the subscriptions of 2 snapshots are those of another build and were not compared"),
            "\(verify.output)")
        let json = try Child(next, ["verify", "--data", data, "--format", "json"], in: scratch, variables: variables)
        #expect(try await json.wait() == .exited(0))
        #expect(try (json.json["otherSubscriptions"] as? [Int])?.count == 2)
        // Of what one build has written, all is compared.
        let alone = scratch.folder("alone")
        let single = try Child(next, ["store", "--data", alone], in: scratch, variables: variables)
        try await eventually("the store serves: \(single.errors)") { single.errors.contains("serving") }
        single.send(SIGTERM)
        #expect(try await single.wait() == .exited(0))
        let fickle = try Child(next, ["verify", "--data", alone], in: scratch, variables: ["FICKLE_ORDER": "forward"])
        #expect(try await fickle.wait() == .exited(65))
        #expect(fickle.errors.contains("  differs    subscriptions\n"), "\(fickle.errors)")
    }

    @Test func `It verifies beside a store that is reached at another endpoint`() async throws {
        let scratch = try Scratch()
        let data = scratch.folder("data")
        let endpoint = "ipc://" + scratch.folder("here")
        let store = try Self.start(Executable.counter, ["store", "--endpoint", endpoint], data, in: scratch)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        let verify = try await Self.run(Executable.counter, ["verify", "--endpoint", endpoint], data, in: scratch)
        #expect(verify.end == .exited(0) && verify.output.hasPrefix("ok: "), "\(verify.errors)")
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0))
    }

    // MARK: Acceptance

    @Test func `A store refuses another command and goes on once that is accepted`() async throws {
        let scratch = try Scratch()
        let inputs = [#"{"visit":{}}"#, #"{"greet":{}}"#, #"{"look":{}}"#]
        let data = try await Self.folder(inputs, order: "forward", in: scratch)

        let refused = try await Self.run(Self.fickle, ["store"], data, in: scratch, order: "backward")
        #expect(refused.end == .exited(65))
        let sentence = "error: turn 3: `update` orders another command than it did: it has changed or is not deterministic\n"
        #expect(refused.errors.hasPrefix(sentence), "\(refused.errors)")
        #expect(refused.errors.contains("start once with --accept-divergence 3"), "\(refused.errors)")
        #expect(refused.errors.contains("run {\"visit\":{\"name\":\"John\"}} in queue default"))

        // One acceptance covers one turn.
        let again = try await Self.run(
            Self.fickle, ["store", "--accept-divergence", "3"], data, in: scratch, order: "backward")
        #expect(again.end == .exited(65))
        #expect(again.errors.contains("error: turn 4: "), "\(again.errors)")
        #expect(again.errors.contains("then {\"visited\":{\"name\":\"Ada\"}}, turn 5"), "\(again.errors)")

        let up = try Self.start(
            Self.fickle, ["up", "--workers", "0", "--accept-divergence", "3", "--accept-divergence", "4"], data, in: scratch,
            order: "backward")
        try await eventually("the store serves") { up.errors.contains("serving") }
        let effects = try await Self.run(Self.fickle, ["effects"], data, in: scratch)
        #expect(effects.output.contains("turn 3 orders something else since FickleProgram"), "\(effects.output)")
        let requeued = try await Self.run(Self.fickle, ["effects", "--requeue", "3/0"], data, in: scratch)
        #expect(requeued.end == .exited(0), "\(requeued.errors)")
        // The store alone is killed, and starts again with the same flags.
        let store = try #require(ProcessTable.all(naming: data).first { $0.command == "store" })
        store.send(SIGKILL)
        try await eventually("another store serves") { up.errors.components(separatedBy: "serving").count > 2 }
        up.send(SIGINT)
        #expect(try await up.wait() == .exited(0), "\(up.errors)")

        // It is in the journal: nobody has to accept it again, here or in any replay.
        let verify = try await Self.run(Self.fickle, ["verify"], data, in: scratch, order: "backward")
        #expect(verify.end == .exited(0), "\(verify.errors)")
        #expect(verify.output.contains("another command was accepted at turn 3 and 4"), "\(verify.output)")
        let state = try await Self.run(Self.fickle, ["replay", "--state"], data, in: scratch, order: "backward")
        // Follow-ups are those of the journal, what `update` makes of a message is of this build.
        #expect(state.output.contains(#""visited":["Ada","Alan","Barbara","Donald""#), "\(state.output)")
        #expect(state.output.contains(#""seen":["John","Grace""#), "\(state.output)")
        // A third command at the turn is none that was accepted.
        let third = try await Self.run(Self.fickle, ["verify"], data, in: scratch)
        #expect(third.end == .exited(65))
        #expect(third.errors.hasPrefix("error: turn 3: "), "\(third.errors)")
    }

    @Test func `Where nothing differs there is nothing to accept`() async throws {
        let scratch = try Scratch()
        let data = try await Self.folder([#"{"visit":{}}"#], order: "forward", in: scratch)
        let store = try Self.start(
            Self.fickle, ["store", "--accept-divergence", "3"], data, in: scratch, order: "forward")
        try await eventually("the store serves") { store.errors.contains("serving") }
        #expect(store.errors.contains("there is nothing to accept at turn 3"))
    }

    // MARK: Offline commands

    @Test func `Two processes differ in their hash seeds even if they are told to be alike`() async throws {
        let scratch = try Scratch()
        let data = try await Self.folder([#"{"look":{}}"#], order: nil, in: scratch)
        let verify = try Child(
            Self.fickle, ["verify", "--data", data], in: scratch, variables: ["SWIFT_DETERMINISTIC_HASHING": "1"])
        #expect(try await verify.wait() == .exited(65))
        #expect(verify.errors.contains("another state in each process"), "\(verify.errors)")
    }

    @Test(arguments: ["verify", "replay"])
    func `An offline command says what it misses`(_ command: String) async throws {
        let scratch = try Scratch()
        let none = try await Self.run(Executable.counter, [command], scratch.folder("none"), in: scratch)
        #expect(none.end == .exited(78))
        #expect(none.errors == "error: There is no data folder \(scratch.folder("none")).\n")
    }
}
