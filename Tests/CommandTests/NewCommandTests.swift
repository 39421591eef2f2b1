import Foundation
import ProcessSupport
import Testing

/// What `samovar new` writes, and what the compiler says to it.
@Suite struct NewCommandTests {
    private func new(_ arguments: [String], in scratch: Scratch) async throws -> Child {
        let child = try Child(Executable.samovar, ["new"] + arguments + ["--in", scratch.path], in: scratch)
        try await child.wait()
        return child
    }

    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    @Test func `It names what it wrote and what to do next, and has a copy of the sources with which it builds anywhere`()
        async throws
    {
        let scratch = try Scratch()
        let child = try await new(["tea-timer"], in: scratch)
        #expect(child.end == .exited(0))
        let written = child.output.split(separator: "\n")
        #expect(written.count == 12)
        #expect(written.allSatisfy { FileManager.default.fileExists(atPath: String($0)) })
        #expect(child.errors.contains("swift test\n"))
        #expect(FileManager.default.isExecutableFile(atPath: scratch.folder("tea-timer/.ci/run")))
        let manifest = try String(contentsOfFile: scratch.folder("tea-timer/Package.swift"), encoding: .utf8)
        #expect(manifest.contains("path: \"Vendor/samovar\"") && !manifest.contains(root.standardizedFileURL.path))

        // The copy has no tests, and so its manifest must do without them.
        let copy = try await Child.run(
            "/usr/bin/env",
            [
                "swift", "package", "--disable-sandbox", "--package-path", scratch.folder("tea-timer/Vendor/samovar"),
                "dump-package",
            ])
        #expect(copy.end == .exited(0), "\(copy.errors)")
        #expect(copy.output.contains("\"SamovarTesting\"") && copy.output.contains("\"SamovarCLI\""))
        #expect(
            !copy.output.contains("\"Tests/") && !copy.output.contains("\"Examples/") && !copy.output.contains("CounterExample"))
    }

    @Test func `A checkout that stays where it is is named by the way to it`() async throws {
        let scratch = try Scratch()
        let child = try await new(["tea", "--path", root.path], in: scratch)
        #expect(child.end == .exited(0), "\(child.errors)")
        let manifest = try String(contentsOfFile: scratch.folder("tea/Package.swift"), encoding: .utf8)
        let path = try #require(manifest.firstMatch(of: /name: "samovar", path: "([^"]+)"/)?.1)
        #expect(path.hasPrefix("../"))
        let folder = URL(fileURLWithPath: String(path), relativeTo: URL(fileURLWithPath: scratch.folder("tea"), isDirectory: true))
        #expect(folder.standardizedFileURL.path == root.resolvingSymlinksInPath().path)
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("tea/Vendor")))
    }

    @Test func `It overwrites nothing`() async throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch.folder("tea"), withIntermediateDirectories: false)
        let child = try await new(["tea"], in: scratch)
        #expect(child.end == .exited(74))
        #expect(
            child.errors
                == "error: \(scratch.folder("tea")) exists already; nothing was written. Take another name or move it away\n")
        #expect(try FileManager.default.contentsOfDirectory(atPath: scratch.folder("tea")).isEmpty)
    }

    @Test func `A folder that cannot be written leaves nothing behind`() async throws {
        let scratch = try Scratch()
        try scratch.write("", to: "file")
        let child = try Child(Executable.samovar, ["new", "tea", "--in", scratch.folder("file")], in: scratch)
        #expect(try await child.wait() == .exited(74))
        #expect(child.errors.hasPrefix("error: cannot write \(scratch.folder("file"))/tea: "))
    }

    @Test(arguments: [
        (["--path", "/"], "error: / is no checkout of Samovar: it has no Package.swift of that name\n"),
        (["--url", "x"], "error: use --path DIR alone, or --url URL and --from VERSION together\n"),
        (
            ["--url", "https://example.org/samovar", "--from", "v1"],
            "error: --from \"v1\" is no version: three numbers are, as in 1.2.0\n"
        ),
        (["--url", "/", "--from", "1.0.0"], "error: --url \"/\" is no address of a repository\n"),
        (["--path", ".", "--from", "1.0.0"], "error: use --path DIR alone, or --url URL and --from VERSION together\n"),
    ])
    func `Where Samovar comes from is said in one way`(flags: [String], error: String) async throws {
        let scratch = try Scratch()
        let child = try await new(["tea"] + flags, in: scratch)
        #expect(child.end == .exited(64))
        #expect(child.errors == error)
        #expect(!FileManager.default.fileExists(atPath: scratch.folder("tea")))
    }

    @Test func `A tool that was moved away from its checkout asks where Samovar is`() async throws {
        let scratch = try Scratch()
        // By another process: a file that this one had open for writing might not be started yet.
        #expect(try await Child("cp", [Executable.samovar, scratch.folder("samovar")], in: scratch).wait() == .exited(0))
        let child = try Child(scratch.folder("samovar"), ["new", "tea", "--in", scratch.path], in: scratch)
        #expect(try await child.wait() == .exited(64))
        #expect(
            child.errors
                == "error: where is Samovar? name a checkout with --path DIR, or a repository with --url URL and --from VERSION\n")
    }

    @Test(arguments: [
        [], ["--split"], ["--distributed", "--input-events", "--output-events", "--panel"],
        ["--split", "--distributed", "--input-events", "--output-events"],
        ["--split", "--distributed", "--input-events", "--output-events", "--panel"],
    ])
    func `The compiler takes the program and its tests`(flags: [String]) async throws {
        try await compile("tea", "Tea", flags)
    }

    @Test func `A program may have the name of a type that Samovar has`() async throws {
        try await compile("migration", "Migration", ["--split", "--distributed", "--input-events", "--output-events", "--panel"])
    }

    private func compile(_ package: String, _ type: String, _ flags: [String]) async throws {
        let scratch = try Scratch()
        #expect(try await new([package] + flags, in: scratch).end == .exited(0))
        let module = "\(type)Program"
        let sources = [type, "\(type)App"].map { scratch.folder("\(package)/Sources/\(module)/\($0).swift") }
        try await compile(
            ["-emit-module", "-enable-testing", "-emit-module-path", scratch.folder("\(module).swiftmodule")], module, sources,
            in: scratch)
        let tests = scratch.folder("\(package)/Tests/\(type)Tests/\(type)Tests.swift")
        try await compile(["-typecheck"], "\(type)Tests", [tests], in: scratch)
    }

    /// Compiles against the modules that this package's build has left.
    private func compile(_ mode: [String], _ module: String, _ sources: [String], in scratch: Scratch) async throws {
        let options =
            mode + ["-swift-version", "6", "-parse-as-library", "-warnings-as-errors", "-module-name", module]
            + ["-I", scratch.path, "-I", Executable.path("Modules")]
            + TestBuild.moduleMaps.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
        let compiler = try Child("swiftc", options + sources, in: scratch)
        #expect(try await compiler.wait(within: .seconds(120)) == .exited(0), "\(compiler.errors)\(compiler.output)")
    }
}
