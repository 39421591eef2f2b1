public import Foundation

/// A bug that can be planted in the machines: a patch that puts it behind a call of `planted`, with its own name.
public struct PlantedBug: Sendable {
    public let name: String
    /// What is wrong, in one sentence: the first line of the patch.
    public let sentence: String
    let patch: URL

    /// In the order of their names.
    public static func all(in root: URL) throws -> [PlantedBug] {
        let folder = root.appending(path: "Mutants/Planted")
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        return try files.filter { $0.hasSuffix(".patch") }.sorted().map { file in
            let patch = folder.appending(path: file)
            let text = try String(contentsOf: patch, encoding: .utf8)
            return PlantedBug(
                name: String(file.dropLast(6)), sentence: text.split(separator: "\n").first.map(String.init) ?? "", patch: patch)
        }
    }
}

extension Workplace {
    /// False if the patch does not fit.
    public func apply(_ bug: PlantedBug) throws -> Bool {
        // Without the ceiling git would find the repository around the copy, and pass over whatever is not in it.
        let ceiling = folder.resolvingSymlinksInPath().deletingLastPathComponent().path(percentEncoded: false)
        let run = try ChildProcess.run(
            "git", ["apply", bug.patch.path(percentEncoded: false)], in: folder, environment: ["GIT_CEILING_DIRECTORIES": ceiling])
        return run.end == .exited(0)
    }

    /// Has each source in which a bug waits for its name import the module that tells which one is asked for.
    public func importChosen() throws {
        for path in try Self.sources(below: "Sources", in: folder) where !path.hasPrefix("Sources/Chosen/") {
            let file = folder.appending(path: path)
            let text = try String(contentsOf: file, encoding: .utf8)
            if text.contains("planted(\"") { try Data("public import Chosen; \(text)".utf8).write(to: file) }
        }
    }
}
