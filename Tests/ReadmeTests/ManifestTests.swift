import Foundation
import Testing

/// What depends on what: a user's program links all that the library product reaches.
@Suite struct ManifestTests {
    /// A target as Package.swift names it.
    private struct Target {
        var isTest: Bool
        var path: String
        var dependencies: Set<String>
    }

    private static func targets() throws -> [String: Target] {
        try targets(of: try Checkout.text("Package.swift"))
    }

    private static func targets(of manifest: String) throws -> [String: Target] {
        let manifest = manifest.replacing(/\/\/.*/, with: "")
        var products: [Substring: String] = [:]
        for match in manifest.matches(of: /let (\w+): Target\.Dependency = \.product\(name: "(\w+)"/) {
            products[match.1] = String(match.2)
        }
        var targets: [String: Target] = [:]
        let pattern = /\.(t|executableT|testT)arget\(\s*name: "(\w+)"((?s:.*?))swiftSettings/
        for match in manifest.matches(of: pattern) {
            let isTest = match.1 == "testT"
            let path = match.3.firstMatch(of: /path: "([^"]+)"/).map { String($0.1) }
            let named = match.3.firstMatch(of: /dependencies:([^\]]*)\]/)?.1 ?? ""
            var dependencies = Set(named.matches(of: /"(\w+)"/).map { String($0.1) })
            dependencies.formUnion(named.matches(of: /\b(\w+)\b/).compactMap { products[$0.1] })
            targets[String(match.2)] = Target(
                isTest: isTest, path: path ?? (isTest ? "Tests/" : "Sources/") + match.2, dependencies: dependencies)
        }
        return targets
    }

    /// All that a target needs, directly or through others.
    private static func reach(of start: String, in targets: [String: Target]) -> Set<String> {
        var reached: Set<String> = []
        var open = [start]
        while let name = open.popLast() {
            for next in targets[name]?.dependencies ?? [] where reached.insert(next).inserted { open.append(next) }
        }
        return reached
    }

    @Test func `A program that imports Samovar does not link what proves the runtime`() throws {
        let targets = try Self.targets()
        let reached = Self.reach(of: "Samovar", in: targets)
        #expect(reached.isSuperset(of: ["SamovarCore", "SamovarCommands", "SamovarHost", "SQLiteJournal", "GRDB"]))
        #expect(reached.isDisjoint(with: ["SamovarSimulator", "SamovarTesting", "SamovarCLI", "Testing"]))
        #expect(Self.reach(of: "SamovarCLI", in: targets).contains("SamovarSimulator"))
    }

    @Test func `Page, load tests and PostgreSQL are built by who names them`() throws {
        let targets = try Self.targets()
        let reached = Self.reach(of: "Samovar", in: targets)
        let optional: Set = [
            "SamovarWeb", "FlyingFox", "SamovarLoad", "SamovarLoadTest", "Histogram", "PostgreSQL", "PostgreSQLJournal",
        ]
        #expect(reached.isDisjoint(with: optional))
        let named = ["SamovarWeb", "SamovarLoadTest", "PostgreSQLJournal"].map { Self.reach(of: $0, in: targets).union([$0]) }
        #expect(named.reduce(into: Set()) { $0.formUnion($1) }.isSuperset(of: optional))
    }

    @Test func `The simulator is built without hosts, adapters and their libraries`() throws {
        let reached = Self.reach(of: "SimulatorCLI", in: try Self.targets())
        #expect(reached.isSuperset(of: ["SamovarSimulator", "SamovarPeers", "SamovarStore"]))
        #expect(reached.isDisjoint(with: ["SamovarHost", "SQLiteJournal", "ZeroMQ", "SamovarCommands", "GRDB", "SHA2"]))
    }

    @Test func `Tests of programs and workers are built without sockets and databases`() throws {
        let reached = Self.reach(of: "SamovarTesting", in: try Self.targets())
        #expect(reached.isSuperset(of: ["SamovarStore", "SamovarWorker"]))
        #expect(reached.isDisjoint(with: ["SamovarHost", "SQLiteJournal", "ZeroMQ", "SamovarCommands", "GRDB", "Crypto"]))
    }

    @Test func `Each target of the library imports all that it depends on`() throws {
        for (name, target) in try Self.targets() where target.path.hasPrefix("Sources/") {
            var imported: Set<String> = []
            for path in try Checkout.files(below: target.path, ending: ".swift") {
                for line in try Checkout.text(path).split(separator: "\n") {
                    let words = line.split(separator: " ")
                    guard let place = words.firstIndex(of: "import"), let last = words.last, place < words.count - 1 else {
                        continue
                    }
                    // Of `import struct A.B`, too, the module.
                    imported.insert(String(last.prefix { $0 != "." }))
                }
            }
            let unused = target.dependencies.subtracting(imported)
            #expect(unused.isEmpty, "\(name) imports none of \(unused.sorted()), and yet depends on them")
        }
    }

    /// The files that install what Package.swift asks of the system, or tell a person to.
    @Test(arguments: [
        "Makefile", "Dockerfile", "Sources/NewCommand/PackageTemplate.swift",
        "Sources/NewCommand/PackageTemplate+Deployment.swift",
    ])
    func `Whoever installs the libraries of the system installs all of them`(_ path: String) throws {
        let named = try Checkout.text("Package.swift").matches(of: /\.apt\(\["([^"]+)"\]\)/).map { String($0.1) }
        #expect(named.count >= 3)
        let text = try Checkout.text(path)
        // What only some programs want is installed for tests, and by those programs.
        let wanted = path == "Makefile" ? named : named.filter { $0 != "libpq-dev" }
        #expect(wanted.filter { !text.contains($0) } == [], "\(path) does not name them")
    }

    @Test func `A program that keeps its journal in a file is built without PostgreSQL`() throws {
        let reached = Self.reach(of: "Samovar", in: try Self.targets())
        #expect(reached.contains("SQLiteJournal") && reached.isDisjoint(with: ["CPostgreSQL", "PostgreSQL", "PostgreSQLJournal"]))
    }

    @Test func `Targets are read with their products, and without what is said about them`() throws {
        let targets = try Self.targets(
            of: """
                let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
                // .target(name: "C", swiftSettings: settings),
                .target(name: "A", swiftSettings: settings),
                .testTarget(
                    name: "B", dependencies: ["A", deque], path: "Elsewhere/B", swiftSettings: settings),
                """)
        #expect(targets.keys.sorted() == ["A", "B"])
        #expect(targets["A"]?.path == "Sources/A" && targets["A"]?.dependencies == [])
        #expect(targets["B"]?.path == "Elsewhere/B" && targets["B"]?.dependencies == ["A", "DequeModule"])
        #expect(Self.reach(of: "B", in: targets) == ["A", "DequeModule"])
    }
}
