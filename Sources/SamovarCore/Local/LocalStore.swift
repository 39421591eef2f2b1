/// A program in one process, without journal, sockets and workers: what `update` does has happened when `send` returns.
///
/// ```swift
/// var store = try LocalStore(Counter.self)
/// try store.send(.incrementAsync)
/// for order in store.takeEffects() {
///     try store.answer(order.id, with: .finished(count: 1))
/// }
/// print(store.view.async)
/// ```
///
/// For command-line tools, games, benchmarks and first steps. It is the engine of the real store: turns, groups with their
/// follow-ups, labels, policies, pauses, and the limits of turns and effects in a group are the same. What needs time or a
/// second process is the caller's: it runs the effects that it takes with ``JournalingLocalStore/takeEffects()``, retries and
/// delays them as it likes, moves the clock with ``JournalingLocalStore/advance(to:)``, and fires the timers of `subscriptions`.
/// For tests there is `TestStore`, which does all of this as a running system would. No effect is kept dead here: `requeue` and
/// `drop` find none.
///
/// Nothing is encoded, so no bytes are limited. A real store ends at a group whose records take more bytes than `bytes` of its
/// ``GroupLimits``, that orders an effect of more than `effectBytes`, or that has a value which cannot be encoded; here such a
/// group is one like any other.
///
/// A turn that orders nothing allocates nothing.
public typealias LocalStore<P: Program> = JournalingLocalStore<P, NoJournal<P.Message>>

/// A `LocalStore` that hands its turns to a journal.
///
/// ```swift
/// var store = try JournalingLocalStore(Counter.self, journal: EachTurn { message, turn in print(turn.number, message) })
/// ```
///
/// It is not `Sendable` and not copyable: one owner, one state. Reading `state` is free; a copy that is kept makes the next turn
/// copy what it changes.
public struct JournalingLocalStore<P: Program, Journal: TurnJournal>: ~Copyable where Journal.Message == P.Message {
    @usableFromInline var engine: TurnEngine<P>
    @usableFromInline var book: LocalBook<P>
    private let settings: LocalStoreSettings
    @usableFromInline var sent: Int
    /// Why nothing is taken any more, or not yet: what `send` and `fire` would throw now. Nil if they would take something.
    ///
    /// It may be there from the start: effects of `start` for which there is no room fail before anybody calls the store, and what
    /// comes of that may pass a limit. `takeEffects()` and the like tell nothing of it: they hand out what there is. After `.group`
    /// it stays; the others are gone once effects have run, or outputs were taken.
    public private(set) var obstacle: LocalStoreError?
    /// The time of the next turn.
    public private(set) var now: Timestamp
    /// Where turns are written to.
    public var journal: Journal

    /// Starts the program at turn 1.
    ///
    /// - Parameters:
    ///   - now: the time of the first turns, until `advance(to:)`; the core has no clock.
    ///   - secret: keys `turn.random` and `turn.uuid`; with the same one, and the same inputs at the same times, everything is the
    ///     same again.
    /// - Throws: what `start` throws; `LocalStoreError` if its follow-ups pass a limit. Effects for which there is no room fail
    ///   after it; if they lead to too many turns, that is the ``obstacle``, and `send`, `fire`, `answer` and `fail` throw it.
    public init(
        _ program: P.Type = P.self, seed: P.Seed, journal: Journal, now: Timestamp = Timestamp(microseconds: 0),
        secret: Secret = Secret(high: 0, low: 0), settings: LocalStoreSettings = LocalStoreSettings()
    ) throws {
        let turn = Turn(number: 1, now: now, origin: .store, secret: secret)
        let next = try P.start(seed, turn)
        var engine = TurnEngine<P>(state: next.state, head: turn.number, secret: secret, limits: settings.group)
        var group = Group<P>()
        do { try engine.follow(next.command, of: turn, into: &group) } catch { throw LocalStoreError.group(error) }
        self.engine = engine
        book = LocalBook()
        sent = 0
        obstacle = nil
        self.journal = journal
        self.now = now
        self.settings = settings
        enter(nil, next.command, of: turn, group)
    }

    /// The state after the newest turn.
    @inlinable public var state: P.State { _read { yield engine.state } }
    /// What outsiders would see of it.
    @inlinable public var view: P.ViewState { P.view(engine.state) }
    /// What the state wants to hear of; see ``fire(_:)``.
    @inlinable public var subscriptions: [Subscription<P>] { P.subscriptions(engine.state) }
    /// The number of the newest turn.
    @inlinable public var head: Int { engine.head }

    /// Sets the time of the turns to come. An earlier one than before is ignored: time does not go back.
    public mutating func advance(to time: Timestamp) {
        now = max(now, time)
    }

    // MARK: Turns

    /// Asks `accept`, then applies the message and all that follows from it.
    ///
    /// - Returns: whether it was applied, or the program's refusal.
    /// - Throws: `LocalStoreError`. After `.group` the state is beyond repair, and every later call throws the same; the other
    ///   ones say what the caller has to take first, and then nothing has happened.
    @inlinable
    @discardableResult
    public mutating func send(_ input: P.Input) throws(LocalStoreError) -> LocalReceipt<P> {
        if let obstacle { throw obstacle }
        sent &+= 1
        let origin = Origin.client(session: SessionID(high: 0, low: 0), sequence: sent)
        let turn = engine.next(now: now, origin: origin)
        let message: P.Message
        do throws(P.Refusal) {
            message = try P.accept(input, engine.state, turn)
        } catch {
            engine.skip()
            return .refused(error, turn: turn.number)
        }
        try apply(message, origin: origin)
        return .applied(turn: turn.number)
    }

    @inlinable
    mutating func apply(_ message: P.Message, origin: Origin) throws(LocalStoreError) {
        let (turn, command) = engine.step(message, now: now, origin: origin)
        if command.isEmpty {
            journal.append(message, turn)
        } else {
            try follow(message, command, of: turn)
        }
    }

    /// Applies what follows from a turn, and enters what the whole group ordered.
    ///
    /// - Parameter message: that of the turn; nil for the start of the program.
    @usableFromInline
    mutating func follow(_ message: P.Message?, _ command: Command<P>, of turn: Turn) throws(LocalStoreError) {
        var group = Group<P>()
        do {
            try engine.follow(command, of: turn, into: &group)
            enter(message, command, of: turn, group)
        } catch {
            obstacle = .group(error)
        }
        try throwIfBroken()
    }

    private mutating func enter(_ message: P.Message?, _ command: Command<P>, of turn: Turn, _ group: Group<P>) {
        if let message { journal.append(message, turn) }
        book.enter(command, of: turn)
        for taken in group.turns {
            journal.append(taken.message, taken.turn)
            book.enter(taken.command, of: taken.turn)
        }
        noteObstacle()
        failCrowded()
    }

    private mutating func noteObstacle() {
        obstacle =
            if book.open.count >= settings.openEffects {
                .openEffects(settings.openEffects)
            } else if book.untaken >= settings.untaken {
                .untaken(settings.untaken)
            } else {
                nil
            }
    }

    // MARK: Effects

    /// Effects that are to be run and were not taken before, in the order in which they were ordered. One behind another with its
    /// label (`.serial`) comes when that one is closed.
    public mutating func takeEffects() -> [LocalEffect<P>] { book.takeReady() }

    /// Effects that were taken and have been cancelled since. An answer to one is not applied.
    public mutating func takeCancelled() -> [EffectID] {
        defer { if !isBroken { noteObstacle() } }
        return book.takeCancelled()
    }

    /// What the program told other programs since the last call.
    public mutating func takeOutputs() -> [P.Output] {
        defer { if !isBroken { noteObstacle() } }
        return book.takeOutputs()
    }

    /// Closes an effect with its messages, which are applied one after the other, each with its follow-ups.
    ///
    /// - Returns: false if the effect is not open: answered before, or cancelled. Then nothing was applied.
    /// - Throws: `LocalStoreError.group`, as `send` does.
    @discardableResult
    public mutating func answer(_ effect: EffectID, with messages: P.Message...) throws(LocalStoreError) -> Bool {
        try throwIfBroken()
        guard book.open[effect] != nil else { return false }
        for (index, message) in messages.enumerated() {
            // The last turn is the one that closes it, before what that turn orders.
            if index == messages.count - 1 { _ = book.close(effect) }
            try apply(message, origin: .effect(effect, lease: Lease(start: 1, counter: 1), index: index))
        }
        if messages.isEmpty {
            _ = book.close(effect)
            engine.skip()
        }
        noteObstacle()
        return true
    }

    /// Closes an effect that has failed for good, and applies what `failed` makes of it.
    ///
    /// - Returns: false if the program makes no message of it, or the effect is not open. Nothing else will tell of it then.
    /// - Throws: `LocalStoreError.group`, as `send` does.
    @discardableResult
    public mutating func fail(_ effect: EffectID, _ failure: Failure) throws(LocalStoreError) -> Bool {
        try throwIfBroken()
        guard let closed = book.close(effect) else { return false }
        defer { if !isBroken { noteObstacle() } }
        guard let message = P.failed(closed.effect, failure) else {
            engine.skip()
            return false
        }
        try apply(message, origin: .failure(effect))
        return true
    }

    /// Fires a timer, or tells of a moment in the life of the process, that the state wants to hear of at this moment.
    ///
    /// - Returns: false if it does not, or the subscription is a source.
    /// - Throws: `LocalStoreError`, as `send` does.
    @discardableResult
    public mutating func fire(_ subscription: Label) throws(LocalStoreError) -> Bool {
        if let obstacle { throw obstacle }
        let origin = Origin.subscription(EffectID(turn: head, ordinal: 0), nominal: now)
        switch P.subscriptions(engine.state).first(where: { $0.id == subscription })?.event {
        case .timer(_, let message), .lifecycle(_, let message): try apply(message, origin: origin)
        case .source, nil: return false
        }
        return true
    }

    /// Effects for which there was no room under their label. Each may lead to others, of which there may be as many as turns in a group.
    private mutating func failCrowded() {
        // One that fails may lead to another; all of them are seen to here, and not on an ever deeper stack.
        guard !book.isFailingCrowded else { return }
        book.isFailingCrowded = true
        defer { book.isFailingCrowded = false }
        var left = book.crowded.count + settings.group.turns
        while !isBroken, let id = book.takeCrowded() {
            guard let effect = book.open[id], let limit = effect.options.policy.lane?.limit else { continue }
            left -= 1
            guard left >= 0 else {
                obstacle = .group(.turns(settings.group.turns, root: id.turn))
                return
            }
            let text = "\(limit) effects “\(effect.options.id ?? "")” are open, which is its limit"
            // What it throws is noted as the obstacle, and thrown by whoever caused this.
            _ = try? fail(id, Failure(reason: .crowded, text: text, attempts: 0))
        }
    }

    private var isBroken: Bool { if case .group = obstacle { true } else { false } }

    private func throwIfBroken() throws(LocalStoreError) {
        if let obstacle, isBroken { throw obstacle }
    }
}

extension JournalingLocalStore where Journal == NoJournal<P.Message> {
    /// Starts the program at turn 1, without a journal.
    public init(
        _ program: P.Type = P.self, seed: P.Seed, now: Timestamp = Timestamp(microseconds: 0),
        secret: Secret = Secret(high: 0, low: 0), settings: LocalStoreSettings = LocalStoreSettings()
    ) throws {
        try self.init(program, seed: seed, journal: NoJournal(), now: now, secret: secret, settings: settings)
    }
}

extension JournalingLocalStore where P.Seed == NoSeed {
    /// Starts a program that needs no seed.
    public init(
        _ program: P.Type = P.self, journal: Journal, now: Timestamp = Timestamp(microseconds: 0),
        secret: Secret = Secret(high: 0, low: 0), settings: LocalStoreSettings = LocalStoreSettings()
    ) throws {
        try self.init(program, seed: NoSeed(), journal: journal, now: now, secret: secret, settings: settings)
    }
}

extension JournalingLocalStore where P.Seed == NoSeed, Journal == NoJournal<P.Message> {
    /// Starts a program that needs no seed, without a journal.
    public init(
        _ program: P.Type = P.self, now: Timestamp = Timestamp(microseconds: 0), secret: Secret = Secret(high: 0, low: 0),
        settings: LocalStoreSettings = LocalStoreSettings()
    ) throws {
        try self.init(program, seed: NoSeed(), journal: NoJournal(), now: now, secret: secret, settings: settings)
    }
}

/// The turns that follow from one.
private struct Group<P: Program>: TurnSink {
    var turns: [(turn: Turn, message: P.Message, command: Command<P>)] = []

    mutating func took(_ turn: Turn, _ message: P.Message, _ command: Command<P>) {
        turns.append((turn, message, command))
    }
}
