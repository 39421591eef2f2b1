import DequeModule
import MessagePack
public import SamovarCore

/// The store, without sockets, files and clocks.
///
/// The idea: one sequence of turns, and a gate. Items (inputs, answers of jobs) are taken one at a time; each gives records,
/// which gather in an open batch; the batch goes to the journal when the one before it is on disk; and whatever the turns
/// caused waits at the gate until then. So the engine computes ahead of the disk by one batch, and nobody hears of it.
/// Rejected: a thread for the engine (two hand-overs per turn cost more than they saved), and undoing turns whose commit
/// failed (nothing of them was visible, so the commit is simply repeated).
///
/// The host calls an event for what happened, then `advance(now:)`, then carries out `takeActions()`. All of it on one thread.
///
/// | phase | input | answer of a job | commit | tick | drain |
/// |---|---|---|---|---|---|
/// | recovering | – | – | – | – | – |
/// | serving | inbox | inbox | opens the gate | liveness, views, timers | draining |
/// | draining | retry later | inbox | opens the gate | liveness; ends at the deadline | – |
/// | stopped | – | – | – | – | – |
public struct StoreMachine: ~Copyable {
    enum Phase: Equatable {
        case recovering
        case serving
        case draining(until: Timestamp)
        case stopped
    }

    let settings: StoreSettings
    let identity: StoreIdentity
    var timeline: Timeline { identity.timeline }
    /// The only one that there is.
    var instance: Instance { .main }

    var phase = Phase.recovering
    var state: StoreState
    var log: TurnLog
    var commits = CommitPipeline(durable: 0)
    var scheduler: EffectScheduler
    var quarantine: Quarantine
    var connections = Connections()
    var clients: ClientSessions
    var answers = AnswerQueue()
    /// Messages to those who want to know of a moment in the life of the store.
    var lifecycleEvents: Deque<Firing> = []

    // What one round of turns gave, sent together at its end.
    var cancellations = RouteBatches<Lease>()
    var streamMarks = StreamMarks()
    var rejectedStreams = RejectedStreams()

    var adminReplies = AdminReplies()
    var views = ViewPublisher()
    /// What is asked for at the view socket, as the host hears it.
    public var viewTopics: ViewTopics
    var waiters = Waiters()
    var feed = ViewHistory()
    var snapshots = SnapshotSchedule()
    var backup = Backup()
    var clock = StoreClock()
    var idleNotice = IdleNotice()
    var counters = StoreCounters()

    var actions: [StoreAction] = []

    /// - Parameters:
    ///   - build: names the build of the program, for the journal.
    ///   - marker: a page that outlives the process, with what the one before has left in it.
    ///   - durability: what the journal outlives, as `status` shall say it.
    public init(
        settings: StoreSettings, engine: any ProgramEngine, timeline: Timeline, secret: Secret, build: String,
        marker: TrapMarker = TrapMarker(), durability: String = "unknown"
    ) {
        self.settings = settings
        clients = ClientSessions(window: settings.window)
        identity = StoreIdentity(timeline: timeline, secret: secret, build: build, durability: durability)
        quarantine = Quarantine(marker, timeline: timeline, build: build, settings: settings)
        state = StoreState(engine: engine, window: settings.window)
        log = TurnLog(after: 0)
        viewTopics = ViewTopics(limit: settings.viewTopics)
        scheduler = EffectScheduler(start: 0, suspectDeaths: settings.suspectDeaths)
    }

    // MARK: What the host reads

    /// What is to be done now, in order. Empty until the next event.
    public mutating func takeActions() -> [StoreAction] {
        let taken = actions
        actions.removeAll(keepingCapacity: true)
        return taken
    }

    /// The number of the newest turn, on disk or not.
    public var head: Int { state.head }
    /// The number of the newest turn on disk.
    public var durable: Int { commits.durable }
    /// How often this timeline was started, this start included.
    public var starts: Int { state.starts }
    /// The program and the version of its types.
    public var schema: Schema { state.engine.schema }
    /// The seed of the timeline in MessagePack; empty before the first start.
    public var seed: [UInt8] { state.seed }
    public var isStopped: Bool { phase == .stopped }

    /// Whether `advance` has more to do without any further event.
    public var hasWork: Bool {
        phase != .stopped && canTakeTurns
            && (!answers.isEmpty || scheduler.isOverdue || scheduler.hasOverLimit || quarantine.firstPostponed != nil
                || !lifecycleEvents.isEmpty
                || (phase == .serving && clients.inbox.count > 0))
    }

    /// The next time at which `advance` must be called, whatever happens.
    public func wakeUp(now: Timestamp) -> Timestamp {
        guard phase != .stopped else { return now + settings.tickInterval }
        let host = now
        let now = self.time(now)
        var time = clock.nextTick
        if let due = scheduler.dispatcher.nextDue { time = min(time, due) }
        // What cannot be taken yet waits for a commit or an answer, and either wakes the loop by itself.
        if canTakeTurns, let due = scheduler.nextOverdue { time = min(time, due) }
        if let due = state.subscriptions.nextDue, phase == .serving, canTakeTurns, !hasTooManyEffects {
            time = min(time, due)
        }
        if let view = views.dueTime(head: head, settings: settings) { time = min(time, view) }
        if !scheduler.hold.isEmpty { time = min(time, heldUntil) }
        if case .draining(let end) = phase { time = min(time, end) }
        if let idle = idleNotice.due { time = min(time, idle) }
        return host + max(.zero, time - now)
    }

    /// The store's own time when the host's clock says `now`.
    func time(_ now: Timestamp) -> Timestamp { clock.time(now, newest: state.time) }

    // MARK: Sending

    /// How long a frame has to wait.
    enum Floor {
        /// It tells of no turn.
        case none
        case turn(Int)

        var turn: Int? {
            if case .turn(let turn) = self { turn } else { nil }
        }
    }

    /// The only way out. Whatever tells of state, outcomes or open effects names the turn that it tells of.
    mutating func emit(_ action: StoreAction, floor: Floor) {
        switch floor {
        case .none: leave(action)
        case .turn(let turn):
            if let action = commits.pass(action, floor: turn) { leave(action) }
        }
    }

    mutating func leave(_ action: StoreAction) {
        if case .publish(let envelope, _) = action, case .view(_, let turn, let bytes) = envelope.frame {
            views.left(TurnView(turn: turn, bytes: bytes))
        }
        actions.append(action)
    }

    /// - Parameter isProven: with a proof of the turn that it waits for, or of the newest on disk.
    mutating func send(_ frame: Frame, isProven: Bool = false, to route: Route, floor: Floor) {
        let proof = isProven ? identity.proof(of: floor.turn ?? commits.durable) : nil
        emit(.send(Envelope(frame, timeline: timeline, proof: proof), to: route), floor: floor)
    }

    mutating func note(_ level: Note.Level, _ text: String) {
        actions.append(.note(Note(level, text)))
    }

    mutating func stop(_ reason: StopReason) {
        phase = .stopped
        emit(.stop(reason), floor: .none)
    }
}

/// What happened since the start, for `status`.
struct StoreCounters: Equatable {
    var applied = 0
    var refused = 0
    var results = 0
    /// Messages on our sockets that were not well-formed frames of a known peer.
    var droppedFrames = 0
    /// Greetings with a turn beyond the journal that were not proven.
    var unprovenWitnesses = 0
    var lateResults = 0
    /// Items that were given up because they ended the store.
    var quarantined = 0
    var deadWorkers = 0
    var batches = 0
    var views = 0
}
