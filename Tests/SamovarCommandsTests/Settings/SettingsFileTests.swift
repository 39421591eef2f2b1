import SamovarCore
import SamovarStore
import Testing

@testable import SamovarCommands
@testable import SamovarText

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite struct SettingsFileTests {
    @Test(arguments: ["", "# only a comment\n", "---\n", "~", "store:\n  # window: 4\nlog:\n"])
    func `A file may be empty`(_ yaml: String) throws {
        let file = try TemporaryFile(yaml)
        #expect(try ProcessSettings.read(flags: [:], configFile: file.path, environment: [:]) == ProcessSettings())
    }

    @Test func `Lists and aliases are read`() throws {
        let file = try TemporaryFile("slots: &four 4\nworkers: *four\nqueues:\n  - default\n  - mail\n")
        let settings = try ProcessSettings.read(flags: [:], configFile: file.path, environment: [:])
        #expect(settings == ProcessSettings(slots: 4, queues: ["default", "mail"], workers: 4))
    }

    @Test func `A file that cannot be read is named`() throws {
        #expect(throws: SettingsError("cannot read no/such.yaml: No such file or directory")) {
            try SettingsFile(path: "no/such.yaml")
        }
        #expect(throws: SettingsError("cannot read /: Is a directory")) { try SettingsFile(path: "/") }
        let large = try TemporaryFile(String(repeating: "#", count: 70_000))
        #expect(throws: SettingsError("\(large.path) has more than 65536 bytes")) { try SettingsFile(path: large.path) }
        let binary = try TemporaryFile(bytes: [0xff, 0xfe, 0x00])
        #expect(throws: SettingsError("\(binary.path) is not UTF-8")) { try SettingsFile(path: binary.path) }
    }

    /// Aliases of aliases, which would unfold into 3 to the power of 30 keys.
    @Test func `Aliases cannot unfold without end`() {
        var yaml = "a0: &a0 {x: 1, y: 2, z: 3}\n"
        for level in 1...30 { yaml += "a\(level): &a\(level) {x: *a\(level - 1), y: *a\(level - 1), z: *a\(level - 1)}\n" }
        #expect(throws: SettingsError("bomb.yaml has more than 1000 keys")) { try SettingsFile(path: "bomb.yaml", yaml: yaml) }
    }

    @Test(arguments: ["[", "{a: "])
    func `Nesting is limited`(_ bracket: String) {
        #expect(throws: SettingsError.self) {
            try SettingsFile(path: "deep.yaml", yaml: String(repeating: bracket, count: 10_000))
        }
    }

    /// Whatever is changed in a file, it is read or refused with a sentence that is safe to print.
    @Test(arguments: [1, 2] as [UInt64])
    func `No file traps`(_ seed: UInt64) throws {
        var random = Random(seed: seed)
        let sample = try shipped("local.yaml").split(separator: "\n").filter { !$0.hasPrefix("#") }.joined(separator: "\n")
        let pieces = Array(":{}[]&*!|>'\"%@`#-?,~\n \t0e:<\u{1b}\u{0}é").map(String.init)
        for _ in 0..<500 {
            var characters = Array(sample).map(String.init)
            for _ in 0...Int.random(in: 0...3, using: &random) {
                let index = Int.random(in: 0..<characters.count, using: &random)
                characters[index] = pieces.randomElement(using: &random) ?? ""
            }
            do {
                let file = try SettingsFile(path: "some.yaml", yaml: characters.joined())
                var reader = SettingsReader(flags: [:], environment: [:], file: file)
                var store = StoreSettings()
                try store.read(from: &reader)
                _ = try reader.finish()
            } catch {
                #expect(escapeForTerminal(error.description) == error.description)
            }
        }
    }

    @Test func `The local file has every setting with its default`() throws {
        let local = try shipped("local.yaml")
        let file = try SettingsFile(path: "config/local.yaml", yaml: local)
        let settings = try ProcessSettings.read(flags: [:], configFile: path("local.yaml"), environment: [:])
        #expect(settings == ProcessSettings())

        // The file says `# slots: 1` for what has no default of its own.
        let commented = local.split(separator: "\n").compactMap { $0.wholeMatch(of: /\s*# (\w+): \S.*/)?.1 }.map(String.init)
        let names = ["level": "log.level", "clients": "store.clients"]
        let written = Set(file.entries.map(\.key) + commented.map { names[$0] ?? $0 })
        var reader = SettingsReader(flags: [:], environment: [:], file: try SettingsFile(path: "", yaml: "unknown: 1"))
        var store = StoreSettings()
        try store.read(from: &reader)
        #expect(throws: SettingsError.self) { try reader.finish() }
        #expect(reader.knownKeys.filter { !written.contains($0) } == [])
        let ofProcess = ["data", "endpoint", "log.level", "slots", "readAhead", "queues", "capabilities", "workers"]
        #expect(ofProcess.filter { !written.contains($0) } == [])
    }

    @Test func `The compose file is read`() throws {
        let settings = try ProcessSettings.read(flags: [:], configFile: path("compose.yaml"), environment: [:])
        #expect(settings.data == "/var/lib/samovar/data")
        #expect(settings.endpoint == nil, "each container has its own")
        #expect(settings.store.silence == .seconds(10))
    }

    private func path(_ name: String) -> String {
        #filePath.split(separator: "/", omittingEmptySubsequences: false).dropLast(4).joined(separator: "/") + "/config/" + name
    }

    private func shipped(_ name: String) throws -> String {
        try String(contentsOfFile: path(name), encoding: .utf8)
    }
}
