import SamovarCore
import SamovarTesting
import Testing

/// Who sends, as `accept`, gates and `update` see it in a test.
@Suite struct SenderTests {
    enum Door: Program {
        struct State: Portable { var openedBy: [String] = [] }
        enum Message: Portable { case open }
        enum Refusal: Error, Portable { case notYours }

        static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Door> { .state(State()) }
        static func accept(_ input: Message, _ state: State, _ turn: Turn) throws(Refusal) -> Message {
            if turn.sender?.name == "thief" { throw .notYours }
            return input
        }
        static func update(_ state: inout State, _ message: Message, _ turn: Turn) -> Command<Door> {
            state.openedBy.append(turn.sender.map { "\($0.name)" } ?? "the house")
            return .none
        }
        static func view(_ state: State) -> Int { state.openedBy.count }
    }

    @Test func `An input comes with the key of a name, and a restart knows it`() throws {
        let store = try TestStore(Door.self)
        store.send(.open) { $0.openedBy = ["the house"] }
        store.sending(as: "guest") { store.send(.open) { $0.openedBy.append("guest") } }
        store.sending(as: "thief") { store.expectRefusal(of: .open, .notYours) }
        store.send(.open) { $0.openedBy.append("the house") }
        store.restart()
        store.sending(as: "guest") { store.send(.open) { $0.openedBy.append("guest") } }
        store.finish()
    }

    @Test func `Who sends while another does is followed by the other`() throws {
        let store = try TestStore(Door.self)
        store.sending(as: "guest") {
            store.sending(as: "host") { store.send(.open) { $0.openedBy = ["host"] } }
            store.send(.open) { $0.openedBy.append("guest") }
        }
        store.send(.open) { $0.openedBy.append("the house") }
        store.finish()
    }

    @Test func `A gate sees it, too`() throws {
        let gate = InputGate<Door>("list") { _, _, turn in turn.sender == nil ? "a key is needed" : nil }
        let store = try TestStore(Door.self, gates: [gate])
        store.expectRejection(of: .open, "list: a key is needed")
        store.sending(as: "guest") { store.send(.open) { $0.openedBy = ["guest"] } }
    }

    @Test func `A name of a key equals its own text and differs from any other, and no name differs from every text`() throws {
        let name = try #require(KeyName("guest"))
        let (known, missing): (KeyName?, KeyName?) = (name, nil)
        #expect(name == "guest" && !(name != "guest") && name != "host" && !(name == "host"))
        #expect(known == "guest" && !(known != "guest") && known != "host" && !(known == "host"))
        #expect(missing != "guest" && !(missing == "guest"))
    }

    @Test func `What is no name of a key is reported`() throws {
        let reports = Reports()
        let store = try TestStore(Door.self, reporter: reports.reporter)
        store.sending(as: "a guest") { store.send(.open) { $0.openedBy = ["a guest"] } }
        #expect(reports.takeAll() == ["sending(as:): “a guest” is no name of a key"])
    }
}
