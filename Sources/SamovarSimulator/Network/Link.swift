import DequeModule
import SamovarCore
import SamovarStore
import SamovarWire

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
    let listener: Listener?
    /// Each keeps its links, and the world keeps both.
    unowned let peer: Process
    unowned let store: StoreProcess
    /// The peer's start that made it; and the store's that took it.
    let incarnation: Int
    var storeIncarnation = 0
    /// Whose it is, as the sockets know.
    let identity: Identity
    /// Whatever keeps others out at the door does not keep this one.
    let isForced: Bool

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

    /// The credit that a worker has told, and the tasks that it was sent, for the checker.
    var credit = CreditTold()
    var tasks = TasksSent()
    /// The CANCELs with jobs that it was sent, for the checker.
    var cancels = 0
    var standing = Standing()

    init(id: Int, listener: Listener?, peer: Process, store: StoreProcess, incarnation: Int, identity: Identity, isForced: Bool) {
        self.id = id
        self.listener = listener
        self.peer = peer
        self.store = store
        self.incarnation = incarnation
        self.identity = identity
        self.isForced = isForced
    }

    var isRemote: Bool { identity != .local }

    var fingerprint: Fingerprint? {
        if case .key(let fingerprint) = identity { fingerprint } else { nil }
    }

    var route: Route? {
        listener.map {
            Route(listener: $0, id: (0..<5).map { UInt8(truncatingIfNeeded: id >> (8 * (4 - $0))) }, isRemote: isRemote)
        }
    }

    var door: Door {
        switch listener {
        case .front: .front
        case .work: .work
        case .admin: .admin
        case nil: .view
        }
    }
}

/// What a peer with a key has done over one link, for the checker.
struct Standing {
    /// The kinds of the frames that the store has read while its key allowed them.
    var done: Set<FrameKind> = []
    /// As whom it has said HELLO, and when.
    var greeted: UniqueID?
    var greetedAt: Instant = 0
    var welcomesDue = 0
    /// It has done what its key does not allow; it has said HELLO as somebody else.
    var hasTransgressed = false
    var hasClaimed = false
    /// It was told that its key is refused.
    var isRefused = false
    /// It was welcomed there, and has not heard since that the store does not know it any more, or that it shall come later.
    var isKnown = false
}

/// The credit that a worker has told over one link.
struct CreditTold {
    /// What the store may count on: until WELCOME answers a HELLO, tasks that were counted before it may still leave. Their worker
    /// drops them.
    var limit: Int { max(told, before) }
    private var told = 0
    private var before = 0

    mutating func raise(to credit: Int) { told = max(told, credit) }

    /// HELLO begins the counting anew.
    mutating func greeted() {
        before = limit
        told = 0
    }

    mutating func welcomed() { before = 0 }
}

/// The tasks that left over one link, by their numbers.
struct TasksSent {
    private(set) var last = 0

    /// False if others before these were left out, or have overtaken them.
    mutating func send(_ count: Int, through number: Int) -> Bool {
        defer { last = max(last, number) }
        return number - count == last
    }

    mutating func welcomed() { last = 0 }
}
