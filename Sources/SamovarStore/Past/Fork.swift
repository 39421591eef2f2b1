public import SamovarCore
public import SamovarWire

/// The beginning of a timeline that goes on otherwise from a turn of another one: records behind that turn which change no state of the program.
///
/// Sessions are over, for their clients have gone on elsewhere; no worker holds a job. An effect that is open has another key in the new
/// timeline, so that what it does outside could be done twice without anybody noticing: it is held, dead, until an operator requeues it.
public struct Fork: Sendable {
    /// In the order of their turns.
    public private(set) var batches: [RecordBatch] = []
    /// Effects that are open, held or not.
    public let effects: Int
    /// Sessions that are ended.
    public let sessions: Int

    private static let batchBytes = 1 << 20

    private mutating func append(_ event: Record.Event, root: Int? = nil, after turn: Int, at time: Timestamp) {
        if batches.last.map({ $0.byteCount >= Self.batchBytes }) ?? true {
            batches.append(RecordBatch(after: batches.last?.last ?? turn))
        }
        let last = batches.count - 1
        batches[last].append(Record(turn: batches[last].last + 1, time: time, root: root, event: event))
    }

    init(of state: StoreState, from timeline: Timeline, holdsEffects: Bool) {
        let (turn, time) = (state.head, state.time)
        let why = "turn \(turn) of timeline \(timeline) was forked, and its key is another one now; requeue it or drop it"
        (effects, sessions) = (state.ledger.open.count, state.sessions.sessions.count)
        for effect in holdsEffects ? state.ledger.open.values.sorted(by: { $0.id < $1.id }) : [] {
            let failure = Failure(reason: .diverged, text: why, attempts: effect.failures + effect.deaths)
            append(.dead(effect.id, failure), root: effect.root, after: turn, at: time)
        }
        for session in state.sessions.sessions.keys.sorted() { append(.sessionExpired(session), after: turn, at: time) }
        append(.drained, after: turn, at: time)
    }
}

extension StoreMachine {
    /// What a timeline begins with that goes on otherwise from here.
    public func fork(from timeline: Timeline, holdsEffects: Bool) -> Fork {
        Fork(of: turns.state, from: timeline, holdsEffects: holdsEffects)
    }
}
