import MessagePack
public import SamovarCore
public import SamovarWire

/// The store, without sockets, files and clocks.
///
/// The idea: one sequence of turns, and a gate. Items (inputs, answers of jobs) are taken one at a time; each gives records,
/// which gather in an open batch; the batch goes to the journal when the one before it is on disk; and whatever the turns
/// caused waits at the gate until then. So the engine computes ahead of the disk by one batch, and nobody hears of it.
///
/// The machine itself only routes: it hands each event to the part that it is for, and says in which order parts have their say. `Turns`
/// writes, `Outlet` sends, and a part that needs one of them, or another part, gets it as an argument; none sees the state of another.
///
/// The host calls an event for what happened, then `advance(now:)`, then carries out `takeActions()`. All of it on one thread.
///
/// | phase | input | answer of a job | commit | tick | drain |
/// |---|---|---|---|---|---|
/// | recovering | – | – | – | – | – |
/// | serving | inbox | inbox | opens the gate | liveness, views, timers | draining |
/// | draining | retry later | inbox | opens the gate | liveness; ends at the deadline | – |
/// | stopped | – | – | opens the gate | ends at the deadline of the drain, if the last commit is held up | – |
public struct StoreMachine: ~Copyable {
    enum Phase: Equatable {
        case recovering
        case serving
        case draining(until: Timestamp)
        /// - Parameter deadline: of the drain, whose last turns are with the journal.
        case stopped(until: Timestamp?)

        var isStopped: Bool { if case .stopped = self { true } else { false } }
    }

    let settings: StoreSettings
    var phase = Phase.recovering
    var turns: Turns
    var out: Outlet
    var clock = StoreClock()
    var scheduler: EffectScheduler
    var workers: Workers
    var clients: ClientSessions
    var readers: Readers
    var firings = Firings()
    var operators: Operators
    var waiting = WaitingOperators()
    var followers = Followers()
    var access: Access
    /// A lost tail, unless another store has written it; and whether the lease has been asked for since.
    private var suspicion: (reason: StopReason, isAsked: Bool)?
    var snapshots = SnapshotSchedule()
    var digests = DigestSchedule()
    var measured = Measurements()
    /// What is asked for at the view socket, as the host hears it.
    public var viewTopics: ViewTopics

    /// - Parameters:
    ///   - build: names the build of the program, for the journal.
    ///   - keys: of peers that come over the network; more come by `keysRead`.
    ///   - marker: a page that outlives the process, with what the one before has left in it.
    ///   - durability: what the journal outlives, as `status` shall say it.
    ///   - isFenced: the journal is one that other stores can reach and take over.
    public init(
        settings: StoreSettings, engine: any ProgramEngine, timeline: Timeline, secret: Secret, build: String,
        keys: KeyTable = .none, marker: TrapMarker = TrapMarker(), durability: String = "unknown",
        isFenced: Bool = false
    ) {
        self.settings = settings
        let quarantine = Quarantine(marker, timeline: timeline, build: build, settings: settings)
        turns = Turns(settings, engine, quarantine)
        out = Outlet(StoreIdentity(timeline: timeline, secret: secret, build: build, durability: durability, isFenced: isFenced))
        scheduler = EffectScheduler(settings, start: 0)
        workers = Workers(settings)
        clients = ClientSessions(settings)
        readers = Readers(settings)
        operators = Operators(settings)
        access = Access(keys)
        viewTopics = ViewTopics(limit: settings.viewTopics)
    }

    // MARK: What the host reads

    /// What is to be done now, in order. Empty until the next event.
    public mutating func takeActions() -> [StoreAction] { out.takeActions() }

    /// The number of the newest turn, on disk or not.
    public var head: Int { turns.head }
    /// The latest time that a record of the journal has.
    public var newest: Timestamp { turns.state.time }
    /// The number of the newest turn on disk.
    public var durable: Int { out.durable }
    /// The number of the newest start of this timeline, which is this one once it serves. There may be gaps between them.
    public var starts: Int { turns.state.starts }
    /// How far the store's own time has been ahead of the host's clock since the start: it never goes back behind the newest turn.
    public var lead: Duration { clock.lead }
    /// The program and the version of its types.
    public var schema: Schema { turns.state.engine.schema }
    public var isStopped: Bool { phase.isStopped }
    var isRunning: Bool { !phase.isStopped && phase != .recovering }

    /// Whether `advance` has more to do without any further event.
    public var hasWork: Bool {
        !phase.isStopped && turns.canTake
            && (!workers.answers.isEmpty || scheduler.isOverdue || !scheduler.overLimit.isEmpty || !scheduler.postponed.isEmpty
                || !firings.isEmpty || (phase == .serving && clients.inbox.count > 0))
    }

    /// The next time at which `advance` must be called, whatever happens.
    public func wakeUp(now: Timestamp) -> Timestamp {
        // What is read comes before what is decided: “Methods that borrow a machine” in docs/decisions.md says why.
        let (phase, isInDoubt, canTake, timersMayFire) = (phase, turns.isInDoubt, turns.canTake, timersMayFire)
        let isHeldUp = turns.outage != nil
        let (time, tick) = (time(now), now + settings.tickInterval)
        var next = clock.nextTick
        func wake(_ time: Timestamp?, if applies: Bool = true) { if applies, let time { next = min(next, time) } }
        wake(scheduler.dispatcher.nextDue)
        // What cannot be taken yet waits for a commit or an answer, and either wakes the loop by itself.
        wake(scheduler.nextOverdue, if: canTake)
        wake(turns.state.subscriptions.nextDue, if: timersMayFire)
        wake(digestDue, if: canTake)
        wake(readers.viewDue(head: head))
        wake(readers.idleDue)
        wake(scheduler.heldUntil(turns.state.missing), if: !isHeldUp)

        switch phase {
        case .stopped: return tick
        // One that stands still in doubt is asked again with the next tick.
        case .draining(let end): return min(isInDoubt ? tick : now + max(.zero, next - time), now + max(.zero, end - time))
        case .recovering, .serving: return isInDoubt ? tick : now + max(.zero, next - time)
        }
    }

    /// The store's own time when the host's clock says `now`.
    func time(_ now: Timestamp) -> Timestamp { clock.time(now, newest: turns.state.time) }

    /// Timers wait as inputs do while too many effects are open, and as everything does while the batch is full or in doubt.
    ///
    /// Inlined, as all that is asked for each turn: the machine would be copied for the call.
    @inline(__always) var timersMayFire: Bool { phase == .serving && turns.canTake && !turns.hasTooManyEffects }

    /// Nothing waits, nothing runs, nothing is due: only a new input can change the state. A source that has ended or is dead is not open.
    var isIdle: Bool {
        turns.state.ledger.open.isEmpty && clients.inbox.count == 0 && workers.answers.isEmpty
            && turns.state.subscriptions.nextDue == nil
    }

    /// How long the store may still be there, a second at most; nil while it serves. Who is sent away comes no sooner, and waits no longer: another
    /// store may have the journal then.
    func closing(now: Timestamp) -> Duration? {
        switch phase {
        case .serving: nil
        case .draining(let end): min(max(end - now, .zero), .seconds(1))
        case .recovering, .stopped: .zero
        }
    }

    /// - Parameter now: the store's own time.
    mutating func stop(_ reason: StopReason, now: Timestamp) {
        if out.identity.isFenced, case .lostTail = reason { return suspect(reason, now: now) }
        end(reason)
    }

    /// What is taken and told from here on would be lost with this journal, if its tail is: the store stands still until it knows.
    private mutating func suspect(_ reason: StopReason, now: Timestamp) {
        guard suspicion == nil else { return }
        suspicion = (reason, isAsked: false)
        let text = """
            \(reason.description.bounded()); or another store has the journal: nothing is taken or told until the lease shows which
            """
        turns.leaseIsInDoubt(true, telling: Note(.warning, text), now: now, &out)
        out.emit(.renewLease, floor: .none)
    }

    /// Another store may have the journal, or it is certain again that none has.
    ///
    /// Meanwhile nothing is taken, as with a full disk, and nothing is told that is of turns: no views, ticks, tasks, receipts, answers, also of
    /// those on disk. Peers hear no sign of life and look for the other store. What waits leaves when the doubt is over.
    public mutating func leaseIsInDoubt(_ isInDoubt: Bool, now: Timestamp) {
        // A lost tail is in doubt until the answer that ends the store.
        guard isRunning, suspicion == nil else { return }
        let now = time(now)
        turns.leaseIsInDoubt(isInDoubt, now: now, &out)
        if !isInDoubt { scheduler.dispatcher.left(through: out.durable, now: now) }
        noteOutage(now: now)
    }

    /// An outage may have begun or ended: while one lasts, workers get nothing.
    mutating func noteOutage(now: Timestamp) {
        if phase == .serving { scheduler.handsOut(turns.outage == nil, in: turns.state.ledger, now: now) }
    }

    /// The host has sent a renewal of the lease.
    public mutating func leaseIsAsked() { suspicion?.isAsked = true }

    /// It was answered, and the journal is this store's.
    public mutating func leaseIsRenewed() {
        guard isRunning, let known = suspicion, known.isAsked else { return }
        end(known.reason)
    }

    private mutating func end(_ reason: StopReason) {
        phase = .stopped(until: nil)
        out.emit(.stop(reason), floor: .none)
    }

    // MARK: Recovery: newest readable snapshot, later batches, then the record of this start

    /// Sets the state from a snapshot. The machine must not have replayed anything yet.
    ///
    /// - Throws: what reading it throws; the machine is then unusable, and a new one shall try an older snapshot.
    public mutating func restore(snapshot: [UInt8]) throws {
        precondition(phase == .recovering, "a snapshot is restored before the start")
        try turns.restore(snapshot)
        snapshots.restored(at: head, time: turns.state.time, bytes: snapshot.count)
    }

    /// What `replay` puts up with. Set it before.
    public var terms: ReplayTerms {
        get { turns.state.engine.terms }
        set { turns.state.engine.terms = newValue }
    }

    /// Of how many messages the commands have been compared, since the snapshot.
    public var replayed: ReplayCounts { turns.state.engine.replayed }

    /// The turn of the snapshot that was restored; 0 if there was none.
    package var restored: Int { snapshots.turn }

    /// Applies a stored batch again. Records that the snapshot holds already are passed over.
    ///
    /// - Parameter limit: the last turn to apply.
    /// - Throws: `ReplayError`, naming the turn.
    public mutating func replay(first: Int, last: Int, bytes: [UInt8], through limit: Int = .max) throws {
        precondition(phase == .recovering, "batches are replayed before the start")
        snapshots.journalGrew(by: bytes.count)
        try turns.replay(first: first, last: last, bytes: bytes, through: limit)
    }

    /// Call it at the end of the journal.
    ///
    /// - Throws: `ReplayError` if the journal ends inside a group: a group is written whole, so a part of it was lost.
    public func requireEndOfGroup() throws(ReplayError) { try turns.state.engine.requireEndOfGroup() }

    /// Begins service with a `started` record, and on an empty journal with `Program.start`.
    ///
    /// - Parameters:
    ///   - seed: for a new timeline; an old one has its own.
    ///   - divergences: commands that the replay came across and an operator has accepted, to be written down.
    ///   - number: of this start, where the journal gives it: its epoch. Nil for the next one.
    /// - Throws: `SeedError`, `GroupLimit`, `TrapError`: nothing was created.
    public mutating func start(
        seed: [UInt8], now: Timestamp, accepting divergences: [Divergence] = [], number given: Int? = nil
    ) throws {
        precondition(phase == .recovering, "a store starts once")
        // Leases of jobs and signs of life are told apart by the number, so a store never serves with one twice.
        if let given, given <= starts {
            throw SeedError(text: "this start would be number \(given), and number \(starts) is in the journal")
        }
        try turns.admit()
        clock = StoreClock(startingAt: now, newest: turns.state.time)
        let now = clock.started
        out.begin(durable: head)
        if clock.lead > StoreClock.usualLead {
            let lead = clock.lead.components.seconds
            let consequence = "timers, and the ends of keys, go by the turn's time"
            out.note(.warning, "the newest turn is \(lead) s ahead of this clock: \(consequence)")
        }
        measured.firstTurn = head
        let (isNew, number, build) = (head == 0, given ?? starts + 1, out.identity.build)
        scheduler = EffectScheduler(
            settings, start: number, awaiting: turns.state.joined, effects: Array(turns.state.ledger.open.keys))
        let author = build + Record.Event.mark
        turns.write(.started(number: number, build: author, schema: schema, seed: isNew ? seed : []), now: now)
        // Before anything else is written: a replay names what begins here after this record, and has ended what is not wanted any more.
        if !isNew {
            turns.resubscribe(now: now)
            scheduler.enterOrders(now: now, &turns)
        }
        for divergence in divergences {
            let accepted = Record.Event.divergenceAccepted(turn: divergence.turn, hash: divergence.hash, build: build)
            turns.write(accepted, origin: .operator, now: now)
        }
        scheduler.begin(turns.state.ledger, now: now)
        if isNew { try turns.begin(seed: seed, now: now, &out) }
        if settings.checksInvariants { turns.watchInvariants(&out) }
        scheduler.enterOrders(now: now, &turns)
        clients.restore(turns.state.sessions, now: now)
        enforceKeysOfStart(now: now)
        phase = .serving
        if !isNew { firings.tell(.resumed, turns.state.subscriptions, now: now) }
        for note in turns.quarantine.report() { out.note(note) }
        if let why = turns.quarantine.verdict(on: .view) { readers.turnViewsOff(why, &out) }
    }

    /// What is on disk outlives something else by now.
    ///
    /// - Parameter durability: as `status` shall say it.
    public mutating func journalOutlives(_ durability: String) {
        guard durability != out.identity.durability else { return }
        out.identity.durability = durability
        out.note(.warning, "what is on disk has another durability now: \(durability)")
    }

    // MARK: Beside the service

    /// Why the host must not call the program beside the service; nil while it may.
    public var maintenanceIsOff: String? { turns.quarantine.verdict(on: .maintenance) }

    /// The host is done with a snapshot.
    ///
    /// - Parameter bytes: its size; nil if there is none, and then the next one is due when the journal has grown again.
    public mutating func snapshotSaved(bytes: Int?) {
        snapshots.ended(bytes: bytes)
        // It has returned; but the trouble may be a later state, so that this acquits of no proven death.
        turns.returned(.maintenance)
    }

    public mutating func exportCopied(through turn: Int) {
        operators.backup.copied(through: turn)
    }

    /// - Parameter problem: why there is no backup; nil if there is one.
    public mutating func exportEnded(_ problem: String?) {
        operators.backup.ended(problem)
    }
}
