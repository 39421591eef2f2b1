import Foundation
import Testing

/// `docs/guarantees.md` says which test proves what; it may name none that does not exist.
@Suite struct GuaranteesTests {
    private let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// A test as the page names it.
    struct Name: Hashable, CustomStringConvertible {
        var suite: String
        var test: String

        var description: String { "\(suite)/\(test)" }
    }

    static func names(in page: String) -> [Name] {
        // A paragraph may break a line within a name.
        page.replacing("\n", with: " ").matches(of: /`([A-Z]\w*Tests)\/([^`]+)`/).map {
            Name(suite: String($0.1), test: String($0.2))
        }
    }

    /// Of one file: every test with every suite that is declared in it.
    static func tests(in source: String) -> Set<Name> {
        let suites = source.matches(of: /(?:struct|class|actor|extension) (\w+Tests)\b/).map { String($0.1) }
        let tests = source.matches(of: /@Test(?s:.*?)\bfunc (?:`([^`]+)`|(\w+))/).compactMap { ($0.1 ?? $0.2).map(String.init) }
        return Set(suites.flatMap { suite in tests.map { Name(suite: suite, test: $0) } })
    }

    private func page() throws -> String {
        try String(contentsOf: root.appending(path: "docs/guarantees.md"), encoding: .utf8)
    }

    @Test func `Every test that the page names exists`() throws {
        var known: Set<Name> = []
        let files = try #require(FileManager.default.enumerator(at: root.appending(path: "Tests"), includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            known.formUnion(Self.tests(in: try String(contentsOf: file, encoding: .utf8)))
        }
        let named = Self.names(in: try page())
        #expect(named.count > 150 && known.count > 500, "the page or the sources were not read: \(named.count), \(known.count)")
        let missing = Set(named).subtracting(known).map(\.description).sorted()
        #expect(missing.isEmpty, "\(missing.joined(separator: "\n"))")
    }

    @Test func `A test that is gone would be noticed`() {
        let source = """
            @Suite struct SomeTests {
                @Test(arguments: [1, 2]) func `It holds, as (it) should`(_ number: Int) {}
                @Test func `It holds`() {}
                func helper() {}
            }
            """
        let known = Self.tests(in: source)
        let page = """
            | `SomeTests/It holds, as (it) should` | `SomeTests/It holds`, `SomeTests/helper`,
            `OtherTests/It holds` and `make test`
            """
        #expect(Self.names(in: page).map { known.contains($0) } == [true, true, false, false])
    }

    @Test func `Every invariant, every scenario and every promise has its line`() throws {
        let page = try page()
        for number in 1...13 { #expect(page.contains("\n| I\(number) |"), "I\(number)") }
        var covered: Set<Int> = []
        for line in page.split(separator: "\n") where line.hasPrefix("| F") {
            let cell = line.dropFirst(2).prefix { $0 != "|" }
            for part in cell.split(separator: ",") {
                let ends = part.split(separator: "–").compactMap { Int($0.drop { !$0.isNumber }.prefix { $0.isNumber }) }
                if let first = ends.first, let last = ends.last { covered.formUnion(first...max(first, last)) }
            }
        }
        #expect(covered == Set(1...83), "\(Set(1...83).subtracting(covered).sorted())")
        for promise in [
            "Message", "Order", "Effect", "Completion", "View", "Crash", "Overload", "Damage", "Sessions", "Determinism", "Poison",
        ] {
            #expect(page.contains("\n| **\(promise)** |"), "\(promise)")
        }
    }
}
