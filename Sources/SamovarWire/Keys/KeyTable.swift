public import SamovarCore

/// The keys with which peers may come over the network: a value, replaced as a whole.
///
/// It holds no secrets, and no public keys either: whoever connects has proven which public key is its own, and the table knows that by its
/// fingerprint.
public struct KeyTable: Equatable, Sendable {
    /// In the order in which they were given; of two with one fingerprint, `init` takes none.
    public let keys: [Key]
    private let places: [Fingerprint: Int]

    /// - Throws: `KeyTableError` if two keys have one fingerprint, or more than two one name.
    public init(_ keys: [Key]) throws(KeyTableError) {
        var places: [Fingerprint: Int] = [:]
        var names: [KeyName: Int] = [:]
        for (place, key) in keys.enumerated() {
            guard places.updateValue(place, forKey: key.fingerprint) == nil else {
                throw KeyTableError("two keys have the fingerprint \(key.fingerprint)")
            }
            names[key.name, default: 0] += 1
            guard names[key.name, default: 0] <= Self.keysOfOneName else {
                throw KeyTableError(
                    "\(key.name) has more than \(Self.keysOfOneName) keys: the one before and the one it is renewed with")
            }
        }
        self.keys = keys
        self.places = places
    }

    /// A table without keys.
    public static let none = KeyTable()

    private init() {
        keys = []
        places = [:]
    }

    /// While a key is renewed, the one before and the one after.
    public static let keysOfOneName = 2

    /// The key of this fingerprint, whether it has expired or not.
    public subscript(fingerprint: Fingerprint) -> Key? { places[fingerprint].map { keys[$0] } }

    /// Whether a peer with this key may come in at a door now.
    public func admits(_ fingerprint: Fingerprint, at door: Door, now: Timestamp) -> Bool {
        guard let key = self[fingerprint], key.isValid(now: now) else { return false }
        return !key.roles.isDisjoint(with: door.roles)
    }
}

/// A key, and what it is good for.
public struct Key: Equatable, Sendable {
    /// How much one key may ask of a store; see docs/security.md.
    public struct Limits: Equatable, Sendable {
        /// The most that each of them may be in a table; the least is 1.
        static let largest = 1_000_000_000

        /// Sessions that it may keep.
        public var sessions = 100
        /// HELLOs a second, all its connections together.
        public var hellos = 10
        /// Bytes of views a second that it may ask for.
        public var viewBytes = 10 << 20
        /// Messages in ten seconds that are no frames of ours, before it is not listened to for a minute.
        public var badFrames = 10

        public init() {}
    }

    public let name: KeyName
    public let fingerprint: Fingerprint
    public let roles: Set<Role>
    /// The queues that a worker may serve; nil for all.
    public let queues: Set<Queue>?
    /// The cases of the program's `Input` that a client may send, by their names; nil for all.
    public let inputs: Set<String>?
    /// The first moment at which it is not valid any more; nil for never.
    public let notAfter: Timestamp?
    public let limits: Limits

    public init(
        _ name: KeyName, _ fingerprint: Fingerprint, roles: Set<Role>, queues: Set<Queue>? = nil, inputs: Set<String>? = nil,
        notAfter: Timestamp? = nil, limits: Limits = Limits()
    ) {
        self.name = name
        self.fingerprint = fingerprint
        self.roles = roles
        self.queues = queues
        self.inputs = inputs
        self.notAfter = notAfter
        self.limits = limits
    }

    public func isValid(now: Timestamp) -> Bool { notAfter.map { now < $0 } ?? true }

    public var sender: Sender { Sender(name: name, fingerprint: fingerprint) }
}

/// Why a table of keys cannot be used. The one before stays.
public struct KeyTableError: Error, Equatable, Sendable, CustomStringConvertible {
    public let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Who has sent a message, as its socket knows.
public enum Identity: Hashable, Sendable {
    /// The user of the store, over `ipc`; or anybody on this machine, where TCP without keys was asked for.
    case local
    /// Whoever has the secret of this key.
    case key(Fingerprint)
}
