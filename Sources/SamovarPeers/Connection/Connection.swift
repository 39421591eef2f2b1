import SamovarCore
import SamovarWire

/// One peer's connection to the store, as its client and worker machines share it: who is there, since when, in which
/// timeline.
///
/// The idea: a connection is one socket and one HELLO. Whatever goes wrong, the answer is the same: throw the socket away, wait
/// a little, open a new one and say HELLO, which tells the store all it must know. Repairing a connection in place was
/// rejected, as was libzmq's own reconnection: frames queued for a store that is gone would reach the next one unasked.
///
/// A store may be at several places: endpoints of a list, addresses of a name, keys while they are changed. Each attempt is at the next
/// place, and the pause comes when all were tried; see ``Attempts``.
///
/// | | greeting | welcomed | lost | closed |
/// |---|---|---|---|---|
/// | ticked | at `until`: lost | silent: lost; each second: ping | at `until`: open, greeting | – |
/// | disconnected | lost | lost | – | – |
/// | disconnected, the key is refused | lost; after the last place for the longest pause, and check the key | the same | – | – |
/// | WELCOME | welcomed | note | – | – |
/// | WELCOME of an earlier start than is known | lost | note | – | – |
/// | ERROR schema, misuse, superseded, sessionExpired, forbidden | refused, closed | refused, closed | – | – |
/// | ERROR retryLater | lost; after the last place for its wait | lost for its wait | – | – |
/// | ERROR keyRefused | lost; after the last place for the longest pause, and check the key | the same | – | – |
/// | another key was found | – | – | lost, but for no pause: once | – |
/// | ERROR unknownPeer | – | greet, greeting | – | – |
/// | ERROR resync | – | deliver | – | – |
/// | GOODBYE | lost | lost | – | – |
/// | PING | – | answer PONG | – | – |
/// | another frame | – | deliver | – | – |
///
/// PING is said each second, whatever else is: to what a peer sends, the store may have no answer for a long time, and only PONG waits for no
/// disk. What a worker may have missed is told with it.
///
/// It begins as one that was lost. A frame of another timeline than WELCOME's, ERROR apart, is noted and dropped, and does not count as a
/// sign of life.
struct Connection: ~Copyable {
    enum State: Equatable {
        /// A socket is open and HELLO is sent.
        case greeting(until: Timestamp)
        case welcomed(heard: Timestamp, pinged: Timestamp)
        /// No socket, or none yet; the next is opened at `until`.
        case lost(until: Timestamp)
        /// For good.
        case closed
    }

    private(set) var state = State.lost(until: Timestamp(microseconds: .min))
    /// The timeline of the newest WELCOME; zero before the first.
    private(set) var timeline = Timeline.zero
    private(set) var silence: Duration
    /// Of the newest HELLO: one more than of the one before.
    private(set) var epoch: Int
    /// The newest turn that the store told of, in its timeline.
    private(set) var witness: Int
    /// The newest turn that the peer can prove to have been told of.
    private(set) var proof: TurnProof?
    /// The greatest start number that a store of the timeline has welcomed the peer with; 0 before the first.
    private(set) var start: Int

    /// How many places there are to try, as the host knows.
    var places: Int {
        get { attempts.places }
        set { attempts.places = max(1, newValue) }
    }

    /// Why no place has taken our key, as long as it is not known whether there is another one by now.
    private var refusal: String?
    private let settings: ConnectionSettings
    private var patience: Duration
    private var attempts: Attempts
    private var random: Random
    /// The reasons of losses that were told since the last WELCOME.
    private var told: Set<String> = []

    /// The longest wait that a store may ask for.
    private static let longestWait = Duration.seconds(60)
    /// How many reasons are told before it is left at these.
    private static let maximumReasons = 32

    /// - Parameters:
    ///   - timeline: of an earlier process with the same identity.
    ///   - epoch: a number beyond all that it may have used.
    ///   - witness: what it was told, and with `proof` can prove.
    ///   - start: the greatest start number that it knows.
    init(
        _ settings: ConnectionSettings, random: Random, timeline: Timeline = .zero, epoch: Int = 0, witness: Int = 0,
        proof: TurnProof? = nil, start: Int = 0
    ) {
        self.settings = settings
        self.timeline = timeline
        self.epoch = epoch
        self.witness = witness
        self.proof = proof
        self.start = start
        self.random = random
        silence = settings.silence
        patience = settings.greeting
        attempts = Attempts(first: settings.firstPause, longest: settings.longestPause, handshake: settings.handshake)
    }

    var isWelcomed: Bool {
        if case .welcomed = state { true } else { false }
    }

    /// When `ticked` has something to do; nil for never.
    var deadline: Timestamp? {
        switch state {
        case .greeting(let until), .lost(let until): until
        case .welcomed(let heard, let pinged): min(heard + silence, pinged + settings.pingAfter)
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
        /// Close the socket; every place was tried, and nobody takes our key. Which one is there by now? `keyFound` wants to know.
        case checkKey
        case refused(PeerError)
    }

    mutating func ticked(now: Timestamp) -> Action {
        switch state {
        case .greeting(let until):
            guard now >= until else { return .none }
            let action = lose(.usual("no WELCOME within \(wait)"), now)
            if attempts.isPausing { patience = min(patience * 2, silence) }
            return action
        case .welcomed(let heard, let pinged):
            if now >= heard + silence { return lose(.usual("silent for \(silence)"), now) }
            guard now >= pinged + settings.pingAfter else { return .none }
            state = .welcomed(heard: heard, pinged: now)
            return .ping
        case .lost(let until):
            guard now >= until else { return .none }
            attempts.begin(now)
            greet(now)
            return .open
        case .closed:
            return .none
        }
    }

    /// The transport knows that the connection is gone.
    mutating func disconnected(now: Timestamp, because reason: Disconnection = .broken) -> Action {
        switch reason {
        case .broken: lose(.usual("the connection broke"), now)
        case .impossible(let text): lose(.particular(text), now)
        case .keyRefused(let text): lose(.keyRefused(text), now)
        }
    }

    /// The host has read the key for the attempt that has begun; nil if it has none.
    mutating func keyShown(_ key: Fingerprint?) { attempts.shown = key }

    /// After `checkKey`, the host has read the key again. With another one than was refused the next attempt is made at once.
    ///
    /// - Returns: why the key is not taken, for somebody who has to mend it; told once, too.
    mutating func keyFound(_ key: Fingerprint?, now: Timestamp) -> String? {
        guard case .lost = state, let reason = refusal.take() else { return nil }
        if attempts.hurries(with: key) {
            state = .lost(until: now)
            return nil
        }
        return tell(reason) ? reason : nil
    }

    /// The store has told of a turn, in its timeline.
    mutating func hasTold(of turn: Int) { witness = max(witness, turn) }

    func hello(_ role: Hello.Role, schema: Schema?, isDurable: Bool = false, mayHaveEnded: Bool = false) -> Frame {
        .hello(
            Hello(
                role: role, schema: schema, witness: proof?.turn ?? witness, proof: proof?.code, start: start, epoch: epoch,
                isDurable: isDurable, mayHaveEnded: mayHaveEnded))
    }

    mutating func close() {
        state = .closed
    }

    /// The store broke a rule that only a new HELLO can mend.
    mutating func startOver(_ reason: String, now: Timestamp) -> Action { lose(.usual(reason), now) }

    mutating func received(_ envelope: Envelope, now: Timestamp) -> Action {
        switch state {
        case .lost, .closed: .none  // It came through a socket that is closed by now.
        case .greeting: receivedGreeting(envelope, now)
        case .welcomed(_, let pinged): receivedWelcomed(envelope, pinged: pinged, now)
        }
    }

    private mutating func receivedGreeting(_ envelope: Envelope, _ now: Timestamp) -> Action {
        switch envelope.frame {
        case .welcome(let welcome): accept(welcome, envelope, now)
        case .error(let error): failed(error, now)
        case .goodbye: lose(.usual("the store closes"), now)
        default: .none  // It answers what was said before this HELLO.
        }
    }

    private mutating func receivedWelcomed(_ envelope: Envelope, pinged: Timestamp, _ now: Timestamp) -> Action {
        if case .error(let error) = envelope.frame {
            state = .welcomed(heard: now, pinged: pinged)
            return failed(error, now)
        }
        guard envelope.timeline == timeline else { return .note("dropped a \(envelope.frame.kind) of another timeline") }
        state = .welcomed(heard: now, pinged: pinged)
        switch envelope.frame {
        case .ping(let number): return .answer(.pong(number))
        case .goodbye: return lose(.usual("the store closes"), now)
        case .welcome: return .note("dropped a WELCOME that was not asked for")
        default:
            proof.keep(envelope.proof)
            return .deliver(envelope.frame)
        }
    }

    private mutating func accept(_ welcome: Welcome, _ envelope: Envelope, _ now: Timestamp) -> Action {
        // Another store has taken over from this one, which may not know it yet: nothing that it says counts.
        if envelope.timeline == timeline, welcome.start < start {
            return lose(.particular("a store of an earlier start (\(welcome.start)) answers; start \(start) is known"), now)
        }
        let left = timeline == .zero || timeline == envelope.timeline ? nil : timeline
        timeline = envelope.timeline
        if left != nil { (witness, proof) = (0, nil) }
        start = welcome.start
        witness = max(witness, welcome.head)
        proof.keep(envelope.proof)
        // A silence shorter than two PINGs would take a living store for dead.
        silence = max(welcome.silence, settings.pingAfter * 2)
        patience = settings.greeting
        attempts.succeed()
        told.removeAll()
        state = .welcomed(heard: now, pinged: now)
        return .welcomed(welcome, left: left)
    }

    private mutating func failed(_ error: PeerError, _ now: Timestamp) -> Action {
        switch error.code {
        case .schema, .misuse, .superseded, .sessionExpired, .forbidden:
            state = .closed
            return .refused(error)
        case .retryLater:
            let wait = min(max(error.wait, .zero), Self.longestWait)
            return lose(.usual(error.text), now, atLeast: wait)
        case .keyRefused:
            return lose(.keyRefused(error.text), now)
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
        state = .greeting(until: now + wait)
    }

    /// For WELCOME, the connection included. Where there is another place to try, nothing is waited for that may never come.
    private var wait: Duration { places == 1 ? settings.handshake + patience : patience }

    private enum Loss {
        /// Told if it is the first reason since the last WELCOME.
        case usual(String)
        /// Told in any case, for somebody has to mend it.
        case particular(String)
        case keyRefused(String)
    }

    /// What is lost already, or closed, stays so.
    private mutating func lose(_ loss: Loss, _ now: Timestamp, atLeast wait: Duration = .zero) -> Action {
        switch state {
        case .lost, .closed: return .none
        case .greeting, .welcomed: break
        }
        if case .keyRefused(let text) = loss { attempts.refuse(text) }
        let (pause, refusal) = attempts.fail(atLeast: wait, now, &random)
        state = .lost(until: now + pause)
        if let refusal {
            self.refusal = refusal
            return .checkKey
        }
        switch loss {
        case .usual(let text): return .lost(told.isEmpty && tell(text) ? text : nil)
        case .particular(let text): return .lost(tell(text) ? text : nil)
        case .keyRefused: return .lost(nil)
        }
    }

    /// False for what was told before.
    private mutating func tell(_ reason: String) -> Bool {
        told.count < Self.maximumReasons && told.insert(reason).inserted
    }
}

/// The times by which a peer decides that it is connected, that it is not, and when to try again.
public struct ConnectionSettings: Equatable, Sendable {
    /// How long the first HELLO waits for WELCOME. Each further attempt waits twice as long, up to `silence`, so that a store
    /// that is slow to answer is not drowned in attempts.
    public var greeting = Duration.seconds(1)
    /// How long the transport may take before that, where there is no other place to try.
    public var handshake = Duration.zero
    /// A PING follows WELCOME, or another, after this long.
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
    /// With keys, a handshake costs a store half a millisecond of a processor: seconds, if a crowd comes back. Who goes away meanwhile has
    /// kept it busy for nothing, and begins again behind all others. So it has as long as a thousand connections, which the system
    /// keeps for a store, wait to be taken by one that takes fifty in a second.
    public static let keyedClient = ConnectionSettings(handshake: .seconds(20), longestPause: .seconds(10))
}
