import Foundation
import Testing

@testable import NewCommand
@testable import SamovarText

/// Every combination of what may be chosen: the 16 of Keemun's templates, and each with a panel.
private let combinations: [ScaffoldChoices] = (0..<32).map { bits in
    ScaffoldChoices(
        split: bits & 1 != 0, distributed: bits & 2 != 0, inputEvents: bits & 4 != 0, outputEvents: bits & 8 != 0,
        panel: bits & 16 != 0)
}

@Suite struct ScaffoldTests {
    private func files(_ choices: ScaffoldChoices, _ source: SamovarSource = .copy(of: "/here")) throws -> [String: String] {
        let files = PackageTemplate(name: try ScaffoldName("tea-timer"), choices: choices, source: source).files
        return Dictionary(uniqueKeysWithValues: files.map { ($0.path, $0.text) })
    }

    @Test(arguments: combinations)
    func `Each combination has its files, and in them what was chosen and nothing else`(choices: ScaffoldChoices) throws {
        let files = try files(choices)
        #expect(
            Set(files.keys) == [
                "Package.swift", "README.md", ".gitignore", "config/local.yaml", "Sources/TeaTimerProgram/TeaTimer.swift",
                "Sources/TeaTimerProgram/TeaTimerApp.swift", "Tests/TeaTimerTests/TeaTimerTests.swift", ".ci/run", "Dockerfile",
                ".dockerignore", "config/tea-timer.service",
            ])
        let program = try #require(files["Sources/TeaTimerProgram/TeaTimer.swift"])
        #expect(program.contains("enum Input:") == choices.split)
        #expect(program.contains("enum Refusal:") == choices.split)
        #expect(program.contains("enum TeaTimer: OpenProgram") == (!choices.split && !choices.panel))
        #expect(program.contains("enum Effect:") == choices.distributed)
        #expect(program.contains("func failed(") == choices.distributed)
        #expect(program.contains("func subscriptions(") == choices.inputEvents)
        #expect(program.contains("enum Output:") == choices.outputEvents)
        #expect(program.contains("Panel<Input>") == choices.panel)
        let app = try #require(files["Sources/TeaTimerProgram/TeaTimerApp.swift"])
        #expect(app.contains("try await") == choices.distributed)
        let tests = try #require(files["Tests/TeaTimerTests/TeaTimerTests.swift"])
        #expect(tests.contains("TestStore(TeaTimerProgram.TeaTimer.self)") && !tests.contains("(TeaTimer."))
        #expect(files["README.md"]?.contains(#"samovar load --data .samovar/load --input '{"add":{"by":1}}'"#) == true)
        for text in files.values {
            #expect(text.hasSuffix("\n") && !text.hasSuffix("\n\n"))
            #expect(!text.contains(" \n"))
            #expect(text.split(separator: "\n").allSatisfy { $0.count <= 132 })
        }
    }

    @Test func `A container can be built only of a package that has or fetches all that it needs`() throws {
        #expect(try files(ScaffoldChoices(), .path("../samovar"))["Dockerfile"] == nil)
        let url = SamovarSource.repository(try ScaffoldRepository(url: "https://example.org/samovar", from: "1.2.0"))
        let dockerfile = try #require(try files(ScaffoldChoices(), url)["Dockerfile"])
        #expect(dockerfile.contains("ENTRYPOINT [\"tea-timer\"]\n"))
        // A user of the package's name may be there, as "backup" and "news" are, or a group, as "video" is.
        #expect(dockerfile.contains("useradd --system --uid 10001 samovar ") && dockerfile.contains("USER samovar\n"))
        #expect(try files(ScaffoldChoices())["README.md"]?.contains("| `Vendor/samovar` | the sources of Samovar") == true)
    }

    @Test func `Keys that are made in a package go neither into its repository nor into an image`() throws {
        let files = try files(ScaffoldChoices())
        // Not "keys": where case does not count, that has git leave out the folders Keys of the sources in Vendor.
        #expect(files[".gitignore"] == ".build\n.samovar\n/keys\n*.key\n")
        #expect(files[".dockerignore"] == ".build\n.git\n.samovar\nkeys\n**/*.key\n")
    }

    @Test func `Its unit is started again however often it ends, but for ends that no start mends`() throws {
        let unit = try #require(try files(ScaffoldChoices())["config/tea-timer.service"])
        let settings = unit.components(separatedBy: "[Service]")[0]
        #expect(settings.contains("\nStartLimitIntervalSec=0\n") && settings.contains("\nAfter=time-sync.target\n"))
        #expect(unit.contains("\nRestart=on-failure\nRestartSec=1\n"))
        #expect(unit.contains("\nRestartPreventExitStatus=64 65 70 77 78\n"))
    }

    @Test func `Its unit ends and starts it again as the unit of this repository does`() throws {
        let names = [
            "Type", "TimeoutStopSec", "KillMode", "Restart", "RestartSec", "RestartPreventExitStatus", "StartLimitIntervalSec",
        ]
        func settings(_ unit: String) -> [Substring] {
            unit.split(separator: "\n").filter { line in names.contains { line.hasPrefix("\($0)=") } }
        }
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let ours = settings(try String(contentsOf: root.appending(path: "config/systemd/samovar@.service"), encoding: .utf8))
        #expect(ours.count == names.count)
        let unit = try #require(try files(ScaffoldChoices())["config/tea-timer.service"])
        #expect(settings(unit) == ours)
    }

    @Test(arguments: [("backup", "samovar-backup"), ("TeaTimer", "samovar-teatimer")])
    func `The user of its unit is none that a system has of its own`(name: String, user: String) throws {
        let files = PackageTemplate(name: try ScaffoldName(name), choices: ScaffoldChoices(), source: .copy(of: "/here")).files
        let unit = try #require(files.first { $0.path == "config/\(name).service" }).text
        #expect(unit.contains("\nUser=\(user)\n") && unit.contains("\n#   useradd --system --no-create-home \(user)\n"))
        #expect(unit.hasPrefix("# \(name) as a service of one machine, run as the user \(user):\n"))
    }

    @Test func `The unit says how to build the executable that it installs, before it does`() throws {
        let unit = try #require(try files(ScaffoldChoices())["config/tea-timer.service"])
        let build = try #require(unit.range(of: "#   swift build -c release --static-swift-stdlib --product tea-timer\n"))
        let install = try #require(unit.range(of: "#   install -D .build/release/tea-timer /opt/tea-timer/tea-timer\n"))
        #expect(build.upperBound <= install.lowerBound)
    }

    @Test(arguments: [
        ("/a/b/c", "/a/b/d", "../d"), ("/a/b", "/a/b", "."), ("/a/b", "/a/b/c/d", "c/d"), ("/a/b", "/c", "../../c"),
    ])
    func `A checkout is named by the way to it`(package: String, checkout: String, path: String) {
        #expect(ScaffoldWriting.path(from: package, to: checkout) == path)
    }

    @Test func `The manifest names a copy, a checkout or a repository, whatever characters these have`() throws {
        let copy = try #require(try files(ScaffoldChoices())["Package.swift"])
        #expect(copy.contains(#".package(name: "samovar", path: "Vendor/samovar")"#) && !copy.contains("/here"))
        let path = try #require(try files(ScaffoldChoices(), .path("/a \"b\"\\c"))["Package.swift"])
        #expect(path.contains(#".package(name: "samovar", path: "/a \"b\"\\c")"#))
        let repository = try ScaffoldRepository(url: "https://example.org/samovar", from: "1.2.0")
        let url = try #require(try files(ScaffoldChoices(), .repository(repository))["Package.swift"])
        #expect(url.contains(#".package(url: "https://example.org/samovar", from: "1.2.0")"#))
    }

    @Test(arguments: [
        ("https://example.org/samovar", "samovar"), ("https://example.org/tea/Kettle.git", "kettle"),
        ("git@example.org:tea/samovar.git", "samovar"),
        ("https://example.org/fork/", "fork"),
    ])
    func `Products are those of the package that SwiftPM makes of the address`(url: String, package: String) throws {
        let repository = try ScaffoldRepository(url: url, from: "1.2.0-beta.1")
        let manifest = try #require(try files(ScaffoldChoices(), .repository(repository))["Package.swift"])
        #expect(manifest.contains(#".product(name: "Samovar", package: "\#(package)")"#), "\(manifest)")
        #expect(manifest.contains(#".product(name: "SamovarTesting", package: "\#(package)")"#), "\(manifest)")
    }

    @Test func `A package inside the sources that it would copy is refused and nothing is written`() {
        let folder = URL(fileURLWithPath: "/nowhere/Sources/deep/tea")
        let error = #expect(throws: CommandFailure.self) { try ScaffoldWriting.write([], with: .copy(of: "/nowhere"), to: folder) }
        #expect(error?.code == .usage)
        #expect(error?.description.hasPrefix("/nowhere/Sources/deep/tea lies in the sources of Samovar") == true)
    }

    @Test(arguments: [("tea", "Tea"), ("tea-timer", "TeaTimer"), ("TeaTimer", "TeaTimer"), ("a1-b2-c", "A1B2C")])
    func `A name makes a type`(name: String, type: String) throws {
        #expect(try ScaffoldName(name).type == type)
    }

    @Test(arguments: ["", "-", "a--b", "a-", "1a", "a b", "a/b", "../a", "é", "_a", "a_b", "a\n", "\u{1b}[2J"])
    func `What is no name is refused with an example of one`(name: String) {
        let error = #expect(throws: CommandFailure.self) { try ScaffoldName(name) }
        #expect(
            error?.description.hasSuffix("use letters A to Z, digits and single hyphens, a letter first, as in tea-timer") == true)
        #expect(error?.description == error.map { escapeForTerminal($0.description) })
    }

    @Test func `A name that makes a module of Samovar's own manifest is refused`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        let programs = Set(manifest.matches(of: /name: "(\w+)Program"/).map { String($0.1) })
        #expect(programs == ScaffoldName.programs)
        for type in programs {
            let error = #expect(throws: CommandFailure.self) { try ScaffoldName(type.lowercased()) }
            #expect(
                error?.description
                    == "\"\(type.lowercased())\" would make the module \(type)Program, and Samovar has one of that name: take another name"
            )
            #expect(error?.code == .usage)
        }
    }

    @Test func `A name of an executable of Samovar's own manifest is refused`() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let manifest = try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8)
        let products = Set(manifest.matches(of: /\.executable\(name: "(\w+)"/).map { String($0.1) })
        #expect(products == ScaffoldName.products.union(["samovar"]))
        for name in ScaffoldName.products.sorted() + ["Counter"] {
            let error = #expect(throws: CommandFailure.self) { try ScaffoldName(name) }
            let text = "\"\(name)\" is an executable of Samovar, and SwiftPM takes no two of one name: take another name"
            #expect(error?.description == text && error?.code == .usage)
        }
    }

    @Test func `A name that means something else or is too long is refused`() throws {
        let error = #expect(throws: CommandFailure.self) { try ScaffoldName("program") }
        #expect(
            error?.description
                == "\"program\" would make the type Program, which means something else already: take another name")
        #expect(error?.code == .usage)
        #expect(throws: CommandFailure.self, "a type of SamovarTesting, which the tests use") { try ScaffoldName("test-store") }
        #expect(throws: CommandFailure.self, "its module would be hidden by OpenProgram") { try ScaffoldName("open") }
        #expect(throws: CommandFailure.self, "the package itself") { try ScaffoldName("SAMOVAR") }
        let long = String(repeating: "a", count: 24)
        let tooLong = #expect(throws: CommandFailure.self) { try ScaffoldName(long) }
        #expect(tooLong?.description == "\"\(long)\" is too long for a name: it may have 23 letters")
        #expect(try ScaffoldName(String(long.dropLast())).user.count == 31, "the longest name of a user")
    }
}
