public import SamovarCore
public import SamovarWire

/// What the journal determines beside the program's state, as far as a test or a simulator compares it: two machines that have
/// read the same turns have the same books, whether they lived through them, replayed them or began with a snapshot.
///
/// Outcomes are left out: which of them are still kept depends on what clients have confirmed.
public struct Books: Equatable, Sendable {
    public struct Effect: Equatable, Sendable {
        public let id: EffectID
        public let root: Int
        public let failures: Int
        public let deaths: Int
        /// How far its attempts have come with streaming.
        public let place: StreamPlace?

        public init(id: EffectID, root: Int, failures: Int, deaths: Int, place: StreamPlace? = nil) {
            self.id = id
            self.root = root
            self.failures = failures
            self.deaths = deaths
            self.place = place
        }
    }

    public var starts = 0
    /// In the order of their identities, as are the dead ones.
    public var open: [Effect] = []
    public var dead: [EffectID] = []
    /// The number of the newest input of each session.
    public var sessions: [SessionID: Int] = [:]
    /// Sessions that have expired or were ended by their clients, as far as they are remembered.
    public var endedSessions: Set<SessionID> = []
    public var workers: Set<WorkerID> = []
    /// The activations that are wanted, with the time of the next firing; nil if there is none.
    public var subscriptions: [EffectID: Timestamp?] = [:]
    public var lastOutput: EffectID?
    public var paused: Set<QueueOrLabel> = []
    public var rules: [Queue: QueueRules] = [:]

    public init() {}
}

extension Books {
    /// The books after the newest turn, on disk or not.
    init(_ state: StoreState) {
        starts = state.starts
        open = state.ledger.open.values.sorted { $0.id < $1.id }.map {
            Effect(id: $0.id, root: $0.root, failures: $0.failures, deaths: $0.deaths, place: $0.place)
        }
        dead = state.ledger.dead.keys.sorted()
        sessions = state.sessions.sessions.mapValues(\.last)
        endedSessions = state.sessions.expired.ids.union(state.sessions.closed.ids)
        workers = state.joined
        subscriptions = Dictionary(uniqueKeysWithValues: state.subscriptions.activations.values.map { ($0.id, $0.due) })
        lastOutput = state.outputs.last
        paused = state.ledger.controls.paused
        rules = state.ledger.controls.rules
    }
}
