/// What a load test does, as all its processes know it.
public struct LoadPlan: Codable, Equatable, Sendable {
    /// When inputs are sent.
    public enum Pace: Codable, Equatable, Sendable {
        /// So many a second over all clients, whatever the store does: a slow store shows as latency and not as fewer inputs.
        case rate(Double)
        /// Each client keeps so many inputs unanswered: the most that the store takes. What latency means then is another thing, since
        /// a client waits for the store.
        case saturate(window: Int)
    }

    public var pace: Pace
    /// Sessions that send.
    public var clients: Int
    /// Sockets that follow the view.
    public var subscribers: Int
    /// How long inputs are due, in microseconds.
    public var duration: Int64
    /// How long after that, or after the newest answer, the rest is waited for, in microseconds.
    public var drain: Int64
    /// The inputs, taken in turn; each an `InputTemplate` in MessagePack.
    public var inputs: [[UInt8]]
    /// Where the agents reach the store, unless they were told otherwise themselves.
    public var endpoint: String
    /// Names the admin socket of a store on TCP; nobody looks into it.
    public var dataFolder: String

    public init(
        pace: Pace, clients: Int, subscribers: Int, duration: Int64, drain: Int64, inputs: [[UInt8]], endpoint: String,
        dataFolder: String
    ) {
        self.pace = pace
        self.clients = clients
        self.subscribers = subscribers
        self.duration = duration
        self.drain = drain
        self.inputs = inputs
        self.endpoint = endpoint
        self.dataFolder = dataFolder
    }

    /// What each of so many agents does: clients and subscribers are spread evenly.
    public func shares(_ agents: Int) -> [LoadShare] {
        var first = 0
        return (0..<agents).map { agent in
            let clients = Self.part(of: clients, agent, agents)
            defer { first += clients }
            return LoadShare(
                plan: self, firstClient: first, clients: clients, subscribers: Self.part(of: subscribers, agent, agents))
        }
    }

    private static func part(of whole: Int, _ index: Int, _ count: Int) -> Int {
        whole / count + (index < whole % count ? 1 : 0)
    }

    /// Asking for the end of effects is a request of its own, so beyond a thousand a second only one input in so many is asked for.
    public var settleStride: Int {
        switch pace {
        case .rate(let rate): max(1, Int((rate / 1_000).rounded(.up)))
        // How many a second there will be nobody knows; of half a million it is a thousand.
        case .saturate: 512
        }
    }
}

/// What one agent does of a plan.
public struct LoadShare: Codable, Equatable, Sendable {
    public var plan: LoadPlan
    /// The number of the first of its clients, among those of all agents.
    public var firstClient: Int
    public var clients: Int
    public var subscribers: Int
}
