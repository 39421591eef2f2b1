public import SamovarCore

/// What groups of turns gave, in order: records for the journal and changes of the books.
///
/// A class, so that a batch that grows is never copied on its way through the engine. Used by one thread, and none of its accesses
/// calls anything that could reach it again; so they are not checked for that each time.
public final class TurnLog {
    @exclusivity(unchecked) public var batch: RecordBatch
    /// What turns ordered, and behind it unused entries. Entries are used again: to empty the array for each turn is too slow.
    @exclusivity(unchecked) private(set) var orders: [LoggedOrder?] = []
    @exclusivity(unchecked) private var orderCount = 0
    /// Whether records are written to the batch. Those of a replay are in the journal already.
    @usableFromInline let writesRecords: Bool
    /// Takes the view after each turn, while somebody watches every one; else nil.
    @exclusivity(unchecked) var tap: ViewTap?
    @usableFromInline var isTapped: Bool { tap != nil }

    public init(after turn: Int) {
        batch = RecordBatch(after: turn)
        writesRecords = true
    }

    /// Collects what a replay orders, and writes nothing.
    init(ofReplayAfter turn: Int) {
        batch = RecordBatch(after: turn)
        writesRecords = false
    }

    /// Whether turns have ordered something that was not taken yet.
    public var hasOrders: Bool { orderCount > 0 }

    /// Notes what a turn orders.
    @usableFromInline
    func append(_ order: consuming LoggedOrder) { add(order) }

    /// The same where it is made: written to its place, and not handed on through memory.
    @inline(__always)
    func add(_ order: consuming LoggedOrder) {
        if orderCount == orders.count { orders.append(nil) }
        orders[orderCount] = order
        orderCount += 1
    }

    /// Hands over what was ordered, in the order in which turns gave it, which is the order in which it must be carried out, live and in
    /// a replay.
    public func takeOrders(_ carryOut: (consuming LoggedOrder) -> Void) {
        for index in 0..<orderCount {
            if let order = orders[index].take() { carryOut(order) }
        }
        orderCount = 0
    }

    /// Writes a record, unless it was read from the journal.
    @usableFromInline
    func write(_ record: Record) {
        if writesRecords { batch.append(record) }
    }
}

/// One change of the books that a turn gave.
public enum LoggedOrder: Equatable, Sendable {
    /// The turn is the answer of this effect, which closes.
    case close(EffectID)
    /// The turn is a message that this effect streamed.
    case streamed(EffectID, lease: Lease, index: Int, checkpoint: [UInt8]?)
    /// The turn is a firing of this activation for a nominal time.
    case fired(EffectID, nominal: Timestamp)
    case run(OpenEffect)
    case cancel(Label)
    case emit(EmittedOutput)
    /// What the state wants to hear of from this turn on. Effects of sources are named after the turn.
    case want([WantedEvent], turn: Int, now: Timestamp)
}

/// A subscription with its program's types encoded.
public struct WantedEvent: Equatable, Sendable {
    public enum Kind: Equatable, Sendable {
        case timer(Schedule, message: [UInt8])
        case lifecycle(Lifecycle, message: [UInt8])
        case source(payload: [UInt8], RunOptions)
    }

    public var id: Label
    public var kind: Kind

    public init(id: Label, kind: Kind) {
        self.id = id
        self.kind = kind
    }
}

/// What a turn told other programs: its place among that turn's orders, and the output in MessagePack.
public struct EmittedOutput: Equatable, Sendable {
    public var id: EffectID
    public var bytes: [UInt8]

    public init(id: EffectID, bytes: [UInt8]) {
        self.id = id
        self.bytes = bytes
    }
}

/// The views after each turn that applied a message.
struct ViewTap {
    var views: [TurnView] = []
    /// A trap in `view` is not the fault of the message.
    let marker: TrapMarker
}
