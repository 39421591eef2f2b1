import SamovarCore
import SamovarWire

/// Two histories of one program, side by side: the one in the journal, and the one that would have been, had something been otherwise.
///
/// Up to the first turn that may differ there is one history, which is replayed. From there on the machine takes the records chain by chain,
/// a chain being an item from outside with all that follows from it, and applies each item to the other history if it would have come there,
/// too. What a client sent comes in any case; what a worker answered comes if the same effect is ordered; what a timer sent, if it is due;
/// follow-ups are derived again. Nothing is invented: no worker answers what it was never asked, and no timer fires at a time at which it did not.
///
/// A recorded turn keeps its number and its time, and with them all that is random in it. A follow-up has the number of the one that was the same
/// message of the same turn; whatever never was is numbered behind the last turn. Rejected: to number anew, for one turn less would roll all dice
/// of the turns behind it again, and each difference would drown in others.
///
/// | | `restore` | `replay` | `finish` |
/// |---|---|---|---|
/// | one history | sets it | replays; at the first item that may differ: two histories | two histories, then as there |
/// | two histories | – | takes the chain before, and notes the record | takes the last chain; tells |
///
/// Used by one thread, once.
public final class WhatIfMachine {
    /// An item with all that followed from it.
    private struct Chain {
        let item: Record
        /// The subscription that has sent it, as it was then.
        let subscription: SubscriptionTable.Activation?
        var followUps: [Record] = []
    }

    private let supposition: Supposition
    private let makeEngine: () -> any ProgramEngine
    private let terms: ReplayTerms
    /// The history that would have been; before the first difference, the one that was.
    private var other: StoreState
    /// The history that was, as soon as there are two.
    private var original: StoreState?
    private var log = TurnLog(ofReplayAfter: 0)
    private var author = 0
    private var chain: Chain?
    /// What the chain has ordered in the journal.
    private var orders = OrderedEffects()
    /// Turns after which something is inserted, from the last one to the next one.
    private var insertions: [Int]
    private var inserted = 0
    /// Effects of the other history that the journal has not, or otherwise, under this identity.
    private var strangers: Set<EffectID> = []
    /// Effects of the journal that the other history has not.
    private var missing: Set<EffectID> = []
    /// As many of both may be remembered before those that are closed are forgotten.
    var remembered = 1_000
    /// A request of an operator that has fallen away, and of which the program may have been told in the next turn.
    private var lostRequest: Int?
    private var counts = Counts()
    private var result: WhatIf

    /// How often something was assumed.
    private struct Counts {
        var accepted = 0
        var remade = 0
        var refused = 0
        var answers = 0
        var failures = 0
        var requests = 0
    }

    /// - Parameters:
    ///   - last: the last turn to look at: the end of a chain.
    ///   - engine: makes one that has seen no turn; there are two histories, with an engine each.
    public init(
        _ supposition: Supposition, through last: Int, terms: ReplayTerms = ReplayTerms(), engine: @escaping () -> any ProgramEngine
    ) {
        self.supposition = supposition
        self.terms = terms
        makeEngine = engine
        insertions = supposition.inserted.keys.sorted(by: >)
        result = WhatIf(last: last)
        other = Self.history(engine(), terms)
    }

    /// The turn up to which the journal was read; 0 before the first.
    public var turn: Int { (original ?? other).head }

    private static func history(_ engine: any ProgramEngine, _ terms: ReplayTerms) -> StoreState {
        engine.terms = terms
        return StoreState(engine: engine, window: StoreSettings().window)
    }

    // MARK: One history

    /// Begins with what a snapshot says, of a turn before the first that may differ.
    public func restore(snapshot: [UInt8]) throws {
        author = try other.restore(snapshot)
    }

    /// Takes the records of a stored batch that are not taken yet.
    ///
    /// - Throws: `ReplayError` and `SuppositionError`, naming the turn; `GroupLimit`, which a store would have ended with.
    public func replay(first: Int, last: Int, bytes: [UInt8]) throws {
        let known = turn
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= result.last else { return }
            try take(record)
        }
    }

    func take(_ record: Record) throws {
        if let objection = supposition.objection(to: record) { throw objection }
        if original == nil, mayDiffer(from: record) { try part() }
        if case .started(_, _, let schema, _) = record.event { author = schema.version }
        if original == nil { try other.replay(record, log: &log) } else { try note(record) }
    }

    /// Whether the other history may differ from this record on. A chain is never taken apart.
    private func mayDiffer(from record: Record) -> Bool {
        if case .followUp = record.origin { return false }
        return record.turn > 1 && record.turn >= supposition.first ?? 0
    }

    /// From here on there are two histories.
    private func part() throws {
        var history = Self.history(makeEngine(), terms)
        try history.restore(try other.snapshot())
        // A snapshot is of a start whose cancellations reach the dead; here the start may be an older one.
        history.ledger.cancelsDead = other.ledger.cancelsDead
        original = history
        try takeInsertions(through: other.head)
    }

    // MARK: Two histories

    private func note(_ record: Record) throws {
        guard author >= other.engine.schema.version else {
            throw SuppositionError(
                turn: record.turn,
                "it was written by version \(author) of the program, and what would have been can be computed of turns of this version alone"
            )
        }
        if case .followUp = record.origin {
            chain?.followUps.append(record)
        } else {
            try takeChain()
            chain = Chain(item: record, subscription: original?.subscription(of: record.origin))
        }
        guard original != nil else { return }
        try original?.engine.replay(record, log: &log)
        orders.note(log)
        original?.enter(record, &log)
        if let subscriptions = original?.subscriptions { orders.note(subscriptions) }
    }

    private func takeChain() throws {
        guard let chain = chain.take() else { return }
        let was = orders
        orders = OrderedEffects()
        var would = OrderedEffects()
        let reason = try take(chain, &would)
        other.engine.skip(to: chain.item.turn)
        compare(was, with: would)
        switch chain.item.event {
        case .requeued, .dropped, .controlled: lostRequest = reason == nil ? nil : chain.item.turn
        default: lostRequest = nil
        }
        if let reason {
            result.lost.append(WhatIf.Lost(record: chain.item, reason: reason))
            for record in chain.followUps { result.lost.append(WhatIf.Lost(record: record, reason: .notOrdered(by: record.cause))) }
        }
        other.time = max(other.time, chain.item.time)
        try takeInsertions(through: chain.followUps.last?.turn ?? chain.item.turn)
        forgetClosed()
    }

    /// - Returns: why the item falls away; nil if it would have come.
    private func take(_ chain: Chain, _ orders: inout OrderedEffects) throws -> WhatIf.Reason? {
        let item = chain.item
        if supposition.removed.contains(item.turn) { return .removed }
        switch item.event {
        case .applied, .streamed: return try apply(chain, &orders)
        case .refused:
            if supposition.replaced[item.turn] != nil { return try apply(chain, &orders) }
            if case .client = item.origin { counts.refused += 1 }
            return nil
        case .started:
            other.engine.skip(to: item.turn)
            other.absorb(item)
            other.engine.resubscribe(now: item.time, log: &log)
            carryOut(&orders)
            return nil
        case .attemptFailed(let effect, _, _, _), .done(let effect), .dead(let effect, _):
            if let reason = objection(to: effect) { return reason }
        case .dropped(let effect):
            if let reason = objection(to: effect, mayBeDead: true) { return reason }
            if item.origin == .operator {
                counts.requests += 1
            } else {
                // The store drops what is requeued of a source that is not wanted. Here it is wanted, or was not requeued.
                guard let open = other.ledger.open[effect], other.isAbandoned(open) else { return nil }
            }
        case .requeued(let effect):
            if let reason = objection(to: effect, mayBeDead: true) { return reason }
            guard other.ledger.dead[effect] != nil else { return .ofClosedEffect(effect) }
            counts.requests += 1
        case .controlled: counts.requests += 1
        case .quarantined: return absorb(quarantined: chain)
        case .divergenceAccepted, .workerJoined, .workerLeft, .sessionExpired, .drained, .stateDigest: break
        }
        other.absorb(item)
        return nil
    }

    /// An item that was given up is given up in both histories.
    private func absorb(quarantined chain: Chain) -> WhatIf.Reason? {
        var item = chain.item
        switch item.origin {
        case .effect(let effect, _, _), .failure(let effect):
            if let reason = objection(to: effect) { return reason }
        case .subscription(_, let nominal):
            guard let label = chain.subscription?.wanted.id, let activation = other.subscriptions.activations[label] else { break }
            item.origin = .subscription(activation.id, nominal: nominal)
        default: break
        }
        other.absorb(item)
        return nil
    }

    // MARK: Items

    private func apply(_ chain: Chain, _ orders: inout OrderedEffects) throws -> WhatIf.Reason? {
        let item = chain.item
        var (bytes, role, checkpoint) = item.content
        let given = supposition.replaced[item.turn]
        bytes = given ?? bytes
        var (origin, root, isInput) = (item.origin, item.turn, false)
        switch item.origin {
        case .client:
            role = .open
            isInput = given != nil || other.engine.inputsAreMessages
            if !isInput { counts.accepted += 1 }
        case .effect(let effect, _, _):
            if let reason = objection(to: effect) { return reason }
            root = other.ledger.open[effect]?.root ?? item.root
            if given == nil { counts.answers += 1 }
        case .failure(let effect):
            // One that stays dead is so already, by the record before.
            if let reason = objection(to: effect, mayBeDead: role == .open) { return reason }
            root = (other.ledger.open[effect] ?? other.ledger.dead[effect]?.effect)?.root ?? item.root
            if given == nil { counts.failures += 1 }
        case .subscription:
            guard let label = chain.subscription?.wanted.id else { break }
            guard let firing = other.subscriptions.firing(again: chain.subscription, at: item) else { return .notDue(label) }
            origin = .subscription(firing.id, nominal: firing.nominal)
            bytes = given ?? firing.message
        case .operator:
            if let lostRequest, lostRequest == item.turn - 1 { return .ofRequest(lostRequest) }
            counts.requests += 1
        case .store, .followUp: break
        }
        let turn = SupposedTurn(
            number: item.turn, time: item.time, origin: origin, sender: item.sender, root: root,
            content: isInput ? .input(bytes) : .message(bytes, role, checkpoint: checkpoint))
        try suppose(turn, isGiven: given != nil, followUps: chain.followUps, &orders)
        return nil
    }

    /// - Parameter followUps: that the journal has.
    private func suppose(
        _ turn: SupposedTurn, isGiven: Bool, followUps: [Record] = [], _ orders: inout OrderedEffects
    ) throws {
        var left = followUps
        let end: SupposedEnd
        do {
            end = try other.engine.suppose(turn, log: &log) { message, cause in
                func recorded(_ message: [UInt8]) -> Int? {
                    left.firstIndex { $0.cause == cause && $0.content.message == message }
                }
                // The engine of the history that was: the other one is in use.
                let formerly = original?.engine.asFormerly
                guard let place = recorded(message) ?? formerly.flatMap({ recorded($0(message, .message)) }) else {
                    return (gain(.followUp(of: cause), message), message)
                }
                let record = left.remove(at: place)
                // As it is recorded, so that both histories have the same message.
                return (record.turn, record.content.message)
            }
        } catch let error as ReplayError where isGiven {
            throw SuppositionError(turn: turn.number, "what it shall be instead is no message of this program: \(error.text)")
        }
        carryOut(&orders)
        if end.isRemade, !isGiven { counts.remade += 1 }
        switch end.verdict {
        case .applied: break
        case .rejected(let why) where isGiven:
            throw SuppositionError(turn: turn.number, "what shall come there is no input of this program: \(why)")
        case .refused, .rejected: result.refusals.append(WhatIf.Refusal(turn: turn.number, verdict: end.verdict))
        }
        for record in left { result.lost.append(WhatIf.Lost(record: record, reason: .notOrdered(by: record.cause))) }
    }

    /// A turn that never was; returns its number.
    private func gain(_ cause: WhatIf.Gained.Cause, _ content: [UInt8]) -> Int {
        let turn = result.last + result.gained.count + 1
        result.gained.append(WhatIf.Gained(turn: turn, cause: cause, content: content))
        return turn
    }

    private func takeInsertions(through turn: Int) throws {
        while let next = insertions.last, next <= turn {
            insertions.removeLast()
            for input in supposition.inserted[next] ?? [] {
                inserted += 1
                let origin = Origin.client(session: SessionID(high: 0, low: 0), sequence: inserted)
                let number = gain(.inserted(after: next), input)
                var orders = OrderedEffects()
                try suppose(
                    SupposedTurn(
                        number: number, time: other.time, origin: origin, sender: nil, root: number, content: .input(input)),
                    isGiven: true, &orders)
                compare(OrderedEffects(), with: orders)
            }
        }
    }

    private func carryOut(_ orders: inout OrderedEffects) {
        orders.note(log)
        other.carryOut(&log)
        other.ledger.forgetChanges()
        orders.note(other.subscriptions)
    }

    // MARK: Effects

    /// Why something that was told of an effect falls away; nil if it is open, and the same as in the journal.
    private func objection(to effect: EffectID, mayBeDead: Bool = false) -> WhatIf.Reason? {
        if strangers.contains(effect) { return .ofAnotherEffect(effect) }
        if missing.contains(effect) { return .withoutEffect(effect) }
        if other.ledger.open[effect] != nil || mayBeDead && other.ledger.dead[effect] != nil { return nil }
        return .ofClosedEffect(effect)
    }

    private func compare(_ was: OrderedEffects, with would: OrderedEffects) {
        for order in would.missing(in: was) {
            strangers.insert(order.id)
            result.ordered.append(order)
        }
        for order in was.missing(in: would) {
            missing.insert(order.id)
            result.missing.append(order)
        }
    }

    /// An effect that is neither open nor dead is told of by no later record: only as many are remembered as the two histories have at once.
    private func forgetClosed() {
        guard differing > remembered, let original else { return }
        strangers = strangers.filter { original.ledger.isKept($0) || other.ledger.isKept($0) }
        missing = missing.filter { original.ledger.isKept($0) }
        // Twice as many next time, so that it costs each effect a moment.
        remembered = max(remembered, 2 * differing)
    }

    /// How many effects are remembered that one of the histories has not.
    var differing: Int { strangers.count + missing.count }

    // MARK: The end

    /// What would have been.
    public func finish() throws -> WhatIf {
        if original == nil { try part() }
        try takeChain()
        guard let original else { return result }
        result.assumptions = assumptions(beside: original)
        result.states = WhatIf.Pair(was: try original.engine.state(), wouldBe: try other.engine.state())
        result.views = WhatIf.Pair(was: try original.engine.view(), wouldBe: try other.engine.view())
        return result
    }

    private func assumptions(beside original: StoreState) -> [WhatIf.Assumption] {
        let open = strangers.count { other.ledger.open[$0] != nil }
        let counted: [(Int, (Int) -> WhatIf.Assumption)] = [
            (counts.accepted, { .acceptedInputs($0) }), (counts.remade, { .remadeInputs($0) }),
            (counts.refused, { .refusedInputs($0) }),
            (counts.answers, { .answers($0) }), (counts.failures, { .failures($0) }), (counts.requests, { .requests($0) }),
            (open, { .open($0) }),
        ]
        let due = other.subscriptions.activations.values.sorted { $0.id < $1.id }.compactMap { activation -> WhatIf.Assumption? in
            let label = activation.wanted.id
            guard let due = activation.due, due <= other.time, original.subscriptions.activations[label]?.due != due else {
                return nil
            }
            return .due(label, due)
        }
        return counted.filter { $0.0 > 0 }.map { $0.1($0.0) } + due
    }
}

extension Record {
    /// The turn that it follows from; 0 if it comes from outside.
    fileprivate var cause: Int { if case .followUp(let turn) = origin { turn } else { 0 } }

    /// The message, and what it is for the effect that it comes from; empty if there is none.
    fileprivate var content: (message: [UInt8], role: MessageRole, checkpoint: [UInt8]?) {
        switch event {
        case .applied(let message, _, let closes): (message, closes ? .closes : .open, nil)
        case .streamed(let message, _, let checkpoint): (message, .streamed, checkpoint)
        default: ([], .open, nil)
        }
    }
}

extension StoreState {
    /// The subscription of which an origin tells; nil for any other origin.
    fileprivate func subscription(of origin: Origin) -> SubscriptionTable.Activation? {
        guard case .subscription(let id, _) = origin else { return nil }
        return subscriptions.activations.values.first { $0.id == id }
    }
}

extension SubscriptionTable {
    /// What a subscription with the same label sends now, where the journal has a firing; nil if it sends nothing. If it wants to send the same
    /// as the former one, that is what was recorded.
    fileprivate func firing(again former: Activation?, at record: Record) -> Firing? {
        guard let former, let activation = activations[former.wanted.id], case .subscription(_, let nominal) = record.origin else {
            return nil
        }
        let recorded = record.content.message
        switch (activation.wanted.kind, former.wanted.kind) {
        case (.timer(let schedule, let message), .timer(_, let formerMessage)):
            guard let due = activation.due, due <= record.time else { return nil }
            return Firing(
                id: activation.id, nominal: schedule.nominal(due: due, now: record.time),
                message: message == formerMessage ? recorded : message)
        case (.lifecycle(let moment, let message), .lifecycle(let formerMoment, let formerMessage)):
            guard moment == formerMoment else { return nil }
            return Firing(id: activation.id, nominal: nominal, message: message == formerMessage ? recorded : message)
        default: return nil
        }
    }
}
