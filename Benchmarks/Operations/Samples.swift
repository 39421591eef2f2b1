import MessagePack
import SamovarCore

/// A message as a user writes it who does nothing for speed.
enum PlainMessage: Portable {
    case increment(by: Int)
    case rename(to: String)
}

/// One that knows its own bytes.
struct PackableMessage: Portable, MessagePackable {
    var step: Int

    init(step: Int) { self.step = step }

    func write(to writer: inout MessagePackWriter) { writer.write(step) }

    init(from reader: inout MessagePackReader) throws(MessagePackError) { step = try reader.readInt() }
}

/// The cheapest program there is.
enum Tally<Step: Portable>: OpenProgram {
    struct State: Portable {
        var count = 0
    }

    typealias Message = Step

    static func start(_ seed: NoSeed, _ turn: Turn) -> Next<Self> { .state(State()) }

    static func update(_ state: inout State, _ message: Step, _ turn: Turn) -> Command<Self> {
        state.count &+= 1
        return .none
    }
}
