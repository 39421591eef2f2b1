import Foundation
import ProcessSupport
import Testing

/// `keys`, as a person uses it.
@Suite struct KeysCommandTests {
    private let scratch: Scratch
    private var folder: String { scratch.folder("keys") }

    init() throws { scratch = try Scratch() }

    private func run(_ arguments: String..., executable: String = Executable.samovar) async throws -> Child {
        let child = try Child(executable, ["keys"] + arguments, in: scratch, variables: ["SAMOVAR_KEYS": folder])
        try await child.wait()
        return child
    }

    private func file(_ name: String) throws -> String { try String(contentsOfFile: scratch.folder(name), encoding: .utf8) }

    private func lines(_ field: String, of text: String) -> [String] {
        text.split(separator: "\n").filter { $0.hasPrefix("\(field): ") }.map { String($0.dropFirst(field.count + 2)) }
    }

    private func list() async throws -> [[String: Any]] {
        let list = try await run("list", "--json")
        #expect(list.end == .exited(0), "\(list.errors)")
        return try #require(try list.json["keys"] as? [[String: Any]])
    }

    @Test(arguments: [Executable.samovar, Executable.counter])
    func `The first key makes the folder; its file is printed, and its secret stands there alone`(executable: String) async throws {
        let out = scratch.folder("shop.key")
        // The tool knows no program, and takes any.
        let input = executable == Executable.samovar ? "place order" : "increment"
        let made = try await run(
            "new", "shop", "--role", "client", "--role", "viewer", "--input", input, "--not-after", "2999-01-01",
            "--sessions", "5", "--out", out, executable: executable)
        #expect(made.end == .exited(0), "\(made.errors)")
        #expect(made.output == out + "\n")
        #expect(made.errors.contains("The store has got a key"))
        #expect(made.errors.contains("keys reload"))
        let secret = try #require(lines("secret", of: try file("shop.key")).first)
        #expect(secret.count == 40)
        #expect(lines("server", of: try file("shop.key")).count == 1)

        let table = try file("keys/table")
        let word = input.replacingOccurrences(of: " ", with: "%20")
        #expect(table.hasSuffix(" viewer,client inputs=\(word) not-after=2999-01-01T00:00:00Z sessions=5\n"))
        let key = try #require(try await list().first)
        #expect(key["name"] as? String == "shop")
        #expect(key["roles"] as? [String] == ["viewer", "client"])
        #expect(key["inputs"] as? [String] == [input])
        let shown = try await run("show", "shop")
        #expect(shown.output.contains("fingerprint  \(try #require(key["fingerprint"] as? String))"))
        for text in [made.errors, table, shown.output, try await run("list").output] { #expect(!text.contains(secret)) }
    }

    @Test func `No key is made for an input that the program has not, and those that it has are named`() async throws {
        let out = scratch.folder("a.key")
        let made = try await run(
            "new", "a", "--role", "client", "--input", "increment", "--input", "incremnt", "--out", out,
            executable: Executable.counter)
        let words = "--input incremnt is no input of the program; there are decrement, increment, incrementAsync"
        #expect(made.end == .exited(64) && made.errors.contains(words), "\(made.errors)")
        #expect(!FileManager.default.fileExists(atPath: out) && !FileManager.default.fileExists(atPath: folder))
    }

    @Test func `No key is made that has expired`() async throws {
        let out = scratch.folder("a.key")
        let over = "--not-after is over: with it the key would be good for nothing"
        let made = try await run("new", "a", "--role", "viewer", "--not-after", "2026-01-01", "--out", out)
        #expect(made.end == .exited(64) && made.errors.contains(over), "\(made.errors)")
        #expect(!FileManager.default.fileExists(atPath: out))
        _ = try await run("new", "a", "--role", "viewer", "--out", out)
        let renewed = try await run("renew", "a", "--not-after", "2026-01-01", "--out", out)
        #expect(renewed.end == .exited(64) && renewed.errors.contains(over), "\(renewed.errors)")
        #expect(try await list().count == 1)
    }

    @Test func `A key is renewed, revoked and gone`() async throws {
        let out = scratch.folder("a.key")
        _ = try await run("new", "a", "--role", "worker", "--queue", "render", "--out", out)
        let former = try #require(try await list().first?["fingerprint"] as? String)
        #expect(try await run("renew", "a", "--out", out).end == .exited(0))
        #expect(try await list().count == 2)
        #expect(try await run("renew", "a", "--out", out).end == .exited(65))
        #expect(try await run("renew", "a", "--finish").end == .exited(0))
        let left = try await list()
        #expect(left.count == 1 && left.first?["fingerprint"] as? String != former)
        #expect(left.first?["queues"] as? [String] == ["render"])
        #expect(try await run("revoke", former).end == .exited(65))
        #expect(try await run("revoke", "a").end == .exited(0))
        #expect(try await list().isEmpty)
        #expect(try await run("list").output == "")
    }

    @Test func `The key of the store is renewed in three steps`() async throws {
        let out = scratch.folder("a.key")
        _ = try await run("new", "a", "--role", "viewer", "--out", out)
        let first = lines("server", of: try file("a.key"))
        #expect(try await run("server", "switch").end == .exited(65))
        #expect(try await run("server", "new").end == .exited(0))
        #expect(try await run("server", "update", out).end == .exited(0))
        let both = lines("server", of: try file("a.key"))
        #expect(both.count == 2 && both[0] == first[0])
        #expect(try await run("server", "switch").end == .exited(0))
        #expect(lines("public", of: try file("keys/server.key")) == [both[1]])
        #expect(try await run("server", "finish").end == .exited(0))
        #expect(try await run("server", "update", out).end == .exited(0))
        #expect(lines("server", of: try file("a.key")) == [both[1]])
        #expect(try await run("server", "finish").end == .exited(65))
    }

    @Test func `A command that is to follow is printed with the options of the one before it`() async throws {
        let (folder, out) = (scratch.folder("my keys"), scratch.folder("a.key"))
        func run(_ arguments: String...) async throws -> String {
            let child = try Child(Executable.samovar, ["keys"] + arguments + ["--keys", folder], in: scratch)
            #expect(try await child.wait() == .exited(0), "\(child.errors)")
            return child.errors
        }
        _ = try await run("new", "a", "--role", "viewer", "--out", out)
        #expect(try await run("renew", "a", "--out", out).contains("keys renew a --finish --keys '\(folder)'\n"))
        let made = try await run("server", "new")
        #expect(made.contains("update FILE… --keys '\(folder)'\n") && made.contains("switch --keys '\(folder)'\n"), "\(made)")
        #expect(try await run("server", "switch").contains("server finish --keys '\(folder)'\n"))
    }

    @Test func `What a person has written into the table stays, and what is wrong in it is named`() async throws {
        _ = try await run("new", "a", "--role", "viewer", "--out", scratch.folder("a.key"))
        let table = try file("keys/table")
        try Data(("# mine\n\n" + table + "# end\n").utf8).write(to: URL(fileURLWithPath: folder + "/table"))
        chmod(folder + "/table", 0o600)
        _ = try await run("new", "b", "--role", "viewer", "--out", scratch.folder("b.key"))
        #expect(try file("keys/table").hasPrefix("# mine\n\n" + table + "# end\nb "))
        try Data("# mine\na viewer\n".utf8).write(to: URL(fileURLWithPath: folder + "/table"))
        let listed = try await run("list")
        #expect(listed.end == .exited(78))
        #expect(listed.errors.contains("/table, line 2: "))
    }

    @Test func `Who asks for what cannot be is told so`() async throws {
        let child = try Child(Executable.samovar, ["keys", "list"], in: scratch)
        #expect(try await child.wait() == .exited(78))
        #expect(child.errors.contains("--keys") && child.errors.contains("SAMOVAR_KEYS"))
        #expect(try await run("list").end == .exited(78))
        #expect(try await run("new", "a").end == .exited(64))
        #expect(try await run("new", ".a", "--role", "viewer").end == .exited(64))
        #expect(try await run("new", "a", "--role", "king").end == .exited(64))
        #expect(try await run("new", "a", "--role", "viewer", "--queue", "q").end == .exited(64))
        #expect(try await run("new", "a", "--role", "viewer", "--not-after", "soon").end == .exited(64))
        #expect(try await run("renew", "a").end == .exited(78))
        #expect(!FileManager.default.fileExists(atPath: folder))
        let out = scratch.folder("a.key")
        #expect(try await run("new", "server", "--role", "viewer", "--out", out).end == .exited(65))
        #expect(try await run("new", "a", "--role", "viewer", "--out", out).end == .exited(0))
        #expect(try await run("new", "b", "--role", "viewer", "--out", out).end == .exited(65))
        #expect(try await list().count == 1)
        chmod(folder, 0o755)
        let open = try await run("list")
        #expect(open.end == .exited(78) && open.errors.contains("chmod 700"))
    }
}
