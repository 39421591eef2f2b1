import SamovarCore
import SamovarWire

/// Makes spans of the records of a journal: one of each turn that is a part of a chain, and one of each effect when it ends.
///
/// Records alone do not tell in which queue an effect was, nor what a policy or `cancel` has closed, so the turns are replayed together with the
/// books of effects. Beside the state, it holds the effects that are open. To hold back a span until a chain is over was rejected: chains may last
/// for months, and a turn tells all that its span needs when it is read.
///
/// | record | span | parent |
/// |---|---|---|
/// | start of the timeline, message, refusal | of the turn | the turn that it follows; the effect that it answers |
/// | failed attempt, requeue, drop, item that is given up | of the turn | the effect that it is about |
/// | whatever closes an effect, or leaves it dead | of the effect too | the turn that ordered it |
/// | any other | none | |
///
/// An effect that is still open has no span yet: the turn that ordered it names it. Nor has an effect of a source, which lasts as long as it is
/// wanted, nor one that its own turn has cancelled again. Of an effect that died and was requeued, the first end has its identity, and each later
/// one another.
public struct TraceMachine {
    private var state: StoreState
    private let version: Int
    /// The version of the program that wrote the newest records; nil before it is known.
    private var author: Int?
    private var hasComputedOlder = false
    /// Open effects, as they were after the newest turn.
    private var open: [EffectID: OpenEffect] = [:]
    /// Those among them that were dead before.
    private var requeued: Set<EffectID> = []

    /// - Parameters:
    ///   - engine: one that has seen no turn.
    ///   - terms: what the replay puts up with.
    public init(_ engine: any ProgramEngine, terms: ReplayTerms = ReplayTerms()) {
        // Of clients it tells nothing that depends on their windows.
        state = StoreState(engine: engine, window: 1)
        version = engine.schema.version
        engine.terms = terms
    }

    /// The newest turn; 0 before the first.
    public var turn: Int { state.head }

    /// See ``PastMachine/followsOlder``; before the first record it is not known who wrote it.
    public var followsOlder: Bool { hasComputedOlder || author.map { $0 < version } ?? true }

    /// How many effects are open.
    public var openCount: Int { open.count }

    /// Begins with what a snapshot says.
    ///
    /// - Throws: `MigrationError` for a version that this program cannot read; what reading throws: an older snapshot may do.
    public mutating func restore(snapshot: [UInt8]) throws {
        author = try state.restore(snapshot)
        for effect in state.ledger.open.values where !effect.isSource {
            open[effect.id] = effect
            if effect.history.requeued != nil { requeued.insert(effect.id) }
        }
    }

    /// Reads a stored batch, as far as its turns are new.
    ///
    /// - Parameters:
    ///   - limit: the last turn to read.
    ///   - tell: hears of each span that ends, with the turn in which it does.
    /// - Throws: `ReplayError`, naming the turn; what `tell` throws.
    public mutating func replay(
        first: Int, last: Int, bytes: [UInt8], through limit: Int = .max, tell: (TraceSpan, Int) throws -> Void = { _, _ in }
    ) throws {
        var log = TurnLog(ofReplayAfter: turn)
        let known = turn
        try RecordBatch.read(first: first, last: last, bytes: bytes) { record in
            guard record.turn > known, record.turn <= limit else { return }
            let dead = dead(droppedBy: record)
            try state.take(record, log: &log)
            if case .started(_, _, let schema, _) = record.event { author = schema.version }
            hasComputedOlder = followsOlder
            let ordered = noteOpened(by: record)
            if let span = span(of: record, ordered, dead) { try tell(span, record.turn) }
            try close(record) { try tell($0, record.turn) }
            state.ledger.forgetChanges()
        }
    }

    // MARK: Turns

    /// Notes what a record has opened; returns what it has ordered.
    private mutating func noteOpened(by record: Record) -> [OpenEffect] {
        var ordered: [OpenEffect] = []
        for id in state.ledger.changes.opened.map(\.id) {
            guard open[id] == nil, let effect = state.ledger.open[id], !effect.isSource else { continue }
            open[id] = effect
            if id.turn == record.turn { ordered.append(effect) } else { requeued.insert(id) }
        }
        // What has become of its attempts is counted when it ends.
        switch record.event {
        case .attemptFailed(let id, _, _, _): if open[id] != nil { open[id] = state.ledger.open[id] }
        case .streamed: if case .effect(let id, _, _) = record.origin, open[id] != nil { open[id] = state.ledger.open[id] }
        default: break
        }
        return ordered
    }

    /// A dead effect that a record drops: afterwards it is in no book any more.
    private func dead(droppedBy record: Record) -> OpenEffect? {
        guard case .dropped(let id) = record.event, let effect = state.ledger.dead[id]?.effect, !effect.isSource else { return nil }
        return effect
    }

    private func span(of record: Record, _ ordered: [OpenEffect], _ dead: OpenEffect?) -> TraceSpan? {
        let (parent, failure): (TraceSpan.Place?, String?)
        switch record.event {
        case .started where record.turn == 1: (parent, failure) = (nil, nil)
        case .applied, .streamed: (parent, failure) = (Self.parent(of: record.origin), nil)
        case .refused(let verdict): (parent, failure) = (Self.parent(of: record.origin), verdict.words)
        case .quarantined(let text): (parent, failure) = (Self.parent(of: record.origin), text)
        case .attemptFailed(let effect, let reason, let text, _):
            (parent, failure) = (Self.parent(effect), text.isEmpty ? reason.rawValue : "\(reason.rawValue): \(text)")
        case .requeued(let effect), .dropped(let effect):
            (parent, failure) = ((open[effect] ?? dead).map { TraceSpan.Place.effect($0.id) }, nil)
        case .started, .done, .dead, .workerJoined, .workerLeft, .sessionExpired, .drained, .divergenceAccepted, .controlled,
            .stateDigest:
            return nil
        }
        return TraceSpan(
            .turn(record.turn), parent, root: root(of: record, dead), from: record.time, to: record.time, failure: failure,
            .turn(record, ordered: ordered))
    }

    private func root(of record: Record, _ dead: OpenEffect?) -> Int {
        switch record.event {
        // What an operator does with an effect is of its chain.
        case .requeued(let effect), .dropped(let effect): (open[effect] ?? dead)?.root ?? record.turn
        // What comes from a source begins a chain.
        default: record.root > 0 ? record.root : record.turn
        }
    }

    private static func parent(of origin: Origin) -> TraceSpan.Place? {
        switch origin {
        case .followUp(let turn): .turn(turn)
        case .effect(let effect, _, _), .failure(let effect): parent(effect)
        case .store, .client, .operator, .subscription: nil
        }
    }

    private static func parent(_ effect: EffectID) -> TraceSpan.Place? {
        effect.ordinal < SubscriptionTable.firstSource ? .effect(effect) : nil
    }

    // MARK: Effects

    /// Tells of the effects that a record has closed, or left dead.
    private mutating func close(_ record: Record, _ tell: (TraceSpan) throws -> Void) rethrows {
        switch (record.event, record.origin) {
        case (.applied(_, _, closes: true), .effect(let id, _, _)): try close(id, .answered, record, tell)
        case (.applied(_, _, closes: true), .failure(let id)): try close(id, .failed, record, tell)
        case (.done(let id), _): try close(id, .done, record, tell)
        case (.dead(let id, let failure), _): try close(id, .dead, with: failure, record, tell)
        case (.dropped(let id), _): try close(id, .dropped, record, tell)
        case (.quarantined, .effect(let id, _, _)), (.quarantined, .failure(let id)): try close(id, .dead, record, tell)
        case (.divergenceAccepted(let turn, _, _), _):
            for id in open.keys.filter({ $0.turn == turn }).sorted() { try close(id, .dead, record, tell) }
        default: break
        }
        for cancelled in state.ledger.changes.cancelled { try close(cancelled.id, .cancelled, record, tell) }
    }

    private mutating func close(
        _ id: EffectID, _ end: TraceSpan.End, with failure: Failure? = nil, _ record: Record,
        _ tell: (TraceSpan) throws -> Void
    ) rethrows {
        guard state.ledger.open[id] == nil, let effect = open.removeValue(forKey: id) else { return }
        let isAgain = requeued.remove(id) != nil
        let failure = failure ?? state.ledger.dead[id]?.failure
        try tell(
            TraceSpan(
                isAgain ? .again(id, endedIn: record.turn) : .effect(id), isAgain ? .effect(id) : .turn(id.turn), root: effect.root,
                from: effect.ordered, to: record.time, failure: failure?.description ?? (end == .failed ? "failed" : nil),
                .effect(effect, end, attempts: failure?.attempts ?? Self.attempts(of: effect, end))))
    }

    private static func attempts(of effect: OpenEffect, _ end: TraceSpan.End) -> Int {
        let before = effect.failures + effect.deaths
        switch end {
        // The last one, which has no record of its own.
        case .answered, .done: return before + 1
        case .failed: return effect.isCrowded ? 0 : before + 1
        case .dead, .cancelled, .dropped: return before
        }
    }
}

extension Outcome.Verdict {
    /// Why it is no success.
    fileprivate var words: String? {
        switch self {
        case .applied: nil
        case .refused: "refused"
        case .rejected(let text): text
        }
    }
}
