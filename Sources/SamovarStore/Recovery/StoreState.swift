import DequeModule
import SamovarCore
import SamovarWire

/// Everything that the journal determines: the program's state and the books of effects, sessions and workers.
///
/// A live store and a replay go through the same functions, so that what comes back after a crash is what was there before.
struct StoreState {
    let engine: any ProgramEngine
    /// How often the store was started in this timeline.
    var starts = 0
    /// The builds that wrote what was replayed; empty text for what a snapshot holds.
    var builds: Set<String> = []
    /// The seed of the timeline, in MessagePack.
    var seed: [UInt8] = []
    /// The time of the newest record; no later record has an earlier one.
    var time = Timestamp(microseconds: 0)
    var ledger = EffectLedger()
    var subscriptions = SubscriptionTable()
    var outputs = OutputLog()
    var sessions: SessionTable
    /// Workers that joined and have not left: they may hold jobs.
    var joined: Set<WorkerID> = []
    /// The key of each that needed one, by its name.
    var workerKeys: [WorkerID: KeyName] = [:]
    /// Joined workers that have not spoken since a start, and when the first such start was: a store that is restarted again
    /// and again waits once for as long as silence may last, and in each start for as long as a worker needs to come back.
    var missing: [WorkerID: Timestamp] = [:]

    init(engine: any ProgramEngine, window: Int) {
        self.engine = engine
        sessions = SessionTable(window: window)
    }

    var head: Int { engine.head }

    /// Whether an effect is of a source that is not wanted any more. Opened again it would run beside the one that is wanted now, or for ever:
    /// no state ends it.
    func isAbandoned(_ effect: OpenEffect) -> Bool { effect.isSource && !subscriptions.isWanted(effect.id) }

    /// Applies a record of the journal.
    mutating func replay(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        try take(record, log: &log)
        // Nobody runs anything yet.
        ledger.forgetChanges()
    }

    /// The same; the changes of the ledger are left to whoever follows them.
    mutating func take(_ record: Record, log: inout TurnLog) throws(ReplayError) {
        if record.turn == 1, case .started(_, _, let schema, _) = record.event, schema.name != engine.schema.name {
            throw ReplayError(turn: record.turn, "the journal is of \(schema), this program is \(engine.schema)")
        }
        try engine.replay(record, log: &log)
        enter(record, &log)
    }

    /// Enters a record whose turn the engine has replayed, and what that has ordered.
    mutating func enter(_ record: Record, _ log: inout TurnLog) {
        switch record.event {
        case .applied, .streamed, .refused, .started:
            absorb(record)
            // So it is with most turns, and then no book of effects has changed.
            if !log.hasOrders, case .applied = record.event { return }
            carryOut(&log, replaying: record.event)
        default:
            // Such a record orders nothing: what is logged with it was wanted by the turns before, and it may be of that.
            carryOut(&log)
            absorb(record)
        }
    }

    /// Enters what turns have ordered since the last time.
    ///
    /// - Parameter event: that of the newest turn, if it is of the journal.
    mutating func carryOut(_ log: inout TurnLog, replaying event: Record.Event? = nil) {
        log.takeOrders { order in
            switch consume order {
            case .close(let effect): ledger.close(effect)
            case .streamed(let effect, let lease, let index, let checkpoint):
                ledger.streamed(effect, lease: lease, index: index, checkpoint: checkpoint, start: starts)
            case .fired(let activation, let nominal, let message):
                if case .applied(let recorded, _, _)? = event {
                    subscriptions.rename(to: activation, firing: message ?? recorded, for: nominal, at: time)
                }
                subscriptions.fired(activation, nominal: nominal)
            case .run(let effect): ledger.order(effect)
            case .cancel(let label): ledger.cancel(label)
            case .emit(let output): outputs.append(output)
            case .control(let control, let place, let now): ledger.take(control, at: place, now: now)
            case .want(let events, let turn, let now): subscriptions.want(events, turn: turn, now: now, ledger: &ledger)
            }
        }
    }

    /// Brings the books up to date with a record whose turn the engine has taken.
    mutating func absorb(_ record: Record) {
        time = max(time, record.time)
        switch record.event {
        case .started(let number, let build, _, let seed):
            starts = number
            builds.insert(build)
            ledger.cancelsDead = build.hasSuffix(Record.Event.cancelsDead)
            subscriptions.isByLabel = build.hasSuffix(Record.Event.mark)
            if number == 1 { self.seed = seed }
            for id in joined where missing[id] == nil { missing[id] = record.time }
            subscriptions.returned(now: record.time)
        case .applied(_, _, let closes):
            guard case .client(let session, let sequence) = record.origin else { return }
            let outcome = Outcome(sequence: sequence, turn: record.turn, verdict: .applied)
            sessions.answer(session, outcome, by: record.sender, endsSession: closes)
        case .refused(let verdict):
            guard case .client(let session, let sequence) = record.origin else { return }
            let outcome = Outcome(sequence: sequence, turn: record.turn, verdict: verdict.bounded)
            sessions.answer(session, outcome, by: record.sender)
        case .attemptFailed(let effect, let reason, _, let notBefore):
            ledger.attemptFailed(effect, reason, lease: record.origin.lease, notBefore: notBefore)
        case .done(let effect): ledger.close(effect)
        case .dead(let effect, let failure): ledger.bury(effect, failure, lease: record.origin.lease)
        case .quarantined(let text): absorb(quarantined: record, text)
        case .requeued(let effect): ledger.requeue(effect, by: EffectID(turn: record.turn, ordinal: 0), now: record.time)
        case .dropped(let effect): ledger.drop(effect)
        case .controlled(let control): ledger.take(control, at: EffectID(turn: record.turn, ordinal: 0), now: record.time)
        case .workerJoined(let id):
            joined.insert(id)
            workerKeys[id] = record.sender?.name
            missing[id] = nil
        case .workerLeft(let id):
            joined.remove(id)
            workerKeys[id] = nil
            missing[id] = nil
        case .sessionExpired(let id):
            if case .client(_, let sequence) = record.origin {
                sessions.close(id, sequence: sequence, at: record.turn)
            } else {
                sessions.expire(id, at: record.turn)
            }
        // What it did is among the orders of its turn.
        case .streamed: break
        // It tells of the state, and changes nothing.
        case .stateDigest: break
        case .drained:
            joined.removeAll()
            workerKeys.removeAll()
            missing.removeAll()
        case .divergenceAccepted(let turn, _, let build):
            ledger.park(orderedBy: turn, "turn \(turn) orders something else since \(build); requeue it or drop it")
        }
    }

    private mutating func absorb(quarantined record: Record, _ text: String) {
        switch record.origin {
        case .client(let session, let sequence):
            let outcome = Outcome(sequence: sequence, turn: record.turn, verdict: .rejected(text))
            sessions.answer(session, outcome, by: record.sender)
        case .effect(let id, _, _), .failure(let id):
            let attempts = ledger.open[id].map { $0.failures + $0.deaths + 1 } ?? 1
            ledger.bury(id, Failure(reason: .unhandled, text: text, attempts: attempts))
        case .subscription(let activation, let nominal): subscriptions.fired(activation, nominal: nominal)
        case .store, .followUp, .operator: break
        }
    }
}

extension Origin {
    /// The lease of the attempt that it tells of.
    fileprivate var lease: Lease? {
        if case .effect(_, let lease, _) = self { lease } else { nil }
    }
}

extension StoreState {
    /// In which parts one that was restored from a snapshot differs from this one, which replayed to the same turn.
    ///
    /// Outcomes of sessions are left out: which of them a client has confirmed is in no record.
    ///
    /// - Parameter subscriptions: whether they and the effects of sources are compared, too.
    func differences(from other: StoreState, subscriptions comparesSubscriptions: Bool = true) throws -> [String] {
        var parts: [String] = []
        let (mine, others) = comparesSubscriptions ? (ledger, other.ledger) : (ledger.withoutSources, other.ledger.withoutSources)
        func compare(_ part: String, _ isEqual: Bool) { if !isEqual { parts.append(part) } }
        compare("turn", head == other.head)
        compare("time", time == other.time)
        compare("starts", starts == other.starts)
        compare("seed", seed == other.seed)
        compare("state", try engine.comparableState() == other.engine.comparableState())
        compare("effects", mine == others || comparable(mine, beside: others) == comparable(others, beside: mine))
        compare("subscriptions", !comparesSubscriptions || subscriptions == other.subscriptions)
        compare("outputs", outputs == other.outputs || comparable(outputs) == comparable(other.outputs))
        compare("sessions", sessions.places == other.sessions.places)
        compare("expired sessions", sessions.expired == other.sessions.expired)
        compare("closed sessions", sessions.closed == other.sessions.closed)
        compare("workers", joined == other.joined && workerKeys == other.workerKeys)
        return parts
    }

    /// As a former build has them in a snapshot.
    private func comparable(_ ledger: EffectLedger, beside other: EffectLedger) -> EffectLedger {
        ledger.asFormerly(beside: other) { engine.asFormerly($0, .effect) }
    }

    private func comparable(_ outputs: OutputLog) -> OutputLog {
        outputs.with { engine.asFormerly($0, .output) }
    }
}
