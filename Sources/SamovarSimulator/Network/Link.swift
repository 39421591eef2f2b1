import DequeModule
import SamovarProtocol

enum Direction: Int {
    case toStore
    case toPeer
}

/// One connection of one peer, as ZeroMQ over TCP has it: in order, nothing lost and nothing twice, until it breaks.
final class Link {
    enum State {
        case connecting
        case open
        /// One end is gone, or both: frames are sent into nothing.
        case closed
    }

    let id: Int
    /// Nil for the subscription to views.
    let door: Door?
    let peer: Process
    /// The peer's start that made it; and the store's that took it.
    let incarnation: Int
    var storeIncarnation = 0

    var state = State.connecting
    /// The peer has closed its socket, or died.
    var isGoneAtPeer = false
    /// The store's process is gone.
    var isGoneAtStore = false

    /// What is under way.
    var queues: [Deque<[[UInt8]]>] = [[], []]
    /// The time of the newest planned arrival in each direction: none later may arrive before it.
    var lastArrival: [Instant] = [0, 0]
    /// A cut in the way has stopped arrivals.
    var isStalled = [false, false]

    /// The credit that a worker has told since its HELLO, for the judge.
    var creditTold = 0
    /// Arrived, and not read by the peer.
    var unread = 0

    init(id: Int, door: Door?, peer: Process, incarnation: Int) {
        self.id = id
        self.door = door
        self.peer = peer
        self.incarnation = incarnation
    }

    var route: Route? {
        door.map { Route(door: $0, id: (0..<5).map { UInt8(truncatingIfNeeded: id >> (8 * (4 - $0))) }) }
    }
}
