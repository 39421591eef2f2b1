import Foundation
import ProcessSupport
import Testing

/// `capsule` on real journals, and what the compiler and the test runner say to what it writes.
@Suite(.serialized) struct CapsuleCommandTests {
    /// A tally that was told to count tea beyond what anybody wants, after much else; and the turn that did.
    private static func tally() async throws -> (store: CounterStore, turn: Int) {
        let store = try await CounterStore(Executable.tally, workers: 0)
        let inputs =
            [#"{"add":{"name":"milk"}}"#, #"{"add":{"name":"tea"}}"#] + (1...20).map { #"{"count":{"name":"milk","by":\#($0)}}"# }
            + [#"{"setGoal":{"to":70}}"#, #"{"count":{"name":"tea","by":5}}"#, #"{"count":{"name":"tea","by":4}}"#]
        let sent = try await store.run("send", "-", input: inputs.joined(separator: "\n") + "\n")
        #expect(sent.end == .exited(0), "\(sent.errors)")
        let turn = try #require(try sent.json["turn"] as? Int)
        try await store.stop()
        return (store, turn)
    }

    @Test func `The written test fails before the mend and passes after, shrunk or not, in a source or beside it`() async throws {
        let (store, turn) = try await Self.tally()
        let folder = store.scratch.folder("tests")
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let small = try await store.run(
            "capsule", "1..\(turn)", "--fails", "state.counts.tea > 8", "--shrink", folder + "/Small.swift")
        #expect(small.end == .exited(0), "\(small.errors)")
        // The start, the name, and both counts.
        #expect(small.errors.contains("4 of \(turn) records"), "\(small.errors)")
        #expect(small.output == folder + "/Small.swift\n")
        let whole = try await store.run("capsule", "\(turn - 1)..\(turn)", "--fails", "state.counts.tea > 8", folder)
        #expect(whole.end == .exited(0), "\(whole.errors)")
        #expect(whole.errors.contains("2 of 2 records"), "\(whole.errors)")
        let names = ["Turns\(turn - 1)To\(turn).capsule", "Turns\(turn - 1)To\(turn)Tests.swift"]
        #expect(whole.output == names.map { "\(folder)/\($0)\n" }.joined())
        let sources = [folder + "/Small.swift", "\(folder)/\(names[1])"]

        let again = try await store.run("capsule", "\(turn - 1)..\(turn)", "--fails", "state.counts.tea > 8", folder)
        #expect(again.end == .exited(74), "\(again.errors)")
        #expect(again.errors.contains("\(names[0]) exists already; nothing was written"), "\(again.errors)")

        let secret = store.scratch.folder("secret")
        let kept = try await store.run("capsule", "1..\(turn)", "--fails", "state.counts.tea > 8", "--secret", secret)
        #expect(kept.end == .exited(0), "\(kept.errors)")
        for file in kept.output.split(separator: "\n") {
            let mode = try FileManager.default.attributesOfItem(atPath: String(file))[.posixPermissions] as? Int
            #expect(mode == 0o600, "\(file)")
        }

        let bench = TestBuild(in: store.scratch)
        let program = try bench.source("Examples/Tally/Tally.swift")
        let before = try await bench.run(sources, of: program, module: "TallyExample", named: "before")
        #expect(before.end == .exited(1), "\(before.errors)\(before.output)")
        #expect((before.output + before.errors).contains("with 2 issues"), "\(before.errors)\(before.output)")
        let bug = "min(max($0 + step, 0), maximumGoal)"
        #expect(program.contains(bug))
        let mended = program.replacing(bug, with: "min(max($0 + step, 0), 8)")
        let after = try await bench.run(sources, of: mended, module: "TallyExample", named: "after")
        #expect(after.end == .exited(0), "\(after.errors)\(after.output)")
        #expect((after.output + after.errors).contains("2 tests"), "\(after.errors)\(after.output)")
    }

    @Test func `What cannot be is said, with an exit code`() async throws {
        let (store, turn) = try await Self.tally()
        let output = store.scratch.folder("Test.swift")
        let cases: [([String], Int32, String)] = [
            (["5", output, "--fails", "true"], 64, "“5” are no turns: name the first and the last one, such as 630..640"),
            (["5..4", output, "--fails", "true"], 64, "“5..4” are no turns"),
            (["0..4", output, "--fails", "true"], 64, "“0..4” are no turns"),
            (["1..999", output, "--fails", "true"], 78, "turns 1 to 999: known are 1 to "),
            (["1..\(turn)", output, "--fails", "state.x ="], 64, "the predicate cannot be read: column 9"),
            (["1..\(turn)", output, "--fails", "no count is negativ"], 64, "did you mean the invariant “no count is negative”?"),
            (
                ["1..\(turn)", output, "--fails", "no count is negative"], 65,
                "it is not so after turn \(turn), where the chain of the last turn ends"
            ),
            (["1..\(turn)", "/dev/null/Test.swift", "--fails", "state.goal == 70"], 74, "cannot write /dev/null/Test.swift: "),
        ]
        for (arguments, code, words) in cases {
            let child = try store.start(["capsule"] + arguments)
            #expect(try await child.wait() == .exited(code), "\(arguments): \(child.errors)")
            #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: output))
    }
}
