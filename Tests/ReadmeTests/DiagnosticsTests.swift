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

    /// The errors of the compiler, by line.
    private func errors(in source: String) async throws -> [String] {
        let scratch = try Scratch()
        let file = try scratch.write(source, to: "Shop.swift")
        let modules = Executable.path("Modules")
        let compiler = try await Child.run(
            "/usr/bin/env", ["swiftc", "-typecheck", "-swift-version", "6", "-I", modules, file])
        return compiler.errors.split(separator: "\n").filter { $0.hasPrefix(file) && $0.contains(" error: ") }
            .map { String($0.dropFirst(file.utf8.count + 1)) }
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
