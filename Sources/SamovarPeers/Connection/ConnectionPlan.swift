/// Where the next attempt to connect goes: an endpoint of a list, an address of its host, and a key that the store there may have.
///
/// The idea: all places in the order given, around and around, and a place that was the right one is tried again first, since a store
/// comes back there most of the time. A name is looked up for each attempt anew, for its store may have moved; of the fresh answer the
/// first address is taken that was not tried since the name's turn came. The look-up itself, which may hang, is the host's.
///
/// | | asks | opens |
/// |---|---|---|
/// | next | the next place has a name: to look it up | the next place |
/// | resolved, an address that was not tried | – | it |
/// | resolved, all were tried | the next endpoint has a name: to look it up | the next endpoint |
/// | resolved, none | – | nothing: the attempt has failed |
/// | served | – | with the next attempt, the same place |
/// | follow | – | with the next attempt, the place where another door of the store was found |
public struct ConnectionPlan: Equatable, Sendable {
    /// What an endpoint says of the host.
    public enum Target: Hashable, Sendable {
        /// Nothing has to be looked up.
        case address(String)
        case name(String)
    }

    /// Where and as what a store is sought.
    public struct Place: Equatable, Sendable {
        /// Which of the endpoints.
        public let endpoint: Int
        /// That of its target; of a name, one of its addresses.
        public let address: String
        /// Which of the keys that the store may have.
        public let key: Int
    }

    /// What is to be done for an attempt.
    public enum Step: Equatable, Sendable {
        case open(Place)
        case resolve(String)
    }

    /// Of the addresses of one name so many are tried.
    public static let maximumAddresses = 8

    private let targets: [Target]
    /// What is known of the addresses of each.
    private var answers: [[String]]
    private var keys = 1
    private var endpoint = 0
    /// Addresses of this endpoint that had their turn, with every key.
    private var tried: [String] = []
    /// The one whose turn it is.
    private var current: String?
    /// Which of the keys it is tried with; of no meaning while there is none.
    private var key = 0
    private var hasBegun = false
    private var hasServed = false

    /// - Parameter targets: at least one.
    public init(_ targets: [Target]) {
        precondition(!targets.isEmpty, "there is somewhere to connect to")
        self.targets = targets
        answers = targets.map { if case .address(let address) = $0 { [address] } else { [] } }
    }

    /// How many places there are, as far as is known.
    public var places: Int { answers.reduce(0) { $0 + max(1, $1.count) } * keys }

    /// Begins an attempt.
    ///
    /// - Parameter keys: how many keys the store may have.
    public mutating func next(keys: Int = 1) -> Step {
        self.keys = max(1, keys)
        if hasServed {
            tried = []
            key = min(key, self.keys - 1)
        } else if hasBegun {
            advance()
        }
        hasServed = false
        hasBegun = true
        return step()
    }

    /// What a name that was asked for stands for; nothing if it cannot be looked up.
    ///
    /// - Returns: the next step of the attempt; nil if it has failed.
    public mutating func resolved(_ addresses: [String]) -> Step? {
        answers[endpoint] = Array(addresses.prefix(Self.maximumAddresses))
        guard !addresses.isEmpty else {
            current = nil
            return nil
        }
        return choose()
    }

    /// The place of the last attempt was the right one.
    public mutating func served() { hasServed = true }

    /// Another door of the store was found by a plan for the same targets: the next attempt is there.
    ///
    /// - Returns: whether the last one was elsewhere.
    public mutating func follow(_ other: ConnectionPlan) -> Bool {
        let address = if case .name = targets[other.endpoint] { other.current } else { answers[other.endpoint].first }
        let isElsewhere = endpoint != other.endpoint || current != address
        (endpoint, current, key) = (other.endpoint, address, other.key)
        hasServed = true
        return isElsewhere
    }

    private mutating func advance() {
        if current != nil, key + 1 < keys {
            key += 1
            return
        }
        if let address = current.take() { tried.append(address) }
        if untried == nil { leaveEndpoint() }
    }

    private mutating func step() -> Step {
        if case .name(let name) = targets[endpoint] { .resolve(name) } else { choose() }
    }

    private mutating func choose() -> Step {
        if current.map({ !answers[endpoint].contains($0) }) ?? true {
            current = untried
            key = 0
        }
        if let current { return .open(Place(endpoint: endpoint, address: current, key: key)) }
        leaveEndpoint()
        return step()
    }

    private var untried: String? { answers[endpoint].first { !tried.contains($0) } }

    private mutating func leaveEndpoint() {
        endpoint = (endpoint + 1) % targets.count
        tried = []
    }
}
