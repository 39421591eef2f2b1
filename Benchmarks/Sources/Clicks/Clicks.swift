import MessagePack
import SamovarCore

/// A program whose turns cost hardly anything, so that its journal is what is measured. Its journal is in a data folder or in PostgreSQL.
enum Clicks: Program {
    struct State: Portable {
        var count = 0
    }

    /// An input and the message that it becomes: the number of a button.
    struct Click: Portable, MessagePackable {
        var button: Int

        init(button: Int) { self.button = button }

        func write(to writer: inout MessagePackWriter) { writer.write(button) }

        init(from reader: inout MessagePackReader) throws(MessagePackError) { button = try reader.readInt() }
    }

    typealias Input = Click
    typealias Message = Click

    struct ViewState: Portable {
        let count: Int
    }

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Clicks> { .state(State()) }

    static func accept(_ input: Click, _ state: State, _ turn: Turn) -> Click { input }

    static func update(_ state: inout State, _ message: Click, _ turn: Turn) -> Command<Clicks> {
        state.count += 1
        return .none
    }

    static func view(_ state: State) -> ViewState { ViewState(count: state.count) }
}
