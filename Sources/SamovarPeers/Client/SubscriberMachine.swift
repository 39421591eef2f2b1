public import SamovarCore
public import SamovarWire

/// What a subscriber shows of one instance: always the newest view it has, and whether that may be out of date.
///
/// The idea: views are whole and newest wins, so a lost one needs no repair unless none follows it. The tick of each second
/// tells which view is the newest; only a subscriber that is behind it for a while asks, through the front socket. Rejected:
/// asking for a view after every new subscription that already has one, because then a restart of the store is answered by a
/// thousand identical views.
///
/// | | subscribing | live | lost |
/// |---|---|---|---|
/// | ticked | 3 s (23 s with keys): stale if a view is shown, reconnect | 3 s: stale, reconnect; subscribing | at `until`: reconnect |
/// | VIEW by the SUB socket | live; shown if newer | shown if newer | – |
/// | VIEW by the SUB socket, of another timeline than what is shown | live; shown, whatever its turn | shown, whatever its turn | – |
/// | TICK | live; asks if behind; idle | asks if behind; idle | – |
/// | GOODBYE | stale if a view is shown, lost | stale, lost | – |
/// | answered (from the front) | shown if newer | same timeline: shown if newer | shown if newer |
/// | disconnected | stale if a view is shown, lost | stale, lost | – |
/// | disconnected, the key is refused | lost; after the last place for the longest pause, and check the key | the same | – |
/// | another key was found | – | – | lost, but for no pause: once |
///
/// It begins as one that was lost, and asks at once. Behind is: nothing is shown, another timeline than that of the view shown,
/// or a newer view than it for more than 200 ms. It asks at most once a second. That a view is stale is said once, until it is live or
/// another is shown.
public struct SubscriberMachine: ~Copyable {
    public struct Settings: Equatable, Sendable {
        /// Silence of the SUB socket after which another is opened; ticks come every second.
        public var silence = Duration.seconds(3)
        /// How long the transport may take before that, where there is no other place to try; see ``ConnectionSettings/keyedClient``.
        public var handshake = Duration.zero
        /// How long a published view may take to arrive before it is asked for.
        public var patience = Duration.milliseconds(200)
        /// The least time between two requests.
        public var between = Duration.seconds(1)
        public var firstPause = Duration.milliseconds(20)
        public var longestPause = Duration.seconds(3)

        public static let standard = Settings()
        /// Of a client with a key.
        public static let keyed = Settings(handshake: ConnectionSettings.keyedClient.handshake)
    }

    public enum Action: Equatable, Sendable {
        /// Close the SUB socket if there is one, open another, and subscribe to the topic of the instance.
        case reconnect
        /// The store does not take this subscriber's key: read it again, and say by `keyFound` which one it is now.
        case checkKey
        /// This is the view now; none older follows, unless the timeline changed.
        case show(turn: Int, bytes: [UInt8], timeline: Timeline)
        /// Ask through the front socket for a view of at least this turn of this timeline.
        case requestView(atLeast: Int, timeline: Timeline)
        /// What is shown is kept up to date.
        case live
        /// What is shown may be out of date.
        case stale
        /// The store has nothing to do, and its newest view is the one shown; turn 0 if it has none. Told at each tick that says so.
        case idle(turn: Int)
        /// For the log.
        case note(String)
    }

    enum State: Equatable {
        case subscribing(since: Timestamp)
        case live(heard: Timestamp)
        case lost(until: Timestamp)
    }

    private(set) var state = State.lost(until: Timestamp(microseconds: .min))
    /// The view that is shown.
    private var shown: (timeline: Timeline, turn: Int)?
    /// Whether who watches takes what it has for current: a view, or that it is live, was told after the last `stale`.
    private var isTrusted = false
    /// The timeline of the newest frame from the SUB socket.
    private var timeline = Timeline.zero
    /// A view that the store has published and that is not here. In another timeline than that of the turn it never comes.
    private var missing: (turn: Int, timeline: Timeline, due: Timestamp)? = (0, .zero, Timestamp(microseconds: .min))
    /// No request before this time.
    private var nextRequest = Timestamp(microseconds: .min)

    private let instance: Instance
    private let settings: Settings
    private var attempts: Attempts
    private var random: Random

    /// - Parameter random: seeds the pauses between connections.
    public init(instance: Instance = .main, settings: Settings = .standard, random: Random) {
        self.instance = instance
        self.settings = settings
        self.random = random
        attempts = Attempts(first: settings.firstPause, longest: settings.longestPause, handshake: settings.handshake)
    }

    /// At how many places the store may be; the host says it as it learns it.
    public var places: Int {
        get { attempts.places }
        set { attempts.places = max(1, newValue) }
    }

    /// The turn of the view that is shown.
    public var turn: Int? { shown?.turn }

    /// What is shown is kept up to date, as `live` and `stale` tell.
    public var isLive: Bool { if case .live = state { true } else { false } }

    /// When `ticked` is to be called at the latest.
    public var deadline: Timestamp {
        let own =
            switch state {
            case .subscribing(let since): since + greeting
            case .live(let heard): heard + settings.silence
            case .lost(let until): until
            }
        return missing.map { min(own, max($0.due, nextRequest)) } ?? own
    }

    /// How long a new subscription waits for its first sign.
    private var greeting: Duration { places == 1 ? settings.handshake + settings.silence : settings.silence }
}

// MARK: - Events

extension SubscriberMachine {
    /// Time has passed.
    public mutating func ticked(now: Timestamp) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .subscribing(let since):
            if now >= since + greeting {
                distrust("no sign of the store for \(greeting)", &actions)
                subscribe(now, &actions)
            }
        case .live(let heard):
            if now >= heard + settings.silence {
                distrust("no tick for \(settings.silence)", &actions)
                subscribe(now, &actions)
            }
        case .lost(let until):
            if now >= until { subscribe(now, &actions) }
        }
        if let missing, now >= missing.due, now >= nextRequest {
            nextRequest = now + settings.between
            actions.append(.requestView(atLeast: missing.turn, timeline: missing.timeline))
        }
        return actions
    }

    /// A frame came through the SUB socket.
    public mutating func received(_ envelope: Envelope, now: Timestamp) -> [Action] {
        switch state {
        case .lost: return []
        case .subscribing, .live: break
        }
        var actions: [Action] = []
        switch envelope.frame {
        case .view(instance, let turn, let bytes):
            heard(envelope.timeline, now, &actions)
            show(turn, bytes, of: envelope.timeline, &actions)
        case .tick(instance, _, let view, let idle):
            heard(envelope.timeline, now, &actions)
            compare(view, idle: idle, now, &actions)
        case .goodbye: lose("the store closes", now, &actions)
        default: actions.append(.note("dropped a \(envelope.frame.kind), which is not for subscribers of \(instance)"))
        }
        return actions
    }

    /// A view came through the front socket.
    public mutating func answered(turn: Int, bytes: [UInt8], timeline: Timeline, now: Timestamp) -> [Action] {
        var actions: [Action] = []
        switch state {
        case .live:
            // The front socket may belong to a store that is no more; the SUB socket has just spoken.
            guard timeline == self.timeline else { return [] }
        case .subscribing, .lost: break
        }
        show(turn, bytes, of: timeline, &actions)
        return actions
    }

    /// The transport knows that the SUB socket's connection is gone. Without this event, silence tells.
    public mutating func disconnected(now: Timestamp, because reason: Disconnection = .broken) -> [Action] {
        var actions: [Action] = []
        switch reason {
        case .broken: lose("the connection broke", now, &actions)
        case .impossible(let text): lose(text, now, &actions)
        case .keyRefused(let text):
            attempts.refuse(text)
            lose(text, now, &actions)
        }
        return actions
    }

    /// The host has read the key with which it connects; nil if it has none.
    public mutating func keyShown(_ key: Fingerprint?) { attempts.shown = key }

    /// After `checkKey`, the host has read the key again. With another one than was refused the next attempt is made at once.
    public mutating func keyFound(_ key: Fingerprint?, now: Timestamp) {
        guard case .lost = state, attempts.hurries(with: key) else { return }
        state = .lost(until: now)
    }
}

// MARK: - Decisions

extension SubscriberMachine {
    private mutating func subscribe(_ now: Timestamp, _ actions: inout [Action]) {
        state = .subscribing(since: now)
        attempts.begin(now)
        actions.append(.reconnect)
    }

    private mutating func heard(_ timeline: Timeline, _ now: Timestamp, _ actions: inout [Action]) {
        self.timeline = timeline
        if case .live = state {} else { actions.append(.live) }
        state = .live(heard: now)
        isTrusted = true
        attempts.succeed()
    }

    private mutating func show(_ turn: Int, _ bytes: [UInt8], of timeline: Timeline, _ actions: inout [Action]) {
        if let shown, shown.timeline == timeline, shown.turn >= turn { return }
        if let shown, shown.timeline != timeline {
            actions.append(.note("the timeline is \(timeline) and no more \(shown.timeline)"))
        }
        shown = (timeline: timeline, turn: turn)
        isTrusted = true
        if let wanted = missing, turn >= wanted.turn || timeline != wanted.timeline { missing = nil }
        actions.append(.show(turn: turn, bytes: bytes, timeline: timeline))
    }

    /// Compares the newest view of the store with the one that is shown.
    private mutating func compare(_ view: Int, idle: Bool, _ now: Timestamp, _ actions: inout [Action]) {
        guard let shown, shown.timeline == timeline else {
            missing = (turn: view, timeline: timeline, due: min(now, missing?.due ?? now))
            // A store at rest that has published none makes no views.
            if idle, view == 0 { actions.append(.idle(turn: 0)) }
            return
        }
        if view > shown.turn {
            missing = (turn: view, timeline: timeline, due: missing?.due ?? now + settings.patience)
            return
        }
        missing = nil
        // A view that was asked for is of the head, and so may be of a later turn than the same view was published at.
        if idle { actions.append(.idle(turn: shown.turn)) }
    }

    private mutating func lose(_ reason: String, _ now: Timestamp, _ actions: inout [Action]) {
        if case .lost = state { return }
        distrust(reason, &actions)
        let (pause, refusal) = attempts.fail(now, &random)
        state = .lost(until: now + pause)
        if refusal != nil { actions.append(.checkKey) }
    }

    private mutating func distrust(_ reason: String, _ actions: inout [Action]) {
        guard isTrusted else { return }
        isTrusted = false
        actions += [.stale, .note(reason)]
    }
}
