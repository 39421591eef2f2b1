import ProcessSupport
import Testing

/// `schema --codec`: source with which a program's types encode and decode faster.
@Suite struct CodecCommandTests {
    @Test func `What got code and what did not is said beside it`() async throws {
        let scratch = try Scratch()
        let child = try Child(Executable.counter, ["schema", "--codec", "--leave", "Counter.ViewState"], in: scratch)
        try await child.wait()
        #expect(child.end == .exited(0))
        #expect(child.output.hasPrefix("// Written by `schema --codec --leave Counter.ViewState`"))
        #expect(
            child.errors == """
                left to Codable: Counter.ViewState: it was named with --leave
                code for Counter.Effect, Counter.Input, Counter.Message, Counter.State; name one with --leave if its init(from:) checks or \
                changes what it reads

                """)
    }

    @Test func `Options that do not go together are refused`() async throws {
        let scratch = try Scratch()
        for (arguments, problem) in [
            (["--codec", "--check", "x.json"], "--check is of the form: write the codec, and compare the files"),
            (["--check", "x.json", "--write", "y.json"], "--check compares and writes nothing: leave out --write"),
            (["--leave", "Counter.State"], "--leave goes with --codec"),
            (
                ["--codec", "--leave", "Counter.Stat"],
                "error: the program encodes no type Counter.Stat: name it as it stands in source\n"
            ),
        ] {
            let child = try Child(Executable.counter, ["schema"] + arguments, in: scratch)
            try await child.wait()
            #expect(child.end == .exited(64))
            #expect(child.errors.contains(problem))
        }
    }
}
