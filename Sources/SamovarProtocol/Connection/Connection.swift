import SamovarCore

/// One peer's connection to the store, as its client and worker machines share it: who is there, since when, in which
/// timeline.
///
/// The idea: a connection is one socket and one HELLO. Whatever goes wrong, the answer is the same: throw the socket away, wait
/// a little, open a new one and say HELLO, which tells the store all it must know. Repairing a connection in place was
/// rejected, as was libzmq's own reconnection: frames queued for a store that is gone would reach the next one unasked.
///
/// | | greeting | welcomed | lost | closed |
/// |---|---|---|---|---|
/// | ticked | at `until`: lost | silent: lost; nothing sent: ping | at `until`: open, greeting | – |
/// | disconnected | lost | lost | – | – |
/// | WELCOME | welcomed | note | – | – |
/// | ERROR schema, misuse, superseded, sessionExpired, forbidden | refused, closed | refused, closed | – | – |
/// | ERROR retryLater | lost for its wait | lost for its wait | – | – |
/// | ERROR keyRefused | lost for the longest pause | the same | – | – |
/// | ERROR unknownPeer | – | greet, greeting | – | – |
/// | ERROR resync | – | deliver | – | – |
/// | GOODBYE | lost | lost | – | – |
/// | PING | – | answer PONG | – | – |
/// | another frame | – | deliver | – | – |
///
/// It begins as one that was lost. A frame of another timeline than WELCOME's, ERROR apart, is noted and dropped, and does not count as a
/// sign of life.
struct Connection: ~Copyable {
    enum State: Equatable {
        /// A socket is open and HELLO is sent.
        case greeting(until: Timestamp)
        case welcomed(heard: Timestamp, sent: Timestamp)
        /// No socket, or none yet; the next is opened at `until`.
        case lost(until: Timestamp)
        /// For good.
        case closed
    }

    private(set) var state = State.lost(until: Timestamp(microseconds: .min))
    /// The timeline of the newest WELCOME; zero before the first.
    private(set) var timeline = Timeline.zero
    private(set) var silence: Duration
    /// How often HELLO was said, this time included.
    private(set) var epoch: Int
    /// The newest turn that the store told of, in its timeline.
    private(set) var witness: Int
    /// The newest turn that the peer can prove to have been told of.
    private(set) var proof: TurnProof?

    private let settings: ConnectionSettings
    private var patience: Duration
    private var backoff: Backoff
    private var random: Random

    /// The longest wait that a store may ask for.
    private static let longestWait = Duration.seconds(60)

    /// - Parameters:
    ///   - timeline: of an earlier process with the same identity.
    ///   - epoch: a number beyond all that it may have used.
    ///   - witness: what it was told, and with `proof` can prove.
    init(
        _ settings: ConnectionSettings, random: Random, timeline: Timeline = .zero, epoch: Int = 0, witness: Int = 0,
        proof: TurnProof? = nil
    ) {
        self.settings = settings
        self.timeline = timeline
        self.epoch = epoch
        self.witness = witness
        self.proof = proof
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
        case .greeting(let until), .lost(let until): until
        case .welcomed(let heard, let sent): min(heard + silence, sent + settings.pingAfter)
        case .closed: nil
        }
    }

    enum Action: Equatable {
        case none
        /// Open a new socket and say HELLO.
        case open
        /// Say HELLO on the same socket.
        case greet
        /// Say that we are alive.
        case ping
        case note(String)
        /// The store knows us; `left` is the timeline that is no more, if there was one.
        case welcomed(Welcome, left: Timeline?)
        case answer(Frame)
        /// A frame for the owner.
        case deliver(Frame)
        /// Close the socket; the reason is told once, not for every attempt.
        case lost(String?)
        case refused(PeerError)
    }

    mutating func ticked(now: Timestamp) -> Action {
        switch state {
        case .greeting(let until):
            guard now >= until else { return .none }
            let waited = patience
            patience = min(patience * 2, silence)
            return .lost(lose("no WELCOME within \(waited)", now))
        case .welcomed(let heard, let sent):
            if now >= heard + silence { return .lost(lose("silent for \(silence)", now)) }
            return now >= sent + settings.pingAfter ? .ping : .none
        case .lost(let until):
            guard now >= until else { return .none }
            greet(now)
            return .open
        case .closed:
            return .none
        }
    }

    /// The transport knows that the connection is gone.
    mutating func disconnected(now: Timestamp) -> Action {
        startOver("the connection broke", now: now)
    }

    /// The store has told of a turn, in its timeline.
    mutating func hasTold(of turn: Int) { witness = max(witness, turn) }

    /// The HELLO of the owner.
    func hello(_ role: Hello.Role, schema: Schema?, isDurable: Bool = false, mayHaveEnded: Bool = false) -> Frame {
        .hello(
            Hello(
                role: role, schema: schema, witness: proof?.turn ?? witness, proof: proof?.code, epoch: epoch,
                isDurable: isDurable, mayHaveEnded: mayHaveEnded))
    }

    /// The owner sent a frame.
    mutating func sent(now: Timestamp) {
        switch state {
        case .welcomed(let heard, _): state = .welcomed(heard: heard, sent: now)
        case .greeting, .lost, .closed: break
        }
    }

    /// The owner needs this connection no more.
    mutating func close() {
        state = .closed
    }

    /// The store broke a rule that only a new HELLO can mend.
    mutating func startOver(_ reason: String, now: Timestamp) -> Action {
        switch state {
        case .lost, .closed: .none
        case .greeting, .welcomed: .lost(lose(reason, now))
        }
    }

    mutating func received(_ envelope: Envelope, now: Timestamp) -> Action {
        switch state {
        case .lost, .closed: .none  // It came through a socket that is closed by now.
        case .greeting: receivedGreeting(envelope, now)
        case .welcomed(_, let sent): receivedWelcomed(envelope, sent: sent, now)
        }
    }

    private mutating func receivedGreeting(_ envelope: Envelope, _ now: Timestamp) -> Action {
        switch envelope.frame {
        case .welcome(let welcome): accept(welcome, envelope, now)
        case .error(let error): failed(error, now)
        case .goodbye: .lost(lose("the store closes", now))
        default: .none  // It answers what was said before this HELLO.
        }
    }

    private mutating func receivedWelcomed(_ envelope: Envelope, sent: Timestamp, _ now: Timestamp) -> Action {
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
        default:
            proof.keep(envelope.proof)
            return .deliver(envelope.frame)
        }
    }

    private mutating func accept(_ welcome: Welcome, _ envelope: Envelope, _ now: Timestamp) -> Action {
        let left = timeline == .zero || timeline == envelope.timeline ? nil : timeline
        timeline = envelope.timeline
        if left != nil { (witness, proof) = (0, nil) }
        witness = max(witness, welcome.head)
        proof.keep(envelope.proof)
        // A silence shorter than two PINGs would take a living store for dead.
        silence = max(welcome.silence, settings.pingAfter * 2)
        patience = settings.greeting
        backoff.reset()
        state = .welcomed(heard: now, sent: now)
        return .welcomed(welcome, left: left)
    }

    private mutating func failed(_ error: PeerError, _ now: Timestamp) -> Action {
        switch error.code {
        case .schema, .misuse, .superseded, .sessionExpired, .forbidden:
            state = .closed
            return .refused(error)
        case .keyRefused:
            // It may be renewed: the host reads the key again before each attempt.
            return .lost(lose(error.text, now, atLeast: settings.longestPause))
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

/// The times by which a peer decides that it is connected, that it is not, and when to try again.
public struct ConnectionSettings: Equatable, Sendable {
    /// How long the first HELLO waits for WELCOME. Each further attempt waits twice as long, up to `silence`, so that a store
    /// that is slow to answer is not drowned in attempts.
    public var greeting = Duration.seconds(1)
    /// A PING is sent when nothing else was for this long.
    public var pingAfter = Duration.seconds(1)
    /// Silence after which the store is taken for dead, until WELCOME names another.
    public var silence = Duration.seconds(6)
    /// The ceiling of the first pause between two attempts; see `Backoff` for how it rises.
    public var firstPause = Duration.milliseconds(20)
    /// The highest ceiling of a pause.
    public var longestPause: Duration

    /// Workers are few, and work waits for them.
    public static let worker = ConnectionSettings(longestPause: .seconds(1))
    /// Clients are many.
    public static let client = ConnectionSettings(longestPause: .seconds(10))
}

/// The pauses between attempts to reach the store: each is drawn from zero up to a ceiling (“full jitter”), so that a thousand
/// peers that lost the store together do not come back together.
///
/// The ceiling rises by half of the first one at a time, up to ten of the first, and doubles beyond. A store that was killed is back
/// within about a tenth of a second; with a ceiling that doubled from the beginning, a peer that just missed it would stay away for
/// as long as the store did, and longer.
struct Backoff: Equatable {
    let first: Duration
    let maximum: Duration
    private var ceiling: Duration

    /// Up to so many first pauses, the ceiling does not double.
    private static let gentleRise = 10

    init(first: Duration, maximum: Duration) {
        self.first = min(first, maximum)
        self.maximum = maximum
        ceiling = self.first
    }

    /// No attempt has failed since the last success.
    private(set) var isFresh = true

    mutating func next(_ random: inout Random) -> Duration {
        let pause = Duration.microseconds(Int64.random(in: 0...max(0, ceiling.microseconds), using: &random))
        ceiling = min(ceiling < first * Self.gentleRise ? ceiling + first / 2 : ceiling * 2, maximum)
        isFresh = false
        return pause
    }

    mutating func reset() {
        ceiling = first
        isFresh = true
    }
}
