public import SamovarCore

/// What a process that follows a running store shall do.
public enum ShadowAction: Equatable, Sendable {
    /// Ask the store; `answered` or `failed` follows.
    case ask(HistoryRequest)
    /// Make a state of this timeline, from the newest snapshot that can be used, or from none; `began` or `cannotBegin` follows.
    case begin(HistoryBeginning, schema: Schema, secret: Secret, timeline: Timeline)
    /// Replay these; `replayed` or `differs` follows.
    case replay([HistoryBatch])
    /// Look whether the difference is accepted in these; `searched` follows.
    case search([HistoryBatch])
    case note(Note)
    case end(ShadowEnd)
}

/// Why a process that follows a store ends by itself.
public enum ShadowEnd: Equatable, Sendable {
    /// What the journal says of a turn is not what this process makes of it, and nobody has accepted that.
    case difference
    /// The store is of another build by now, which may make something else of a turn.
    case otherBuild(String)
}

/// Follows a running store whose journal nobody else can read, to compare; it takes nothing over.
///
/// The idea: it asks for what is behind its newest turn, and replays that. Whatever goes wrong with the store is waited for; what leads nowhere
/// is begun anew from a snapshot. Only a difference ends it, and another build, with which it would compare nothing but builds.
///
/// A difference may have been accepted by an operator since: that is written down later in the journal. So what is left of that is looked through
/// before it ends. If the store goes away meanwhile, the difference stands.
///
/// | state | `ticked` | `answered` | `failed` | `began` | `replayed` | `differs` | `searched` |
/// |---|---|---|---|---|---|---|---|
/// | resting | asking, once it is time | – | – | – | – | – | – |
/// | asking | – | working; resting, if there is no more | resting; ended, with a difference | – | – | – | – |
/// | working | – | – | – | asking | asking; resting, if there is no more | asking | asking, from the beginning if it was accepted; ended at the end |
/// | ended | – | – | – | – | – | – | – |
///
/// Limits: one question at a time, and one answer in memory.
public struct ShadowMachine: ~Copyable {
    enum State: Equatable {
        case resting(until: Timestamp)
        case asking
        case working
        case ended
    }

    /// Between two questions, if the last one has brought nothing: a difference shall be noticed soon after its digest.
    static let pause = Duration.milliseconds(500)
    /// Until it is tried again to begin: the store makes its snapshots as the journal grows.
    static let patience = Duration.seconds(5)
    /// Between two words on how far it is.
    static let telling = Duration.seconds(60)

    private(set) var state: State
    /// The build with which it compares; nil before the first answer.
    private var build: String?
    private let ownBuild: String
    /// The newest turn that is here; nil before there is a state.
    public private(set) var place: HistoryRequest.Place?
    /// The newest digest that was compared.
    private var compared = 0
    /// The newest turn on disk that the store has told of.
    private var head = 0
    /// The turn of a difference that may be accepted, and up to which one that was looked for.
    private var difference: (turn: Int, searched: Int)?
    /// When to tell again how far it is.
    private var nextWord: Timestamp
    /// It has been at the end of the journal since it began.
    private var hasArrived = false
    /// Why nothing goes on, as people were told.
    private var trouble: String?

    /// - Parameter build: of this process.
    public init(build: String, now: Timestamp) {
        ownBuild = build
        nextWord = now + Self.telling
        state = .resting(until: now)
    }

    /// When to call `ticked` again; nil if nothing comes but the end of what was asked for.
    public var deadline: Timestamp? {
        if case .resting(let end) = state { end } else { nil }
    }

    // MARK: Events

    public mutating func ticked(now: Timestamp) -> [ShadowAction] {
        guard case .resting(let end) = state, now >= end else { return [] }
        return ask()
    }

    public mutating func answered(_ reply: HistoryReply, now: Timestamp) -> [ShadowAction] {
        guard state == .asking else { return [] }
        let news = heard()
        head = reply.head
        guard build == nil || build == reply.build else {
            if difference != nil { return news + end() }
            state = .ended
            return news + [.end(.otherBuild(reply.build))]
        }
        switch reply.content {
        case .beginning(let beginning, let schema, let secret):
            state = .working
            return news + meet(reply.build) + [.begin(beginning, schema: schema, secret: secret, timeline: reply.timeline)]
        case .batches(let batches):
            guard place != nil else { return failed("it answers what was not asked", now: now) }
            return news + take(batches, now: now)
        case .anew(let reason): return news + beginAnew(reason)
        case .damaged(let why): return failed("the store's journal cannot be read: \(why)", now: now)
        }
    }

    /// The store has not answered, or not with what was asked for.
    public mutating func failed(_ why: String, now: Timestamp) -> [ShadowAction] {
        guard state == .asking else { return [] }
        if difference != nil { return end() }
        state = .resting(until: now + Self.pause)
        return told(why)
    }

    /// There is a state of this turn.
    public mutating func began(_ place: HistoryRequest.Place) -> [ShadowAction] {
        guard state == .working else { return [] }
        (self.place, compared, hasArrived) = (place, 0, false)
        let from = place.turn > 0 ? "from the snapshot of turn \(place.turn)" : "from its beginning"
        return [.note(Note(.info, "following timeline \(place.timeline) \(from)"))] + heard() + ask()
    }

    /// No snapshot can be used, and the beginning is not kept: the next snapshot may be of use.
    public mutating func cannotBegin(_ why: String, now: Timestamp) -> [ShadowAction] {
        guard state == .working else { return [] }
        state = .resting(until: now + Self.patience)
        return told(why)
    }

    /// - Parameter compared: the newest digest among what has been replayed since the beginning; 0 for none.
    public mutating func replayed(through turn: Int, compared: Int, now: Timestamp) -> [ShadowAction] {
        guard state == .working else { return [] }
        place?.turn = turn
        self.compared = compared
        return progress(now: now) + (turn < head ? ask() : rest(now))
    }

    /// At this turn the replay is not what the journal says.
    public mutating func differs(at turn: Int) -> [ShadowAction] {
        guard state == .working else { return [] }
        difference = (turn, searched: turn - 1)
        return ask()
    }

    /// - Parameter isAccepted: these batches, or those before, say that the difference was accepted.
    public mutating func searched(through turn: Int, isAccepted: Bool) -> [ShadowAction] {
        guard state == .working, let known = difference else { return [] }
        if isAccepted {
            (difference, place) = (nil, nil)
            return [.note(Note(.info, "turn \(known.turn) orders something else, which was accepted: beginning anew"))] + ask()
        }
        guard turn < head else { return end() }
        difference?.searched = turn
        return ask()
    }

    // MARK: Rules

    private mutating func ask() -> [ShadowAction] {
        state = .asking
        guard var after = place else { return [.ask(HistoryRequest(compared: 0))] }
        if let difference { after.turn = difference.searched }
        return [.ask(HistoryRequest(after: after, compared: compared))]
    }

    private mutating func rest(_ now: Timestamp) -> [ShadowAction] {
        state = .resting(until: now + Self.pause)
        return []
    }

    private mutating func end() -> [ShadowAction] {
        state = .ended
        return [.end(.difference)]
    }

    private mutating func take(_ batches: [HistoryBatch], now: Timestamp) -> [ShadowAction] {
        guard !batches.isEmpty else { return difference == nil ? progress(now: now) + rest(now) : end() }
        state = .working
        return [difference == nil ? .replay(batches) : .search(batches)]
    }

    private mutating func beginAnew(_ reason: HistoryReply.Reason) -> [ShadowAction] {
        if difference != nil, reason != .timeline { return end() }
        let why =
            switch reason {
            case .timeline: "the store has another timeline"
            case .trimmed: "what follows turn \(place?.turn ?? 0) is not kept any more"
            case .ahead: "the journal has no turn \(place?.turn ?? 0) any more"
            }
        (place, difference) = (nil, nil)
        return [.note(Note(.warning, "\(why): beginning anew"))] + ask()
    }

    private mutating func meet(_ build: String) -> [ShadowAction] {
        guard self.build == nil else { return [] }
        self.build = build
        guard build != ownBuild else { return [] }
        let text = "the store is of build \(build), and this is \(ownBuild): a difference may be one of the builds"
        return [.note(Note(.warning, text))]
    }

    private mutating func progress(now: Timestamp) -> [ShadowAction] {
        guard let place else { return [] }
        let arrives = !hasArrived && place.turn >= head
        guard arrives || now >= nextWord else { return [] }
        if arrives { hasArrived = true }
        nextWord = now + Self.telling
        let states = compared > 0 ? "the newest state that was compared is that of turn \(compared)" : "no state was compared yet"
        return [.note(Note(.info, "nothing differs up to turn \(place.turn) of \(head); \(states)"))]
    }

    /// Once for each trouble, and not again while it lasts.
    private mutating func told(_ why: String) -> [ShadowAction] {
        guard trouble == nil else { return [] }
        trouble = why
        return [.note(Note(.warning, "waiting: \(why)"))]
    }

    private mutating func heard() -> [ShadowAction] {
        // A store that answers may still have nothing to begin with.
        guard trouble != nil, place != nil else { return [] }
        trouble = nil
        return [.note(Note(.info, "the store answers again"))]
    }
}
