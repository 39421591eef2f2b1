import MessagePack
import SamovarCore
import SamovarProtocol

/// The canonical history of one timeline: every record that the disk has made durable, applied by the judge's own hands.
///
/// It shares `Mill.update` and the codec of records with the store, and nothing else: no engine, no ledger, no session book.
final class Chronicle {
    /// An effect that was ordered and is not closed.
    struct Order {
        let root: Int
        let effect: Mill.Effect
        let payload: [UInt8]
        var failures = 0
        var deaths = 0
        var failed: Lease?
    }

    /// What became of one input.
    struct Fate: Equatable {
        let turn: Int
        /// The grain of the input; 0 for one that could not be read.
        let grain: UInt64
        let verdict: Outcome.Verdict
    }

    let timeline: Timeline
    let secret: Secret
    var state: Mill.State
    /// The tally after each turn; the first is that of turn 0.
    var tallies: [Tally]
    var time = Timestamp(microseconds: .min)
    var starts = 0
    /// When the newest start was, by its record and in virtual time.
    var startTime = Timestamp(microseconds: 0)
    var startInstant: Instant = 0

    var open: [EffectID: Order] = [:]
    var openByRoot: [Int: Int] = [:]
    /// Every effect that was ever ordered, and its payload.
    var ordered: [EffectID: [UInt8]] = [:]
    var closed: Set<EffectID> = []
    var dead: Set<EffectID> = []
    /// Follow-ups that must come next.
    var announced: [(message: [UInt8], of: Int)] = []

    var fates: [SessionID: [Fate]] = [:]
    var fateAt: [Int: Fate] = [:]
    var expired: Set<SessionID> = []
    /// Every lease that was seen to leave the store.
    var handouts: [Lease: Handout] = [:]
    var handoutsOf: [EffectID: [Lease]] = [:]
    var workers: Set<WorkerID> = []
    var grains: Set<UInt64> = []
    /// The newest record says that the store has stopped in order.
    var endsDrained = false

    /// Views that were asked for a moment ago.
    private var views: [Int: [UInt8]] = [:]

    init(timeline: Timeline, secret: Secret, sackBytes: Int) {
        self.timeline = timeline
        self.secret = secret
        state = Mill.State(tally: Tally(), sackBytes: sackBytes)
        tallies = [Tally()]
    }

    var last: Int { tallies.count - 1 }

    /// The session's end is in the journal.
    func isOver(_ session: SessionID) -> Bool { expired.contains(session) }

    func leases(of effect: EffectID) -> [Lease] { handoutsOf[effect] ?? [] }

    /// The view of a turn, as the store would encode it.
    func view(at turn: Int) -> [UInt8] {
        if let known = views[turn] { return known }
        if views.count >= 64 { views.removeAll(keepingCapacity: true) }
        let view = packed(Mill.view(of: tallies[turn], sackBytes: state.sackBytes))
        views[turn] = view
        return view
    }

    var books: Books {
        var books = Books()
        books.starts = starts
        books.open = open.sorted { $0.key < $1.key }.map {
            Books.Effect(id: $0.key, root: $0.value.root, failures: $0.value.failures, deaths: $0.value.deaths)
        }
        books.dead = dead.sorted()
        books.sessions = fates.filter { !isOver($0.key) }.mapValues(\.count)
        books.workers = workers
        return books
    }

    // MARK: Taking turns

    func apply(_ message: Mill.Message, _ turn: Turn, root: Int) {
        take(Mill.update(&state, message, turn), of: turn, root: root)
    }

    func take(_ command: Command<Mill>, of turn: Turn, root: Int) {
        for (ordinal, order) in command.enumerated() {
            switch order {
            case .cancel, .emit: break
            case .then(let message): announced.append((packed(message), turn.number))
            case .run(let effect, _):
                let id = EffectID(turn: turn.number, ordinal: ordinal)
                let payload = packed(effect)
                open[id] = Order(root: root, effect: effect, payload: payload)
                ordered[id] = payload
                openByRoot[root, default: 0] += 1
            }
        }
    }

    func close(_ id: EffectID) {
        guard let order = open.removeValue(forKey: id) else { return }
        closed.insert(id)
        let count = openByRoot[order.root, default: 1] - 1
        openByRoot[order.root] = count > 0 ? count : nil
    }
}
