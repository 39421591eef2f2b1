import Foundation
import MessagePack
import ProcessSupport
import SamovarCore
import SamovarTesting
import Testing

@testable import ButtonsExample

@Suite struct ButtonsTests {
    @Test func `A person sees the count, and what the buttons send changes it`() throws {
        let store = try TestStore(Buttons.self)
        store.send(.add(by: 10)) { $0.count = 10 }
        store.send(.add(by: -1)) { $0.count = 9 }
        store.expectView(
            Panel(
                "Buttons",
                [
                    .text("count 9", .heading),
                    .columns([
                        .button("−1", send: .add(by: -1)), .button("+1", send: .add(by: 1)), .button("+10", send: .add(by: 10)),
                    ]),
                    .space,
                    .columns([.button("save", send: .save), .button("load", send: .load)]),
                    .text("not saved", .quiet),
                    .rows([]),
                ]))
        store.finish()
    }

    @Test func `What is inside a case without values is not taken for another case by generated code`() throws {
        let bytes = try MessagePackEncoder().encode(["load": ["save": ["_0": 5]]])
        #expect(try ValueCodec<Buttons.Effect>(MessagePackEncoder(), MessagePackDecoder()).decode(bytes) == .load)
        #expect(throws: DecodingError.self) {
            try ValueCodec<Buttons.Effect>(MessagePackEncoder(), MessagePackDecoder(lenient: true)).decode(bytes)
        }
    }

    @Test func `What is saved is what the count was, and a load brings it back`() throws {
        let store = try TestStore(Buttons.self)
        store.send(.add(by: 5)) { $0.count = 5 }
        store.send(.save)
        store.send(.add(by: 1)) { $0.count = 6 }
        // Not before the save is done, though there is a worker.
        store.send(.load)
        store.expectEffects([.save(5), .load])
        store.complete(.save(5), with: .saved(5)) { $0.saved = 5 }
        store.complete(.load, with: .loaded(5)) { $0.count = 5 }
        store.finish()
    }

    @Test func `A file that cannot be read is told of`() throws {
        let store = try TestStore(Buttons.self)
        store.send(.load)
        store.fail(.load, .threw, "there is no count.txt") { $0.problem = "failed after 1 attempt: there is no count.txt" }
        #expect(store.view.nodes.last == .rows([.text("failed after 1 attempt: there is no count.txt", .bad)]))
        store.finish()
    }

    @Test func `A store that is back loads what is in the file, unless that would lose something`() throws {
        let store = try TestStore(Buttons.self)
        store.send(.add(by: 1)) { $0.count = 1 }
        store.restart()
        store.expectEffects([])
        store.send(.save)
        store.complete(.save(1), with: .saved(1)) { $0.saved = 1 }
        store.restart()
        store.expectEffects([.load])
        store.complete(.load, with: .loaded(7)) {
            $0.count = 7
            $0.saved = 7
        }
        store.finish()
    }

    @Test func `A person presses save and load, and what others wrote to the file is loaded`() async throws {
        let buttons = try await ExampleStore("buttons", variables: ["BUTTONS_FILE": "{}/count.txt"])
        let terminal = try buttons.monitor()
        try await see("count 0", in: terminal)
        // The buttons are −1, +1, +10, save and load.
        terminal.type("3")
        try await see("count 10", in: terminal)
        terminal.type("4")
        try await see("not saved", isGoneFrom: terminal)
        #expect(buttons.text(of: "count.txt") == "10\n")
        try buttons.scratch.write("42\n", to: "count.txt")
        terminal.type("5")
        try await see("count 42", in: terminal)
        try buttons.scratch.write("forty\n", to: "count.txt")
        terminal.type("5")
        try await see("holds no number", in: terminal)
    }

    @Test func `A store that ends with something unsaved saves it, when it has a worker again`() async throws {
        let buttons = try await ExampleStore("buttons", variables: ["BUTTONS_FILE": "{}/count.txt"])
        try await buttons.send(#"{"add":{"by":3}}"#)
        try await buttons.stop()
        #expect(buttons.text(of: "count.txt") == nil)
        try await buttons.start()
        try await eventually("the count is saved") { buttons.text(of: "count.txt") == "3\n" }
    }

    private func see(_ text: String, in terminal: PseudoTerminal) async throws {
        do {
            try await eventually("the screen shows \(text)") { terminal.text.contains(text) }
        } catch let error as TimedOut {
            throw TimedOut("\(error)\n\(terminal.text)")
        }
    }

    private func see(_ text: String, isGoneFrom terminal: PseudoTerminal) async throws {
        try await eventually("the screen does not show \(text)") { !terminal.text.contains(text) }
    }
}

extension ExampleStore {
    /// A file of the test; nil if there is none.
    fileprivate func text(of name: String) -> String? {
        FileManager.default.contents(atPath: scratch.folder(name)).map { String(decoding: $0, as: UTF8.self) }
    }
}
