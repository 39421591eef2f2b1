import Foundation
import ProcessSupport
import Testing

/// `store --shadow`: a process that follows a running store and compares, with real processes.
@Suite struct ShadowTests {
    private static let fickle = Executable.path("FickleProgram")
    private static let names = #"{"add":{"names":["Ada","Alan","Barbara","Donald","Edsger","Frances","Grace","John"]}}"#

    private let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func start(_ words: [String], input: String = "", order: String? = nil) throws -> Child {
        try Child(
            Self.fickle, words + ["--data", scratch.folder("data")], in: scratch, input: input,
            variables: order.map { ["FICKLE_ORDER": $0] } ?? [:])
    }

    private func serving(order: String) async throws -> Child {
        let store = try start(["store"], order: order)
        try await eventually("the store serves: \(store.errors)") { store.errors.contains("serving") }
        return store
    }

    private func following(order: String) async throws -> Child {
        let shadow = try start(["store", "--shadow"], order: order)
        try await eventually("the shadow follows: \(shadow.errors)") { shadow.errors.contains("nothing differs up to turn") }
        return shadow
    }

    private func send(_ inputs: String) async throws {
        let sent = try start(["send", "-"], input: inputs)
        #expect(try await sent.wait() == .exited(0), "\(sent.errors)")
    }

    private func status() async throws -> [String: Any] {
        let status = try start(["status", "--json"])
        try await status.wait()
        return try status.json
    }

    @Test func `A state that depends on the order of a set ends the shadow within one comparison, and the store goes on`() async throws {
        let store = try await serving(order: "forward")
        let shadow = try await following(order: "backward")
        try await send(Self.names + "\nlook\n")
        #expect(try await shadow.wait() == .exited(65), "\(shadow.errors)")
        let alarm = try #require(
            shadow.errors.firstMatch(of: /turn (\d+): the state before it is not the one that the store had/), "\(shadow.errors)")
        // Within one comparison: the next digest after the turn that did it.
        let turn = try #require(Int(alarm.1))
        #expect(turn > 3 && turn < 20)
        #expect(store.end == nil)
        #expect(try await status()["stateDigestTurn"] as? Int != nil)
        store.send(SIGTERM)
        #expect(try await store.wait() == .exited(0), "\(store.errors)")
    }
}
