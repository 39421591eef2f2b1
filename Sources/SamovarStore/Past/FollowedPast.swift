public import MessagePack
import SamovarCore
public import SamovarWire

/// A past that is looked through for long, while its journal may grow.
public protocol FollowedPast: PastReader {
    /// The first turn whose record is kept.
    var firstRecord: Int { get }

    /// Tells of the records of some turns, in their order, until `body` returns false. No state is computed, and no code of the program runs.
    func records(of turns: ClosedRange<Int>, _ body: (Record) throws -> Bool) throws

    /// The state as of ``PastReader/turn`` as a later beginning; nil where a replay cannot begin.
    func checkpoint() throws -> PastCheckpoint?

    /// Makes the state the one of a checkpoint, from which ``PastReader/move(to:)`` goes on.
    func begin(at checkpoint: PastCheckpoint) throws

    /// What the turn ordered to which ``PastReader/walk(through:_:)`` has come, for people.
    var orders: [MessagePackValue] { get }
}

/// A state that was computed, from which later ones can be. Another process of the same build may go on from it.
public struct PastCheckpoint: Equatable, Sendable {
    public let turn: Int
    /// In MessagePack.
    public let state: [UInt8]

    public init(turn: Int, state: [UInt8]) {
        (self.turn, self.state) = (turn, state)
    }
}

extension LoggedOrder {
    /// For people; nil for what is no order of the program, but becomes of its turn.
    var shown: MessagePackValue? {
        switch self {
        case .run(let effect): effect.shown
        case .cancel(let label): ["cancel": .string("\(label)")]
        case .emit(let output): ["output": .string("\(output.id)"), "value": MessagePackValue(shown: output.bytes)]
        case .control(let control, _, _): ["control": control.shown]
        case .want(let wanted, _, _): ["subscriptions": .array(wanted.map { .string("\($0.id)") })]
        case .close, .streamed, .fired: nil
        }
    }
}

extension OpenEffect {
    fileprivate var shown: MessagePackValue {
        var value: MessagePackValue = [
            "effect": .string("\(id)"), "value": MessagePackValue(shown: payload), "queue": .string("\(options.queue)"),
        ]
        if let label = options.id { value["label"] = .string("\(label)") }
        return value
    }
}
