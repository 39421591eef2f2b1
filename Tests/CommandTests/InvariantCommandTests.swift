import Foundation
import ProcessSupport
import Testing

/// A store that looks at its program's invariants as it goes.
@Suite(.serialized) struct InvariantCommandTests {
    private static let rule = "the total is below a thousand"

    /// The program's store, and its folder.
    private struct Watched {
        let scratch: Scratch
        let data: String
        let store: Child

        init(_ arguments: [String], in scratch: Scratch) async throws {
            self.scratch = scratch
            data = scratch.folder("data")
            store = try Child(Executable.trapProgram, ["store", "--data", data] + arguments, in: scratch)
            try await eventually("the store serves: \(store.errors)") { [store] in store.errors.contains("serving") }
        }

        func run(_ arguments: String...) async throws -> Child {
            let child = try Child(Executable.trapProgram, arguments + ["--data", data], in: scratch)
            try await child.wait()
            return child
        }

        /// The turn in which so much was added.
        func add(_ amount: Int) async throws -> Int {
            try #require(try await run("send", #"{"add":{"amount":\#(amount)}}"#).json["turn"] as? Int)
        }

        /// What `status --json` says of invariants.
        func told() async throws -> [String: Any]? { try await run("status", "--json").json["invariants"] as? [String: Any] }

        func stop() async throws {
            store.send(SIGTERM)
            #expect(try await store.wait() == .exited(0), "\(store.errors)")
        }
    }

    @Test func `The first turn that breaks an invariant is said once, and the store goes on`() async throws {
        let scratch = try Scratch()
        let watched = try await Watched(["--check-invariants"], in: scratch)
        _ = try await watched.add(999)
        #expect(try await watched.run("status").output.contains("1, none is broken"))
        #expect((try await watched.told()?["broken"] as? [Any])?.isEmpty == true)
        let turn = try await watched.add(2)
        // It is kept again, and broken again.
        _ = try await watched.add(-500)
        _ = try await watched.add(1_000)
        #expect(try await watched.run("view").output.contains("1501"), "it goes on")

        let words = "invariant “\(Self.rule)” was broken by the group that ends with turn \(turn)"
        #expect(watched.store.errors.components(separatedBy: "invariant “").count == 2, "\(watched.store.errors)")
        #expect(watched.store.errors.contains(words), "\(watched.store.errors)")
        let status = try await watched.run("status").output
        #expect(status.contains("“\(Self.rule)” broken by turn \(turn)"), "\(status)")
        let broken = try await watched.told()?["broken"] as? [[String: Any]]
        #expect(broken?.count == 1 && broken?.first?["name"] as? String == Self.rule && broken?.first?["turn"] as? Int == turn)
        #expect(try await watched.run("metrics").output.contains("samovar_invariants_broken 1"))
        let found = try await watched.run("bisect", Self.rule)
        #expect(found.end == .exited(0) && found.output.hasPrefix("turn \(turn) "), "\(found.output)\(found.errors)")
        try await watched.stop()
        let verified = try await watched.run("verify")
        #expect(verified.end == .exited(65), "\(verified.output)\(verified.errors)")
        #expect((verified.output + verified.errors).contains("\(turn)"), "\(verified.output)\(verified.errors)")
        let told = try await watched.run("verify", "--format", "json")
        #expect(try told.end == .exited(65) && told.json["ok"] as? Bool == false, "\(told.output)\(told.errors)")
        let named = try #require(try (told.json["brokenInvariants"] as? [[String: Any]])?.first)
        #expect(named["name"] as? String == Self.rule && named["turn"] as? Int == turn)

        // What is broken from the beginning is said at the beginning.
        let again = try await Watched(["--check-invariants"], in: scratch)
        try await eventually("it is said") { again.store.errors.contains("invariant “\(Self.rule)” is broken as of turn ") }
        try await again.stop()
    }

    @Test func `Without the option nothing is looked at`() async throws {
        let watched = try await Watched([], in: try Scratch())
        _ = try await watched.add(1_001)
        #expect(try await watched.told() == nil)
        #expect(try await !watched.run("status").output.contains("invariants"))
        try await watched.stop()
        #expect(!watched.store.errors.contains("invariant"), "\(watched.store.errors)")
    }
}
