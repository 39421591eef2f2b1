import Foundation
import ProcessSupport
import Testing

/// What the compiler says of programs with a mistake: the error stands at the program and names what is missing.
@Suite struct DiagnosticsTests {
    private static let program = """
        import SamovarCore

        enum Shop: Program {
            struct State: Portable { var open = 0 }
            enum Message: Portable { case ordered, delivered }
            enum Effect: Portable { case deliver }

            static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Shop> { .state(State()) }
            static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }
            static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Shop> { .run(.deliver) }
            static func view(_ state: State) -> Int { state.open }
            static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .delivered }
        }

        """

    /// Where the compiler finds the modules of C that ours are built with.
    private static let maps: [String] = {
        let scratch = URL(filePath: Executable.path("")).deletingLastPathComponent().deletingLastPathComponent()
        let folders = [Checkout.root.appending(path: "Sources"), scratch.appending(path: "checkouts")]
        return folders.flatMap { folder -> [String] in
            let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
            let maps = files.filter { $0.lastPathComponent == "module.modulemap" && $0.path.contains("/Sources/") }
            return maps.flatMap { ["-I", $0.deletingLastPathComponent().path] }
        }
    }()

    /// The errors of the compiler, by line.
    private func errors(in source: String) async throws -> [String] {
        let scratch = try Scratch()
        let file = try scratch.write(source, to: "Shop.swift")
        let modules = Executable.path("Modules")
        let compiler = try await Child.run(
            "/usr/bin/env", ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules] + Self.maps + [file])
        // A module that is not found has no place in the file.
        #expect(!compiler.errors.contains("<unknown>:0: error:"), "\(compiler.errors)")
        return compiler.errors.split(separator: "\n").filter { $0.hasPrefix(file) }
            .map { String($0.dropFirst(file.utf8.count + 1)) }.filter { $0.contains(" error: ") }
    }

    /// A list of handlers that follows lines of its own, since the mistake must not be told of at another handler.
    private static func listed(_ name: String, _ head: String, _ parameters: String) -> String {
        """
        import SamovarCore
        import SamovarWorker

        enum Shop: Program {
            struct State: Portable { var open = 0 }
            enum Message: Portable { case ordered, delivered }
            enum Effect: Portable {
                case deliver(to: String), probe(count: Int)
                var deliver: String? { if case .deliver(let address) = self { address } else { nil } }
                var probe: Int? { if case .probe(let count) = self { count } else { nil } }
            }

            static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Shop> { .state(State()) }
            static func accept(_ input: Message, _ state: State, _ turn: Turn) -> Message { input }
            static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Shop> { .none }
            static func view(_ state: State) -> Int { state.open }
            static func failed(_ effect: Effect, _ failure: Failure) -> Message? { .delivered }
            static var worker: Worker<Shop> {
                \(head) {
                    on(\\.deliver) { address, \(parameters) in .delivered }
                    on(\\.\(name)) { count, \(parameters) in
                        .delivered
                    }
                }
            }
        }

        """
    }

    @Test(arguments: [(".handlers", "job"), (".handlers(environment: { 1 })", "number, job")])
    func `A misspelt key path in a list of handlers is named where it stands`(head: String, parameters: String) async throws {
        #expect(try await errors(in: Self.listed("probe", head, parameters)) == [])
        let errors = try await errors(in: Self.listed("probes", head, parameters))
        #expect(errors == ["21:16: error: value of type 'Shop.Effect' has no member 'probes'"])
    }

    @Test func `A program without a mistake compiles`() async throws {
        #expect(try await errors(in: Self.program) == [])
    }

    @Test(arguments: ["start", "accept", "update", "view", "failed"])
    func `A misspelt requirement is named, with its signature`(name: String) async throws {
        let source = Self.program.replacing("static func \(name)(", with: "static func \(name)s(")
        #expect(source != Self.program)
        let errors = try await errors(in: source)
        #expect(
            errors.first { $0.hasPrefix("3:6: error: unavailable static method '\(name)' was used to satisfy a requirement") }?
                .contains("write `static func \(name)(") == true, "\(errors)")
        #expect(errors.allSatisfy { $0.hasPrefix("3:6: ") }, "\(errors)")
    }

    @Test(arguments: [
        ("update", "_ state: inout State", "_ state: State"), ("view", "view(_ state: State)", "view(_ state: Message)"),
    ])
    func `A requirement with another argument is named, too`(name: String, right: String, wrong: String) async throws {
        let errors = try await errors(in: Self.program.replacing(right, with: wrong))
        #expect(errors.contains { $0.contains("'\(name)' was used to satisfy") }, "\(errors)")
    }
}
