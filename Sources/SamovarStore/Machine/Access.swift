import SamovarCore
import SamovarWire

/// What a peer may do, by the key with which it came: its roles, and how much it may ask for.
///
/// A value of the machine and no matter of the sockets, so that every pair of a role and a frame can be tried without one. Sockets turn away
/// who has no business at a door; here each frame is looked at again, since libzmq never asks twice for a connection that it has let in.
///
/// | the key | HELLO | another frame of its roles | beyond its roles |
/// |---|---|---|---|
/// | none is needed: the user of the store | taken | taken | – |
/// | in the table, valid | taken, within its budget; else `retryLater` | taken | `forbidden` |
/// | not in the table (any more), or expired | `keyRefused` | `keyRefused` | `keyRefused` |
/// | noisy: too many messages that are no frames, or were refused | passed over for a minute | the same | the same |
struct Access {
    /// What one key has asked for.
    private struct Use {
        var hellos = TokenBucket()
        var views = TokenBucket()
        var noise = TokenBucket()
        var isDeafUntil: Timestamp?
    }

    private(set) var keys: KeyTable
    /// When it was last looked which of them have expired, and when the next one does.
    private(set) var looked = Timestamp(microseconds: .min)
    private(set) var nextExpiry = Timestamp(microseconds: .max)
    private var uses: [Fingerprint: Use] = [:]
    /// Frames that were refused because of their key.
    private(set) var refused = 0

    /// A key that makes so much noise is not listened to for so long.
    static let deafness = Duration.seconds(60)
    private static let noiseInterval = Duration.seconds(10)
    /// Those that are not in the table any more are few: whoever has none of its keys is not let in.
    private static let useLimit = 10_000

    init(_ keys: KeyTable) {
        self.keys = keys
        look(now: looked)
    }

    mutating func replace(_ keys: KeyTable) {
        self.keys = keys
        look(now: looked)
        uses = uses.filter { keys[$0.key] != nil }
    }

    mutating func look(now: Timestamp) {
        looked = now
        nextExpiry = keys.keys.compactMap(\.notAfter).filter { $0 > now }.min() ?? Timestamp(microseconds: .max)
    }

    /// Whether a worker of this name may come with another key, and serve these queues.
    func admitsWorker(_ name: KeyName, _ queues: [Queue], now: Timestamp) -> Bool {
        keys.keys.contains {
            $0.name == name && $0.isValid(now: now) && $0.roles.contains(.worker) && $0.queues?.isSuperset(of: queues) ?? true
        }
    }

    /// The key of a peer, valid or not; nil if it has none in the table.
    func key(of identity: Identity) -> Key? {
        guard case .key(let fingerprint) = identity else { return nil }
        return keys[fingerprint]
    }

    func sender(_ identity: Identity) -> Sender? { key(of: identity)?.sender }

    // MARK: Frames

    /// Decides before a frame is read: who makes noise is not listened to.
    func hears(_ identity: Identity, now: Timestamp) -> Bool {
        guard case .key(let fingerprint) = identity, let end = uses[fingerprint]?.isDeafUntil else { return true }
        return now >= end
    }

    /// Why a frame is not taken; nil if it is.
    mutating func refusal(of kind: FrameKind, from identity: Identity, at listener: Listener, now: Timestamp) -> PeerError? {
        if let error = objection(to: identity, kind.roles(at: listener), kind.deed, now: now) {
            refused += 1
            return error
        }
        if kind == .hello, let key = key(of: identity), let wait = takeHello(key, now: now) {
            return PeerError(.retryLater, "the key \(key.name) says HELLO too often", wait: wait)
        }
        return nil
    }

    /// Why a peer may not do what is for some roles only; nil if it may.
    func objection(
        to identity: Identity, _ roles: @autoclosure () -> Set<Role>, _ what: @autoclosure () -> String, now: Timestamp
    ) -> PeerError? {
        guard case .key(let fingerprint) = identity else { return nil }
        guard let key = keys[fingerprint] else {
            return PeerError(.keyRefused, "the store does not know this key, or not any more")
        }
        guard key.isValid(now: now) else { return PeerError(.keyRefused, "the key \(key.name) has expired") }
        guard key.roles.isDisjoint(with: roles()) else { return nil }
        return PeerError(.forbidden, "\(what()) is not for the key \(key.name), which is for \(key.rolesText)")
    }

    /// What was refused later, for a reason that only the frame's content shows.
    mutating func noteRefusal() { refused += 1 }

    /// A peer has sent what is no frame of ours, or was refused. Returns whether it has just become too much.
    mutating func hasMadeNoise(_ identity: Identity, now: Timestamp) -> Bool {
        guard case .key(let fingerprint) = identity else { return false }
        let limit = keys[fingerprint]?.limits.badFrames ?? Key.Limits().badFrames
        let pace = TokenBucket.Pace(limit, per: Self.noiseInterval, burst: limit, most: 1_000_000)
        if uses[fingerprint] == nil, uses.count >= Self.useLimit { uses.removeAll() }
        guard uses[fingerprint, default: Use()].noise.take(pace, now: now) else {
            uses[fingerprint]?.isDeafUntil = now + Self.deafness
            return true
        }
        return false
    }

    // MARK: Budgets

    /// How long a key has to wait for another HELLO; nil if it was within its budget.
    private mutating func takeHello(_ key: Key, now: Timestamp) -> Duration? {
        let pace = TokenBucket.Pace(key.limits.hellos, per: .seconds(1), burst: key.limits.hellos, most: 1_000_000)
        if uses[key.fingerprint, default: Use()].hellos.take(pace, now: now) { return nil }
        return (uses[key.fingerprint]?.hellos.next(1, pace)).map { max(.milliseconds(1), $0 - now) }
    }

    /// How long a peer has to wait until it may ask for views again; nil if it need not.
    func viewPause(_ identity: Identity, now: Timestamp) -> Duration? {
        guard case .key(let fingerprint) = identity, let key = keys[fingerprint], let views = uses[fingerprint]?.views else {
            return nil
        }
        let next = views.next(1, Self.viewPace(key))
        return next > now ? next - now : nil
    }

    /// A peer was sent views of so many bytes, of which it pays those that it had no budget for with a pause.
    mutating func spend(viewBytes bytes: Int, _ identity: Identity, now: Timestamp) {
        guard case .key(let fingerprint) = identity, let key = keys[fingerprint] else { return }
        uses[fingerprint, default: Use()].views.spend(bytes, Self.viewPace(key), now: now)
    }

    private static func viewPace(_ key: Key) -> TokenBucket.Pace {
        TokenBucket.Pace(key.limits.viewBytes, per: .seconds(1), burst: key.limits.viewBytes, most: 1_000_000_000)
    }

    // MARK: Content

    /// Why a worker may not serve these queues; nil if it may.
    func objection(to queues: [Queue], by identity: Identity) -> PeerError? {
        guard case .key(let fingerprint) = identity, let key = keys[fingerprint], let allowed = key.queues,
            let queue = queues.first(where: { !allowed.contains($0) })
        else { return nil }
        return PeerError(.forbidden, "the key \(key.name) is not for queue \(queue)")
    }

    /// Why an input may not be sent with a key; nil if it may. Of the keys of a name that is being renewed, the one that has sent it counts.
    func objection(to input: [UInt8], by sender: Sender?) -> String? {
        guard let sender else { return nil }
        guard let key = keys[sender.fingerprint] else { return "the key \(sender.name) may not send any more" }
        guard let allowed = key.inputs else { return nil }
        guard let name = inputCase(of: input) else { return "the key \(sender.name) may send some cases only, and this is none" }
        return allowed.contains(name) ? nil : "the key \(sender.name) may not send \(name.bounded(to: 100))"
    }
}

extension FrameKind {
    private static let clients: Set<Role> = [.client]

    /// Who may send one there. What is not for peers to send at a listener, the parts of the machine refuse as misuse, whoever it is.
    func roles(at listener: Listener) -> Set<Role> {
        switch listener {
        case .front:
            switch self {
            case .send, .settle, .outputsRequest: Self.clients
            default: Door.front.roles
            }
        case .work: Door.work.roles
        case .admin: Door.admin.roles
        }
    }

    /// What somebody is told that may not send one, who need not know of frames.
    fileprivate var deed: String {
        switch self {
        case .send: "sending inputs"
        case .settle: "waiting for the end of effects"
        case .outputsRequest: "reading outputs"
        default: "this socket"
        }
    }
}

extension Key {
    fileprivate var rolesText: String { roles.map { "\($0.rawValue)s" }.sorted().joined(separator: " and ") }
}
