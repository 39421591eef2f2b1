import SamovarCore

/// One peer's connection to the store, as its client and worker machines share it: who is there, since when, in which
/// timeline.
///
/// The idea: a connection is one socket and one HELLO. Whatever goes wrong, the answer is the same: throw the socket away, wait
/// a little, open a new one and say HELLO, which tells the store all it must know. Repairing a connection in place was
/// rejected, as was libzmq's own reconnection: frames queued for a store that is gone would reach the next one unasked.
///
/// | | idle | greeting | welcomed | lost | closed |
/// |---|---|---|---|---|---|
/// | ticked | open, greeting | at `until`: lost | silent: lost; nothing sent: ping | at `until`: open, greeting | – |
/// | disconnected | – | lost | lost | – | – |
/// | WELCOME | – | welcomed | note | – | – |
/// | ERROR schema, misuse, superseded, sessionExpired | – | refused, closed | refused, closed | – | – |
/// | ERROR retryLater | – | lost for its wait | lost for its wait | – | – |
/// | ERROR unknownPeer | – | – | greet, greeting | – | – |
/// | ERROR resync | – | – | deliver | – | – |
/// | GOODBYE | – | lost | lost | – | – |
/// | PING | – | – | answer PONG | – | – |
/// | another frame | – | – | deliver | – | – |
///
/// A frame of another timeline than WELCOME's, ERROR apart, is noted and dropped, and does not count as a sign of life.
struct Connection: ~Copyable {
    enum State: Equatable {
        /// No socket yet.
        case idle
        /// A socket is open and HELLO is sent.
        case greeting(until: Timestamp)
        case welcomed(heard: Timestamp, sent: Timestamp)
        /// No socket; the next is opened at `until`.
        case lost(until: Timestamp)
        /// For good.
        case closed
    }

    private(set) var state = State.idle
    /// The timeline of the newest WELCOME; zero before the first.
    private(set) var timeline = Timeline.zero
    private(set) var silence: Duration
    /// How often HELLO was said, this time included.
    private(set) var epoch = 0

    private let settings: ConnectionSettings
    private var patience: Duration
    private var backoff: Backoff
    private var random: Random

    /// The longest wait that a store may ask for.
    private static let longestWait = Duration.seconds(60)

    /// - Parameters:
    ///   - timeline: of an earlier process with the same identity.
    ///   - epoch: a number beyond all that it may have used.
    init(_ settings: ConnectionSettings, random: Random, timeline: Timeline = .zero, epoch: Int = 0) {
        self.settings = settings
        self.timeline = timeline
        self.epoch = epoch
        self.random = random
        silence = settings.silence
        patience = settings.greeting
        backoff = Backoff(first: settings.firstPause, maximum: settings.longestPause)
    }

    var isWelcomed: Bool {
        if case .welcomed = state { true } else { false }
    }

    /// When `ticked` has something to do; nil for never.
    var deadline: Timestamp? {
        switch state {
        case .idle: Timestamp(microseconds: .min)
        case .greeting(let until), .lost(let until): until
        case .welcomed(let heard, let sent): min(heard + silence, sent + settings.pingAfter)
        case .closed: nil
        }
    }

    enum TickAction: Equatable {
        case none
        /// Open a new socket and say HELLO.
        case open
        /// Say that we are alive.
        case ping
        /// Close the socket; the reason is told once, not for every attempt.
        case lost(String?)
    }

    mutating func ticked(now: Timestamp) -> TickAction {
        switch state {
        case .idle:
            return open(now)
        case .greeting(let until):
            guard now >= until else { return .none }
            let waited = patience
            patience = min(patience * 2, silence)
            return .lost(lose("no WELCOME within \(waited)", now))
        case .welcomed(let heard, let sent):
            if now >= heard + silence { return .lost(lose("silent for \(silence)", now)) }
            return now >= sent + settings.pingAfter ? .ping : .none
        case .lost(let until):
            return now >= until ? open(now) : .none
        case .closed:
            return .none
        }
    }

    /// The transport knows that the connection is gone.
    mutating func disconnected(now: Timestamp) -> TickAction {
        startOver("the connection broke", now: now)
    }

    /// The owner sent a frame.
    mutating func sent(now: Timestamp) {
        switch state {
        case .welcomed(let heard, _): state = .welcomed(heard: heard, sent: now)
        case .idle, .greeting, .lost, .closed: break
        }
    }

    /// The owner needs this connection no more.
    mutating func close() {
        state = .closed
    }

    /// The store broke a rule that only a new HELLO can mend.
    mutating func startOver(_ reason: String, now: Timestamp) -> TickAction {
        switch state {
        case .idle, .lost, .closed: .none
        case .greeting, .welcomed: .lost(lose(reason, now))
        }
    }

    enum ReceivedAction: Equatable {
        case none
        case note(String)
        /// The store knows us; `left` is the timeline that is no more, if there was one.
        case welcomed(Welcome, left: Timeline?)
        /// Say HELLO on the same socket.
        case greet
        case answer(Frame)
        /// A frame for the owner.
        case deliver(Frame)
        case lost(String?)
        case refused(PeerError)
    }

    mutating func received(_ envelope: Envelope, now: Timestamp) -> ReceivedAction {
        switch state {
        case .idle, .lost, .closed: .none  // It came through a socket that is closed by now.
        case .greeting: receivedGreeting(envelope, now)
        case .welcomed(_, let sent): receivedWelcomed(envelope, sent: sent, now)
        }
    }

    private mutating func receivedGreeting(_ envelope: Envelope, _ now: Timestamp) -> ReceivedAction {
        switch envelope.frame {
        case .welcome(let welcome): accept(welcome, of: envelope.timeline, now)
        case .error(let error): failed(error, now)
        case .goodbye: .lost(lose("the store closes", now))
        default: .none  // It answers what was said before this HELLO.
        }
    }

    private mutating func receivedWelcomed(_ envelope: Envelope, sent: Timestamp, _ now: Timestamp) -> ReceivedAction {
        if case .error(let error) = envelope.frame {
            state = .welcomed(heard: now, sent: sent)
            return failed(error, now)
        }
        guard envelope.timeline == timeline else { return .note("dropped a \(envelope.frame.kind) of another timeline") }
        state = .welcomed(heard: now, sent: sent)
        switch envelope.frame {
        case .ping(let number): return .answer(.pong(number))
        case .goodbye: return .lost(lose("the store closes", now))
        case .welcome: return .note("dropped a WELCOME that was not asked for")
        default: return .deliver(envelope.frame)
        }
    }

    private mutating func accept(_ welcome: Welcome, of timeline: Timeline, _ now: Timestamp) -> ReceivedAction {
        let left = self.timeline == .zero || self.timeline == timeline ? nil : self.timeline
        self.timeline = timeline
        // A silence shorter than two PINGs would take a living store for dead.
        silence = max(welcome.silence, settings.pingAfter * 2)
        patience = settings.greeting
        backoff.reset()
        state = .welcomed(heard: now, sent: now)
        return .welcomed(welcome, left: left)
    }

    private mutating func failed(_ error: PeerError, _ now: Timestamp) -> ReceivedAction {
        switch error.code {
        case .schema, .misuse, .superseded, .sessionExpired:
            state = .closed
            return .refused(error)
        case .retryLater:
            let wait = min(max(error.wait, .zero), Self.longestWait)
            return .lost(lose(error.text, now, atLeast: wait))
        case .unknownPeer:
            guard isWelcomed else { return .none }
            greet(now)
            return .greet
        case .resync:
            return isWelcomed ? .deliver(.error(error)) : .none
        }
    }

    private mutating func open(_ now: Timestamp) -> TickAction {
        greet(now)
        return .open
    }

    private mutating func greet(_ now: Timestamp) {
        epoch += 1
        state = .greeting(until: now + patience)
    }

    /// Gives the reason back if it is the first loss since the last WELCOME.
    private mutating func lose(_ reason: String, _ now: Timestamp, atLeast wait: Duration = .zero) -> String? {
        let isFirst = backoff.isFresh
        state = .lost(until: now + wait + backoff.next(&random))
        return isFirst ? reason : nil
    }
}
