import Foundation
import ProcessSupport
import Testing

/// `fork` of real journals.
@Suite(.serialized) struct ForkCommandTests {
    /// A store that went 1, 2 and 3, with an effect that is open since before the second, and a snapshot of the end.
    private static func counted() async throws -> (store: CounterStore, turns: [Int]) {
        let store = try await CounterStore(workers: 0)
        var turns = [try await store.increment(1)]
        #expect(try await store.run("send", "incrementAsync").end == .exited(0))
        for _ in 0..<2 { turns.append(try await store.increment(1)) }
        return (store, turns)
    }

    @Test func `A store goes on from the turn, and the journal stays as it is`() async throws {
        let (store, turns) = try await Self.counted()
        try await store.stop()
        let before = try content(of: store.data)
        let folder = store.scratch.folder("fork")
        let forked = try await store.run("fork", "--turn", "\(turns[1])", folder)
        #expect(forked.output.hasPrefix("Forked turn \(turns[1]) into \(folder) as timeline "), "\(forked.output)\(forked.errors)")
        let next = "effects --requeue --all --data \(folder)"
        #expect(forked.output.hasSuffix("\(next)` starts them.\n"), "\(forked.output)")
        #expect(try content(of: store.data) == before)

        let verified = try await fork(store, folder, "journal", "verify")
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
        #expect(verified.output.contains("goes on from turn \(turns[1]) of timeline "), "\(verified.output)")

        let later = try await CounterStore(workers: 1, in: store.scratch, data: folder)
        // The snapshot of the end is of another future.
        #expect(try await later.run("inspect").output.contains(#""sync":2"#))
        let timeline = try #require(try await later.run("status", "--json").json["timeline"] as? String)
        #expect(forked.output.contains("as timeline \(timeline)."))
        let effects = try await later.run("effects")
        #expect(effects.output.contains("was forked, and its key is another one now"), "\(effects.output)\(effects.errors)")
        #expect(try await later.status("openEffects") == 0)
        #expect(try await later.run("effects", "--requeue", "--all").end == .exited(0))
        try await eventually("the effect is done") { try await later.run("inspect").output.contains(#""async":1"#) }
        _ = try await later.increment(1)
        #expect(try await later.run("inspect").output.contains(#""sync":3"#))
        try await later.stop()
        #expect(try content(of: store.data) == before)
        #expect(try await fork(store, folder, "verify").end == .exited(0))
    }

    @Test func `With --effects run what was open is open, and a running store is asked`() async throws {
        let (store, turns) = try await Self.counted()
        let folder = store.scratch.folder("fork")
        let forked = try await store.run("fork", "--turn", "\(turns[2])", folder, "--effects", "run")
        #expect(forked.output.contains("Sessions of clients that are over there: "), "\(forked.output)\(forked.errors)")
        #expect(forked.output.hasSuffix("Effects that are open: 1.\n"), "\(forked.output)")
        let later = try await CounterStore(workers: 1, in: store.scratch, data: folder)
        try await eventually("the effect is done") { try await later.run("inspect").output.contains(#""async":1"#) }
        // Meanwhile the other goes its own way.
        #expect(try await store.run("inspect").output.contains(#""async":0"#))
    }

    @Test func `What cannot be is said, with an exit code, and makes no folder`() async throws {
        let (store, turns) = try await Self.counted()
        try await store.stop()
        let folder = store.scratch.folder("fork")
        let cases: [([String], Int32, String)] = [
            (["--turn", "0", folder], 64, "--turn 0 is no turn: they are numbered from 1"),
            (["--turn", "999", folder], 78, "ends at turn "),
            (["--turn", "\(turns[0])", store.data], 64, "\(store.data) exists already; name a new folder for the fork"),
        ]
        for (arguments, code, words) in cases {
            let child = try store.start(["fork"] + arguments)
            #expect(try await child.wait() == .exited(code), "\(arguments): \(child.errors)")
            #expect(child.errors.contains(words), "\(arguments): \(child.errors)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder))
    }

    private func fork(_ store: CounterStore, _ folder: String, _ arguments: String...) async throws -> Child {
        let child = try Child(store.executable, arguments + ["--data", folder], in: store.scratch)
        try await child.wait()
        return child
    }

    private func content(of folder: String) throws -> [String: Data] {
        var content: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            content[name] = FileManager.default.contents(atPath: "\(folder)/\(name)")
        }
        return content
    }
}
