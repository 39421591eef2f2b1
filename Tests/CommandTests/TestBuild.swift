import Foundation
import ProcessSupport

/// Compiles and runs tests of a program against what this package's build has left, as `swift test` would in a package of its own, in a fraction of
/// the time.
struct TestBuild {
    /// What the compiler said.
    struct Refused: Error, CustomStringConvertible {
        let description: String
    }

    let scratch: Scratch

    init(in scratch: Scratch) {
        self.scratch = scratch
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A source of this package.
    func source(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// Builds a module of one source and tests of it, and runs these.
    func run(_ tests: [String], of program: String, module: String, named name: String) async throws -> Child {
        let folder = scratch.folder(name)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try scratch.write(program, to: "\(name)/\(module).swift")
        try scratch.write(
            """
            import Testing

            @main struct Runner {
                static func main() async { await Testing.__swiftPMEntryPoint() as Never }
            }
            """, to: "\(name)/Runner.swift")
        let object = "\(folder)/\(module).o"
        try await compile(
            [
                "-wmo", "-c", "-o", object, "-emit-module", "-emit-module-path", "\(folder)/\(module).swiftmodule",
                "-enable-testing",
                "-module-name", module, "\(folder)/\(module).swift",
            ], folder)
        let runner = "\(folder)/runner"
        try await compile(
            ["-emit-executable", "-o", runner, "-module-name", "Runner", "\(folder)/Runner.swift", object] + tests
                + ["@\(try objects(without: module, in: name))", "-lzmq", "-ldl", "-lm"], folder)
        let child = try Child(runner, ["--testing-library", "swift-testing"], in: scratch)
        try await child.wait()
        return child
    }

    private func compile(_ arguments: [String], _ folder: String) async throws {
        let options =
            ["-swift-version", "6", "-parse-as-library", "-warnings-as-errors", "-I", folder, "-I", Executable.path("Modules")]
            + Self.moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        let compiler = try Child("swiftc", options + arguments, in: scratch)
        guard try await compiler.wait(within: .seconds(240)) == .exited(0) else {
            throw Refused(description: "\(compiler.errors)\(compiler.output)")
        }
    }

    /// A file with the objects of all modules that the example is linked with but its own, and of those for tests.
    private func objects(without module: String, in name: String) throws -> String {
        let list = try String(contentsOfFile: Executable.path("tally.product/Objects.LinkFileList"), encoding: .utf8)
        let folder = Executable.path("SamovarTesting.build")
        let testing = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".o") }.map {
            "\(folder)/\($0)"
        }
        // A line may be quoted, as a shell would.
        let lines = list.split(whereSeparator: \.isNewline).map(String.init).filter { !$0.contains("/\(module).build/") } + testing
        return try scratch.write(lines.joined(separator: "\n"), to: "\(name)/objects")
    }

    /// The C modules below ours, which a client's compiler must find, too.
    static var moduleMaps: [String] {
        let build = URL(fileURLWithPath: Executable.path("")).resolvingSymlinksInPath()
        // DIR/.build/TRIPLE/debug
        let checkouts = build.deletingLastPathComponent().deletingLastPathComponent().appending(path: "checkouts")
        let folders = packages(in: checkouts).map { $0.appending(path: "Sources") } + [root.appending(path: "Sources")]
        return folders.flatMap(packages).flatMap { target in
            ["module.modulemap", "include/module.modulemap"].map { target.appending(path: $0).path }
        }.filter { FileManager.default.fileExists(atPath: $0) }
    }

    private static func packages(in folder: URL) -> [URL] {
        // A package without this folder has no C modules there.
        (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
    }
}
