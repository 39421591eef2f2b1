import Foundation
import Testing

/// `docs/architecture.md` has a picture of the modules and the ways through the code, and names files and symbols. They are those of
/// `Package.swift` and of the sources.
@Suite struct ArchitecturePageTests {
    private static let ways = ["An input", "An effect", "A view"]
    private static let mostSteps = 15

    // MARK: The picture

    /// Modules and, for each, those that it depends on; libraries of others are left out.
    typealias Modules = [String: Set<String>]

    static func modules(drawnIn page: String) -> Modules {
        guard let picture = page.firstMatch(of: /```mermaid\n((?s:.*?))```/)?.1 else { return [:] }
        var modules: Modules = [:]
        for line in picture.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            if words.count == 1, words[0] != "end" {
                modules[words[0], default: []] = modules[words[0]] ?? []
            } else if words.count > 2, words[1] == "-->" {
                modules[words[0], default: []].formUnion(words.dropFirst(2).filter { $0 != "&" })
            }
        }
        return modules
    }

    static func modules(of manifest: String) -> Modules {
        let manifest = manifest.replacing(/\/\/.*/, with: "")
        let pattern = /\.(?:target|executableTarget|systemLibrary)\(\s*name: "(\w+)"(?:,\s*dependencies: \[([^\]]*)\])?/
        var modules: Modules = [:]
        for match in manifest.matches(of: pattern) where Checkout.exists("Sources/\(match.1)") {
            modules[String(match.1)] = Set((match.2 ?? "").matches(of: /"(\w+)"/).map { String($0.1) })
        }
        return modules
    }

    @Test func `The picture has the modules and arrows of Package.swift`() throws {
        let drawn = Self.modules(drawnIn: try Checkout.text("docs/architecture.md"))
        let declared = Self.modules(of: try Checkout.text("Package.swift"))
        #expect(declared.count > 15, "Package.swift was not read")
        #expect(Set(drawn.keys) == Set(declared.keys))
        for (module, dependencies) in declared {
            let differing = dependencies.symmetricDifference(drawn[module] ?? []).sorted()
            #expect(differing.isEmpty, "\(module): only the picture or only Package.swift has arrows to \(differing)")
        }
    }

    // MARK: The ways

    /// The text of a section, up to the next heading of its kind.
    static func section(_ heading: String, of page: String) -> Substring? {
        guard let begin = page.range(of: "\n### \(heading)") else { return nil }
        let rest = page[begin.upperBound...]
        return rest.range(of: "\n##").map { rest[..<$0.lowerBound] } ?? rest
    }

    /// The numbered paragraphs of a section.
    static func steps(of section: Substring) -> [String] {
        section.split(separator: "\n").reduce(into: [String]()) { steps, line in
            if line.firstMatch(of: /^\d+\.\s/) != nil {
                steps.append(String(line))
            } else if line.hasPrefix("  "), !steps.isEmpty {
                steps[steps.count - 1] += " " + line
            }
        }
    }

    /// What is wrong with a step: files that are not there, and symbols that none of its files declares.
    static func mistakes(in step: String, _ source: (String) -> String?) -> [String] {
        let quoted = step.matches(of: /`([^`]+)`/).map { String($0.1) }
        let paths = quoted.filter { $0.hasPrefix("Sources/") }
        var mistakes = paths.filter { source($0) == nil }.map { "there is no \($0)" }
        if paths.isEmpty { mistakes.append("no file is named") }
        let sources = paths.compactMap(source)
        for symbol in quoted {
            guard symbol.wholeMatch(of: /[A-Z]\w*(?:\.\w+)?/) != nil else { continue }
            let names = symbol.split(separator: ".").map(String.init)
            if !sources.contains(where: { declares(names, $0) }) { mistakes.append("none of its files declares \(symbol)") }
        }
        return mistakes
    }

    /// Whether a source declares or extends a type and, if there are two names, declares the second one somewhere, too.
    private static func declares(_ names: [String], _ source: String) -> Bool {
        func has(_ keywords: String, _ name: String) -> Bool {
            source.split(separator: "\n").contains { line in
                guard let found = line.range(of: "\\b(\(keywords)) \(name)\\b", options: .regularExpression) else { return false }
                return !line[..<found.lowerBound].contains("//")
            }
        }
        guard has("struct|class|enum|protocol|actor|extension", names[0]) else { return false }
        return names.count == 1 || has("func|var|let|case|struct|class|enum", names[1])
    }

    private static func text(_ path: String) -> String? { try? Checkout.text(path) }

    @Test(arguments: ways) func `Each way has few steps, and names files and symbols that are there`(_ way: String) throws {
        let section = try #require(Self.section(way, of: try Checkout.text("docs/architecture.md")), "there is no section “\(way)”")
        let steps = Self.steps(of: section)
        #expect((5...Self.mostSteps).contains(steps.count))
        for step in steps {
            let mistakes = Self.mistakes(in: step, Self.text)
            #expect(mistakes.isEmpty, "\(way), “\(step.prefix(60))…”: \(mistakes.joined(separator: "; "))")
        }
    }

    // MARK: The table

    /// The files of each way, as the table has them, and the numbers of its last row.
    private static func table(of page: String) -> (files: [[String]], all: [Int]) {
        var files: [[String]] = ways.map { _ in [] }
        var all: [Int] = []
        for line in section("What each way passes through", of: page)?.split(separator: "\n") ?? [] where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == ways.count + 1 else { continue }
            if cells[0] == "all" { all = cells.dropFirst().compactMap { Int($0) } }
            guard cells[0].hasPrefix("`Sources/") else { continue }
            let folder = cells[0].trimmingCharacters(in: ["`"])
            for (way, cell) in cells.dropFirst().enumerated() where !cell.isEmpty {
                files[way] += cell.components(separatedBy: ", ").map { "\(folder)/\($0).swift" }
            }
        }
        return (files, all)
    }

    @Test func `The table has the files of each way, and their number`() throws {
        let page = try Checkout.text("docs/architecture.md")
        let table = Self.table(of: page)
        #expect(table.files.map(\.count) == table.all)
        for (way, files) in zip(Self.ways, table.files) {
            #expect(Set(files).count == files.count, "\(way): a file stands there twice")
            for file in files { #expect(Checkout.exists(file), "\(way): there is no \(file)") }
            let named = (Self.section(way, of: page) ?? "").matches(of: /`(Sources\/[^`]+\.swift)`/).map { String($0.1) }
            let missing = Set(named).subtracting(files).sorted()
            #expect(!named.isEmpty && missing.isEmpty, "\(way): the steps name \(missing), the table does not")
        }
    }

    // MARK: The checks themselves

    @Test func `A picture that is wrong differs`() {
        let page = """
            ```mermaid
            graph TD
                subgraph pure
                    A
                    B
                end
                B --> A
                C --> A & B
            ```
            """
        #expect(Self.modules(drawnIn: page) == ["A": [], "B": ["A"], "C": ["A", "B"]])
        let manifest = """
            .target(name: "SamovarCore", swiftSettings: settings),
            .target(
                name: "SamovarStore", dependencies: ["SamovarCore", deque], swiftSettings: settings),
            // .target(name: "Journal"),
            .target(name: "FuzzSubjects", dependencies: ["SamovarCore"], path: "Tests/FuzzSubjects"),
            .systemLibrary(name: "CSQLite", providers: []),
            """
        #expect(Self.modules(of: manifest) == ["SamovarCore": [], "SamovarStore": ["SamovarCore"], "CSQLite": []])
    }

    @Test func `A step that is wrong is noticed`() {
        let page = "\n### An input, now\n\n1. `A.go` is\n   done (`Sources/A.swift`)\n2. b\n\n### Next\n\n1. c\n"
        #expect(Self.section("An input", of: page).map(Self.steps)?.count == 2)
        let source = "struct A {\n    mutating func go() {}\n    // let gone = 1\n}\n"
        func mistakes(_ step: String) -> Int {
            Self.mistakes(in: step) { $0 == "Sources/A.swift" ? source : nil }.count
        }
        #expect(mistakes("`A.go`, `A`, `update` and `Sources/A.swift`") == 0)
        #expect(mistakes("`A.gone` in `Sources/A.swift`") == 1)
        #expect(mistakes("`B.go` in `Sources/A.swift`") == 1)
        #expect(mistakes("`A.go` in `Sources/A.swift` and `Sources/B.swift`") == 1)
        #expect(mistakes("it goes on") == 1)
    }
}
