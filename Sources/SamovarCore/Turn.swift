/// One step of the store: its number in the journal, its time, and where it came from.
///
/// A turn is all the outside that `start`, `accept` and `update` may see. Whatever they read from it is in the journal, so a
/// replay gives the same state, in any process, at any time:
///
/// ```swift
/// var dice = turn.random("dice")
/// state.throws.append(Int.random(in: 1...6, using: &dice))
/// state.last = turn.now
/// ```
public struct Turn: Hashable, Sendable, BitwiseCopyable {
    /// The number of this turn's record in the journal; the first is 1, and there are no holes.
    public let number: Int
    /// When the store took this turn. Never earlier than the turn before, whatever the machine's clock did.
    public let now: Timestamp
    /// Who caused it.
    public let origin: Origin
    /// The key with which an input or an operator's request came over the network; nil for what came over `ipc`, and for turns of any
    /// other origin, those that follow from an input included.
    public let sender: Sender?
    @usableFromInline let secret: Secret

    /// A turn as a test of `update` needs one; the store makes its own.
    @inlinable
    public init(number: Int, now: Timestamp, origin: Origin, sender: Sender? = nil, secret: Secret) {
        self.number = number
        self.now = now
        self.origin = origin
        self.sender = sender
        self.secret = secret
    }

    /// Random numbers of this turn. Two calls with one label give the same numbers; another label gives others.
    public func random(_ label: StaticString = "") -> Random {
        Random(seed: hash(label, purpose: 1))
    }

    /// An identity that no other turn has. Two calls with one label give the same one.
    public func uuid(_ label: StaticString = "") -> UniqueID {
        let high = hash(label, purpose: 2)
        let low = hash(label, purpose: 3)
        // Version 4 and variant 1 of RFC 9562, so that other tools accept it as a random UUID.
        return UniqueID(high: high & ~0xf000 | 0x4000, low: low & ~(0b11 << 62) | 0b10 << 62)
    }

    private func hash(_ label: StaticString, purpose: UInt8) -> UInt64 {
        var hash = KeyedHash(secret)
        hash.combine(purpose)
        hash.combine(number)
        label.withUTF8Buffer { hash.combine($0) }
        return hash.finish()
    }
}

/// Where a turn came from.
public enum Origin: Hashable, Sendable, BitwiseCopyable {
    /// The store itself, when it starts or ends.
    case store
    /// Input number `sequence` of a client's session.
    case client(session: SessionID, sequence: Int)
    /// Message `index` of the answer of a job.
    case effect(EffectID, lease: Lease, index: Int)
    /// What `failed` made of an effect that failed for good.
    case failure(EffectID)
    /// `.then` of an earlier turn.
    case followUp(of: Int)
    /// A person with access to the store's admin socket, or with an operator's key.
    case `operator`
    /// A subscription, named by its activation: the turn with which it began and its place there. `nominal` is the time for
    /// which a timer fires, which is never later than the turn.
    case subscription(EffectID, nominal: Timestamp)
}

/// The identity of an effect in its timeline: the turn that asked for it and its place among that turn's orders, from 0.
///
/// It stays the same over retries, restarts and fail-over. Its text with the timeline in front, `timeline/turn/ordinal`, is
/// the idempotency key of a job.
public struct EffectID: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The turn that ordered it.
    public let turn: Int
    /// Its place among that turn’s orders, from 0.
    public let ordinal: Int

    /// The identity of the order at this place.
    @inlinable
    public init(turn: Int, ordinal: Int) {
        self.turn = turn
        self.ordinal = ordinal
    }

    /// In the order in which effects were ordered.
    @inlinable
    public static func < (a: EffectID, b: EffectID) -> Bool { (a.turn, a.ordinal) < (b.turn, b.ordinal) }

    /// `turn/ordinal`.
    public var description: String { "\(turn)/\(ordinal)" }
}

/// The store looks effects and leases up many times in each turn, and gives out both kinds of numbers itself: nobody outside can choose
/// them so that they collide. So two multiplications are enough, where `Hasher` would take ten times as long.
extension EffectID {
    /// A hash for `Set` and `Dictionary`, seeded by each collection.
    @inlinable
    public func _rawHashValue(seed: Int) -> Int { mixed(turn, ordinal, seed) }
}

extension Lease {
    /// A hash for `Set` and `Dictionary`, seeded by each collection.
    @inlinable
    public func _rawHashValue(seed: Int) -> Int { mixed(counter, start, seed) }
}

/// Source of the constants: the finaliser of SplitMix64, by Sebastiano Vigna, 2015, in the public domain.
@inlinable
func mixed(_ a: Int, _ b: Int, _ seed: Int) -> Int {
    var bits = UInt64(bitPattern: Int64(a)) &+ UInt64(bitPattern: Int64(b)) &* 0x9e37_79b9_7f4a_7c15
    bits = (bits ^ UInt64(bitPattern: Int64(seed))) &* 0xbf58_476d_1ce4_e5b9
    bits = (bits ^ (bits >> 32)) &* 0x94d0_49bb_1331_11eb
    return Int(truncatingIfNeeded: bits ^ (bits >> 31))
}

/// The right to run one attempt of an effect: the store's start number and a counter within that start. A lease never
/// repeats, and the greater fences the smaller.
public struct Lease: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
    /// The number of the store’s start.
    public let start: Int
    /// Counts within that start.
    public let counter: Int

    /// A lease; only stores make them.
    @inlinable
    public init(start: Int, counter: Int) {
        self.start = start
        self.counter = counter
    }

    /// In the order in which leases were given.
    @inlinable
    public static func < (a: Lease, b: Lease) -> Bool { (a.start, a.counter) < (b.start, b.counter) }

    /// `start.counter`.
    public var description: String { "\(start).\(counter)" }
}
