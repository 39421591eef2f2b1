import CrashPoints
import Foundation
import ProcessSupport
import Testing

/// A store, or a command, dies at an exact place while it writes a snapshot, trims its journal or copies it: F06 and F08.
///
/// Each test proves that its fault happened, by the mark that the place leaves and the signal that somebody saw.
@Suite(.serialized) struct MaintenanceCrashTests {
    /// What lets the first process that gets to a place die there.
    private static func crash(_ point: CrashPoint, passage: Int = 1, mark: String) -> [String: String] {
        ["SAMOVAR_CRASH_AT": "\(point.rawValue):\(passage)", "SAMOVAR_CRASH_MARK": mark]
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    private static func run(_ scratch: Scratch, _ arguments: String...) async throws -> Child {
        let child = try Child(Executable.counter, arguments, in: scratch)
        try await child.wait()
        return child
    }

    /// A journal that is sound, and gives this sum.
    private static func expectWhole(_ data: String, sum: Int, _ scratch: Scratch) async throws {
        let verified = try await run(scratch, "journal", "verify", "--json", "--data", data)
        #expect(verified.end == .exited(0), "\(verified.output)\(verified.errors)")
        #expect(try verified.json["sound"] as? Bool == true, "\(verified.output)")
        let replay = try await run(scratch, "replay", "--state", "--data", data)
        #expect(replay.output.contains("\"sync\":\(sum)"), "\(replay.output)\(replay.errors)")
    }

    // MARK: Snapshots

    @Test(arguments: [CrashPoint.storeWithinSnapshot, .storeDuringSnapshot, .storeBeforeSnapshotSync, .storeAfterSnapshot])
    func `A store that dies while it writes its last snapshot loses nothing and has no half one`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        let store = try await CounterStore(workers: 0, in: scratch, variables: Self.crash(point, mark: mark))
        try await store.increment(20)
        // The snapshot is written as it stops.
        store.up.send(SIGINT)
        try await store.up.wait()
        #expect(Self.exists(mark), "nobody passed \(point.rawValue): \(store.up.errors)")
        try await eventually("nothing is left that could write") { ProcessTable.all(naming: store.data).isEmpty }

        try await Self.expectWhole(store.data, sum: 20, scratch)
        let again = try await CounterStore(workers: 0, in: scratch)
        #expect(try FileManager.default.contentsOfDirectory(atPath: again.data + "/snapshots").allSatisfy { !$0.hasSuffix(".new") })
        try await again.increment(1)
        #expect(try await again.run("view").output.contains(#""sync":"21""#))
        try await again.stop()
        try await Self.expectWhole(store.data, sum: 21, scratch)
    }

    // MARK: Trimming

    @Test(arguments: [CrashPoint.storeDuringTrim, .storeAfterTrim])
    func `A store that dies while it trims starts again, trims, and still knows everything`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        for _ in 1...2 {
            let store = try await CounterStore(workers: 0, in: scratch)
            try await store.increment(10)
            try await store.stop()
        }
        let mark = scratch.folder("mark")
        let store = try await CounterStore(
            workers: 0, in: scratch, arguments: ["--retain", "5"], variables: Self.crash(point, mark: mark))
        try await eventually("the store has died of it") { store.up.errors.contains("ended (signal 9)") }
        #expect(Self.exists(mark))
        try await store.increment(10)
        #expect(try await store.run("view").output.contains(#""sync":"30""#))
        // What was trimmed when it died is not trimmed again.
        try await eventually("the journal is trimmed") {
            point == .storeAfterTrim || store.up.errors.contains("trimmed the journal up to turn")
        }
        try await store.stop()
        try await Self.expectWhole(store.data, sum: 30, scratch)
        let first = try await Self.run(scratch, "journal", "verify", "--json", "--data", store.data).json["first"] as? Int
        #expect(try #require(first) > 1)
    }

    // MARK: Copies

    @Test(arguments: [CrashPoint.copyAfterPiece, .copyBeforeName, .copyAfterName])
    func `An export that is killed is no journal before it has its name, and is made again`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        let store = try await CounterStore(workers: 0, in: scratch)
        try await store.increment(10)
        try await store.stop()
        let copy = scratch.folder("copy")
        let killed = try store.start(
            ["journal", "export", copy], variables: Self.crash(point, mark: scratch.folder("mark")))
        #expect(try await killed.wait() == .killed(SIGKILL), "\(killed.errors)")

        if point == .copyAfterName {
            try await Self.expectWhole(copy, sum: 10, scratch)
            let again = try await store.run("journal", "export", copy)
            #expect(again.end == .exited(64) && again.errors.contains("exists already"), "\(again.errors)")
        } else {
            #expect(!Self.exists(copy) && Self.exists(copy + ".building"))
            if point == .copyAfterPiece { try await expectNoJournal(copy + ".building", scratch) }
            let again = try await store.run("journal", "export", copy)
            #expect(again.end == .exited(0), "\(again.errors)")
            #expect(!Self.exists(copy + ".building"))
            try await Self.expectWhole(copy, sum: 10, scratch)
        }
        // The original has nothing of it.
        try await Self.expectWhole(store.data, sum: 10, scratch)
    }

    /// Whatever is tried on a part of a copy, it is called what it is.
    private func expectNoJournal(_ folder: String, _ scratch: Scratch) async throws {
        let commands = ["store", "replay", "journal verify", "journal list", "journal salvage --accept-loss"]
        for command in commands {
            let words = command.split(separator: " ").map(String.init)
            let child = try Child(Executable.counter, words + ["--data", folder], in: scratch)
            #expect(try await child.wait() == .exited(78), "\(command): \(child.output)\(child.errors)")
            #expect(child.errors.contains("is a copy that was cut short, and is not whole"), "\(command): \(child.errors)")
        }
        let other = scratch.folder("other")
        let restored = try await Self.run(scratch, "journal", "import", folder, "--data", other)
        #expect(restored.end == .exited(78), "\(restored.errors)")
        #expect(restored.errors.contains("is a copy that was cut short"), "\(restored.errors)")
    }

    @Test(arguments: [CrashPoint.copyAfterPiece, .copyBeforeName])
    func `A store that dies while it makes a backup starts again and makes it whole`(_ point: CrashPoint) async throws {
        let scratch = try Scratch()
        let mark = scratch.folder("mark")
        let store = try await CounterStore(workers: 0, in: scratch, variables: Self.crash(point, mark: mark))
        try await store.increment(10)
        let copy = scratch.folder("copy")
        let export = try await store.run("journal", "export", copy)
        #expect(Self.exists(mark))
        #expect(store.up.errors.contains("ended (signal 9)"), "\(store.up.errors)")
        #expect(export.end == .exited(0), "\(export.errors)")
        try await store.increment(1)
        #expect(try await store.run("view").output.contains(#""sync":"11""#))
        try await Self.expectWhole(copy, sum: 10, scratch)
        try await store.stop()
        try await Self.expectWhole(store.data, sum: 11, scratch)
    }
}
