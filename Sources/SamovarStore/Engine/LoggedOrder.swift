import SamovarCore
import SamovarWire

/// One change of the books that a turn gave.
enum LoggedOrder: Equatable, Sendable {
    /// The turn is the answer of this effect, which closes.
    case close(EffectID)
    /// The turn is a message that this effect streamed.
    case streamed(EffectID, lease: Lease, index: Int, checkpoint: [UInt8]?)
    /// The turn is a firing of this activation for a nominal time. With the message as this build encodes it, if a replay has that at hand.
    case fired(EffectID, nominal: Timestamp, message: [UInt8]?)
    case run(OpenEffect)
    case cancel(Label)
    case emit(EmittedOutput)
    /// Its place among the orders of its turn.
    case control(Control, at: EffectID, now: Timestamp)
    /// What the state wants to hear of from this turn on. Effects of sources are named after the turn.
    case want([WantedEvent], turn: Int, now: Timestamp)
}

/// A subscription with its program's types encoded.
struct WantedEvent: Equatable, Sendable {
    enum Kind: Equatable, Sendable {
        case timer(Schedule, message: [UInt8])
        case lifecycle(Lifecycle, message: [UInt8])
        case source(payload: [UInt8], RunOptions)
    }

    var id: Label
    var kind: Kind
}

/// The views after each turn that applied a message.
struct ViewTap {
    var views: [TurnView] = []
    /// A trap in `view` is not the fault of the message.
    let marker: TrapMarker
}
