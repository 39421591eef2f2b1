import MessagePack
import SamovarCore
import SamovarStore
import SamovarWire

/// The canonical history of one timeline: every record that the disk has made durable, applied without the store's code.
///
/// It shares `ModelProgram.update` and the codec of records with the store, and nothing else: no engine, no ledger, no session book.
final class ReferenceModel {
    /// An effect that was ordered and is not closed.
    struct Order {
        let root: Int
        let effect: ModelProgram.Effect
        let payload: [UInt8]
        var label: Label?
        var policy = Policy.all
        /// When its first attempt may be handed out, since it was ordered or opened again.
        var begins: Timestamp
        /// Not to be handed out earlier.
        var notBefore: Timestamp
        /// Its policy leaves no room for it: it fails without an attempt.
        var isOverLimit = false
        /// What was streamed: how far, by which attempt last and in which start, and which numbers by each.
        var place: StreamPlace?
        var streamedBy: Lease?
        var streamedIn = 0
        var streamed: [Lease: Set<Int>] = [:]
        var failures = 0
        var deaths = 0
        var failed: Lease?
        /// The turn that opened it: the one that ordered it, or that requeued it last.
        var opened: Int
        var wasRequeued = false
        /// It was open when its queue or its label was resumed.
        var waitedForResume = false
        /// The turn since which it may be in line: the one that opened it, or that resumed its label.
        var inLine: Int

        var queue: Queue { effect.work.queue }

        /// Whether another attempt that was handed out before a restart, as this one was, has gone on with the stream since then.
        func isOvertaken(_ lease: Lease) -> Bool {
            guard let streamedBy, streamedBy != lease else { return false }
            return max(streamedBy, lease).start < streamedIn
        }

        func isAt(_ place: QueueOrLabel) -> Bool {
            switch place {
            case .queue(let queue): queue == self.queue
            case .label(let label): label == self.label
            }
        }

        var keepsDead: Bool { effect.work.retry.keepsDead }

        /// What comes of a source begins chains of its own.
        var isOfSource: Bool { root == 0 }
    }

    /// What became of one input.
    struct Fate: Equatable {
        let turn: Int
        /// The number of the input; 0 for one that could not be read.
        let inputID: UInt64
        let verdict: Outcome.Verdict
    }

    let timeline: Timeline
    let secret: Secret
    var state: ModelProgram.State
    /// The state after each turn; the first is that of turn 0.
    private(set) var states: [ModelProgram.State]
    /// Those of all turns, trimmed or not.
    private(set) var records: [Record] = []
    var time = Timestamp(microseconds: .min)
    var starts = 0
    /// Of the store that has written the newest batch, where several share the journal.
    var epoch = 0
    /// When the newest start was, by its record and in virtual time.
    var startTime = Timestamp(microseconds: 0)
    var startInstant: Instant = 0
    /// Its record.
    var startTurn = 0

    var open: [EffectID: Order] = [:]
    var openByRoot: [Int: Int] = [:]
    /// Effects by their label, in the order in which they took their places: open ones, and the dead ones that keep theirs.
    var labels: [Label: [EffectID]] = [:]
    /// Every effect that was ever ordered, and its payload.
    var ordered: [EffectID: [UInt8]] = [:]
    /// Effects that are not open any more, and since which turn.
    var closed: [EffectID: Int] = [:]
    var dead: [EffectID: Order] = [:]
    /// Roots under which an effect was opened again, and in which turn last.
    var reopened: [Int: Int] = [:]
    /// What is paused, and since which turn.
    var paused: [QueueOrLabel: Int] = [:]
    var rules: [Queue: QueueRules] = [:]
    /// Of queues that have a rate.
    var rates: [Queue: RateOracle] = [:]
    /// Of queues that have shares.
    var shares: [Queue: ShareOracle] = [:]
    /// What operators did in this life of the store, by the record in words, and how often they were told so, by which replies.
    var deeds: [String: Int] = [:]
    var deedsTold: [String: Int] = [:]
    var repliesDone: Set<Int> = []
    /// When each turn was made, in virtual time.
    var moments: [Instant] = [0]
    var timerOracle = TimerOracle()
    var outputs: [EmittedOutput] = []
    /// By `CoverageEvent.rawValue`.
    private(set) var coverage = [Int](repeating: 0, count: CoverageEvent.allCases.count)
    /// Messages that must come next, in the same batch: follow-ups, notices of dead effects, and what an operator did.
    var announced: [(message: [UInt8], origin: Origin)] = []

    var fates: [SessionID: [Fate]] = [:]
    var fateAt: [Int: Fate] = [:]
    var expired: Set<SessionID> = []
    /// Those of them whose last input has ended them.
    var endedByInput: Set<SessionID> = []
    /// Every lease that was seen to leave the store.
    var assignments: [Lease: Assignment] = [:]
    var assignmentsOf: [EffectID: [Lease]] = [:]
    var workers: Set<WorkerID> = []
    /// Those of before the start that were not welcomed since.
    var missing: Set<WorkerID> = []
    var keys = KeyBook()
    var inputIDs: Set<UInt64> = []
    /// The newest turn of which anybody was told, and the newest input of each session.
    var told = 0
    var receipts: [SessionID: Int] = [:]
    /// The newest record says that the store has stopped in order.
    var endsDrained = false

    /// Views that were asked for a moment ago.
    private var views: [Int: [UInt8]] = [:]

    init(timeline: Timeline, secret: Secret, viewBytes: Int) {
        self.timeline = timeline
        self.secret = secret
        state = ModelProgram.State(tally: Tally(), viewBytes: viewBytes)
        states = [state]
    }

    /// Goes on from here by itself, with what a program can depend on: its state, its effects and its subscriptions.
    init(forkOf other: ReferenceModel) {
        (timeline, secret, state, states) = (other.timeline, other.secret, other.state, [])
        (open, openByRoot, labels, dead) = (other.open, other.openByRoot, other.labels, other.dead)
        timerOracle = other.timerOracle
    }

    var last: Int { records.count }

    /// The session's end is in the journal.
    func isOver(_ session: SessionID) -> Bool { expired.contains(session) }

    func leases(of effect: EffectID) -> [Lease] { assignmentsOf[effect] ?? [] }

    /// The view of a turn, as the store would encode it.
    func view(at turn: Int) -> [UInt8] {
        if let known = views[turn] { return known }
        if views.count >= 64 { views.removeAll(keepingCapacity: true) }
        let view = packed(ModelProgram.view(states[turn]))
        views[turn] = view
        return view
    }

    var books: Books {
        var books = Books()
        books.starts = starts
        books.open = open.sorted { $0.key < $1.key }.map {
            Books.Effect(
                id: $0.key, root: $0.value.root, failures: $0.value.failures, deaths: $0.value.deaths, place: $0.value.place)
        }
        for activation in timerOracle.activations.values {
            books.subscriptions[activation.id] = .some(activation.due.map { Timestamp(microseconds: $0) })
        }
        books.lastOutput = outputs.last?.id
        books.dead = dead.keys.sorted()
        books.sessions = fates.filter { !isOver($0.key) }.mapValues(\.count)
        books.endedSessions = expired
        books.workers = workers
        books.paused = Set(paused.keys)
        books.rules = rules
        return books
    }

    // MARK: Taking turns

    /// A record is in the journal, and the state is that after it.
    func append(_ record: Record) {
        records.append(record)
        states.append(state)
    }

    func apply(_ message: ModelProgram.Message, _ turn: Turn, root: Int) {
        take(ModelProgram.update(&state, message, turn), of: turn, root: root)
    }

    /// A chain of turns is at its end, and the state says what it wants to hear of.
    ///
    /// - Returns: the effects of the sources that begin with that.
    @discardableResult
    func listen(turn: Int, now: Timestamp) -> [EffectID: [UInt8]] {
        let (begun, ended) = timerOracle.want(state.timers, turn: turn, now: now)
        if !ended.isEmpty { count(.stoppedListening) }
        for source in ended where source.timer.kind == .source {
            if open[source.id] != nil { count(.sourceCancelled) }
            close(source.id, turn: turn)
        }
        var payloads: [EffectID: [UInt8]] = [:]
        for source in begun where source.timer.kind == .source {
            let effect = source.armed.effect
            let order = Order(
                root: 0, effect: effect, payload: packed(effect), begins: now, notBefore: now, opened: turn, inLine: turn)
            payloads[source.id] = order.payload
            run(order, source.id)
            count(.sourceBegan)
        }
        return payloads
    }

    /// Whether an effect is of a source that the state does not want any more.
    func isAbandoned(_ id: EffectID, _ order: Order) -> Bool { order.isOfSource && timerOracle.activation(id) == nil }

    func count(_ event: CoverageEvent) { coverage[event.rawValue] += 1 }

    /// When a store whose clock said this made it, but for what it drifts.
    func instant(of time: Timestamp) -> Instant { startInstant + (time - startTime).microseconds }

    /// The latest time that was before that for certain, whatever the clock has drifted.
    func before(_ time: Timestamp) -> Instant { instant(of: time) - drift(at: instant(of: time)) }

    /// What a clock has drifted since the start at the most, and what is lost in rounding.
    func drift(at now: Instant) -> Instant { (now - startInstant) / 1_000 + milliseconds }

    /// What the clock of the store says, but for what it drifts.
    func storeTime(at now: Instant) -> Timestamp { startTime + .microseconds(now - startInstant) }
}
