import Foundation
import ProcessSupport
import Testing

/// One search by `dupes`, which may be started more than once.
struct Search {
    let scratch: Scratch
    let root: String
    let data: String

    init(_ scratch: Scratch, root: String) {
        self.scratch = scratch
        self.root = root
        data = scratch.folder("data")
    }

    func start() throws -> Child {
        let seed = #"{"root":"\#(root)","minimumSize":1}"#
        return try Child(
            Executable.dupes, ["up", "--until-idle", "--workers", "2", "--data", data, "--seed", seed], in: scratch)
    }

    /// `up`, its store and its workers, as far as they live.
    var processes: [ProcessTable.Entry] { ProcessTable.all(naming: data) }

    /// Compares what the journal says with `find` and `sha256sum`.
    func expectOracle(note: String) async throws {
        let replay = try Child(Executable.dupes, ["replay", "--state", "--format", "json", "--data", data], in: scratch)
        #expect(try await replay.wait() == .exited(0), "\(note): \(replay.errors)")
        let found = try Findings(state: replay.output)
        let expected = try await Findings.oracle(root, in: scratch)
        #expect(found.isDone, "\(note)")
        #expect(found.problems == 0, "\(note)")
        #expect(found.counts == expected.counts, "\(note)")
        let difference = found.groups.symmetricDifference(expected.groups)
        #expect(difference.isEmpty, "\(note): \(difference.count) groups differ, such as \(String(describing: difference.first))")
    }
}
