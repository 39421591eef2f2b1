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

    /// What is known of one connection.
    enum Peer: Equatable {
        case client(SessionID)
        case worker(WorkerID)
    }

    /// A client's session as far as it is only in memory. A class, because each input changes it several times. Part of one value that one
    /// thread has, so nothing overlaps that would have to be checked each time.
    final class ClientSession {
        let session: SessionID
        @exclusivity(unchecked) var route: Route?
        /// The newest number taken into the inbox.
        @exclusivity(unchecked) var received: Int
        @exclusivity(unchecked) var confirmed = 0
        @exclusivity(unchecked) var inbox: Deque<Submission> = []
        @exclusivity(unchecked) var heard: Timestamp
        /// Its client survives its own death. Until it has said so, as after a restart of the store, that is assumed.
        @exclusivity(unchecked) var isDurable = true
        /// Its newest HELLO has asked for proofs.
        @exclusivity(unchecked) var takesProofs = false
        @exclusivity(unchecked) var fingerprints = Fingerprints()
        /// What this round gave, for its client.
        @exclusivity(unchecked) var outcomes: [Outcome] = []

        init(_ session: SessionID, route: Route?, received: Int, heard: Timestamp) {
            self.session = session
            self.route = route
            self.received = received
            self.heard = heard
        }
    }

    /// An effect that has failed for good, which `failed` was not told yet.
    struct Postponed {
        let effect: EffectID
        let failure: Failure
    }

    let settings: StoreSettings
    let timeline: Timeline
    let secret: Secret
    let build: String
    /// What the host's journal says that a batch on disk outlives; for `status`.
    let durability: String
    let instance = Instance.main

    var phase = Phase.recovering
    var state: StoreState
    var log: TurnLog {
        didSet { uncountedLog = .passUnretained(log) }
    }
    var gate: Gate<StoreAction>
    var dispatcher: Dispatcher
    /// A batch is with the journal.
    var isCommitting = false
    /// Since when the batch with the journal waits for space; nil while there is some.
    var fullSince: Timestamp?
    var isJournalFull: Bool { fullSince != nil }
    /// What the turns on disk, and no others, make of the numbers that `status` tells.
    var durableFacts = StoreFacts()
    /// The same at the end of the batch with the journal.
    var committingFacts = StoreFacts()
    /// The newest view that has left.
    var shownView: (turn: Int, bytes: [UInt8])?
    /// Says which call into the program is under way, to the process after this one.
    let marker: TrapMarker
    // Marker and log as each turn uses them, without a reference that is counted. So nothing replaces the log within a turn.
    let uncountedMarker: Unmanaged<TrapMarker>
    private(set) var uncountedLog: Unmanaged<TurnLog>
    /// How the process before this one ended, if it was in a call.
    var death: Suspicion.Death?
    /// The same for the thread that makes snapshots.
    var upkeepDeath: Suspicion.Death?
    var suspects: Suspects
    /// The open batch has to be on disk before another item is taken: a suspect stays alone.
    var isIsolating = false
    /// Failures that wait until their suspected effect can be alone.
    var postponed: Deque<Postponed> = []
    /// Why no views are made any more; nil while they are.
    var viewsOff: String?

    var peers: [Route: Peer] = [:]
    var clients: [SessionID: ClientSession] = [:]
    /// The newest connection of each session and worker, by the count in its HELLO.
    var attempts: [UniqueID: Int] = [:]
    /// Inputs of a session that are known by their hash.
    var fingerprintLimit: Int
    var inbox = Inbox()
    var answers = AnswerQueue()
    /// Messages to those who want to know of a moment in the life of the store.
    var lifecycleEvents: Deque<Firing> = []
    /// Effects that fail without an attempt, since too many with their label are open.
    var overLimit: Deque<EffectID> = []
    var deadlines = Deadlines()
    /// Workers that were silent for too long, and are still to be taken for dead.
    var silent: Deque<WorkerID> = []
    /// Some of what time has brought still waits for its turn.
    var isOverdue = false
    var hold = RestartHold()
    /// When the last worker of before has been missing for as long as silence may last.
    var heldUntil: Timestamp {
        (hold.awaited.compactMap { state.missing[$0] }.max() ?? startTime) + settings.silence
    }

    // What one round of turns gave, sent together at its end.
    /// Sessions with outcomes of this round, in the order in which they got their first.
    var answered: [ClientSession] = []
    /// Workers whose answers were taken in this round, in the order of their first.
    var acknowledged: [Dispatcher.WorkerState] = []
    var cancellations = RouteBatches<Lease>()
    var streamMarks = StreamMarks()
    var rejectedStreams = RejectedStreams()

    var adminReplies = AdminReplies()
    var views = ViewPublisher()
    /// What is asked for at the view socket, as the host hears it.
    public var viewTopics: ViewTopics
    var waiters = Waiters()
    var waitReports = WaitReports()
    var feed = ViewHistory()
    var snapshots = SnapshotSchedule()
    var export: Export?
    var nextTick = Timestamp(microseconds: 0)
    var idleNotice = IdleNotice()
    var unserved: [Queue: (since: Timestamp, isWarned: Bool)] = [:]
    var counters = StoreCounters()
    var startTime = Timestamp(microseconds: 0)
    /// How far the newest record was ahead of the host's clock at the start.
    var clockLead = Duration.zero

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
        fingerprintLimit = settings.window
        self.timeline = timeline
        self.secret = secret
        self.build = build
        self.durability = durability
        self.marker = marker
        uncountedMarker = .passUnretained(marker)
        let suspicion = marker.take(timeline: timeline, build: KeyedHash.of(build))
        death = suspicion.death
        upkeepDeath = suspicion.upkeepDeath
        suspects = Suspects(suspicion, settings: settings)
        marker.write(suspects.list)
        state = StoreState(engine: engine, window: settings.window)
        log = TurnLog(after: 0)
        uncountedLog = .passUnretained(log)
        gate = Gate(durable: 0)
        viewTopics = ViewTopics(limit: settings.viewTopics)
        dispatcher = Dispatcher(start: 0, suspectDeaths: settings.suspectDeaths)
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
    public var durable: Int { gate.durable }
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
            && (!answers.isEmpty || isOverdue || !overLimit.isEmpty || !postponed.isEmpty || !lifecycleEvents.isEmpty
                || (phase == .serving && inbox.count > 0))
    }

    /// The next time at which `advance` must be called, whatever happens.
    public func wakeUp(now: Timestamp) -> Timestamp {
        guard phase != .stopped else { return now + settings.tickInterval }
        let host = now
        let now = self.time(now)
        var time = nextTick
        if let due = dispatcher.nextDue { time = min(time, due) }
        // What cannot be taken yet waits for a commit or an answer, and either wakes the loop by itself.
        if canTakeTurns, let due = nextOverdue { time = min(time, due) }
        if let due = state.subscriptions.nextDue, phase == .serving, canTakeTurns, !hasTooManyEffects {
            time = min(time, due)
        }
        if let view = views.dueTime(head: head, settings: settings) { time = min(time, view) }
        if !hold.isEmpty { time = min(time, heldUntil) }
        if case .draining(let end) = phase { time = min(time, end) }
        if let idle = idleNotice.due { time = min(time, idle) }
        return host + max(.zero, time - now)
    }

    /// The store's own time when the host's clock says `now`. A wall clock that was set back while the store was down must not
    /// hold time, or nothing would be due until it has caught up: the store's time goes on from the newest record.
    func time(_ now: Timestamp) -> Timestamp { max(now + clockLead, state.time) }

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
            if let action = gate.pass(action, floor: turn) { leave(action) }
        }
    }

    mutating func leave(_ action: StoreAction) {
        if case .publish(let envelope, _) = action, case .view(_, let turn, let bytes) = envelope.frame {
            shownView = (turn, bytes)
        }
        actions.append(action)
    }

    /// - Parameter isProven: with a proof of the turn that it waits for, or of the newest on disk.
    mutating func send(_ frame: Frame, isProven: Bool = false, to route: Route, floor: Floor) {
        let proof = isProven ? TurnProof(of: floor.turn ?? gate.durable, in: timeline, secret) : nil
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
