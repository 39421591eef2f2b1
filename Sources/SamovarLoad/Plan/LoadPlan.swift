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

/// Which inputs are asked for the end of their effects: one in so many, by its client and number alone.
///
/// The multiples of an irrational number, without what is before the point, are spread evenly. A client's inputs are by those of the
/// golden ratio, and clients are apart by those of another one, so every client and every time has its part in what is measured.
public struct SettleChoice: Equatable, Sendable {
    /// Of all that 64 bits can be.
    private let part: UInt64

    public init(oneIn stride: Int) {
        part = .max / UInt64(max(1, stride))
    }

    /// - Parameter number: of an input among those of its client.
    public func includes(_ number: Int, of client: Int) -> Bool {
        // The fractions of the golden ratio and of the root of 2, in 64 bits.
        let place = UInt64(truncatingIfNeeded: number) &* 0x9e37_79b9_7f4a_7c15
        return place &+ UInt64(truncatingIfNeeded: client) &* 0x6a09_e667_f3bc_c908 <= part
    }
}

/// What one agent does of a plan.
public struct LoadShare: Codable, Equatable, Sendable {
    public var plan: LoadPlan
    /// The number of the first of its clients, among those of all agents.
    public var firstClient: Int
    public var clients: Int
    public var subscribers: Int

    /// Whether the coordinator can have made it; schedules are computed from it. The bounds are those of the command, and some years.
    var isPlausible: Bool {
        let isPaced =
            switch plan.pace {
            case .rate(let rate): rate >= 0.001 && rate <= 10_000_000
            case .saturate(let window): (1...4_096).contains(window)
            }
        let times: ClosedRange<Int64> = 0...1 << 48
        return isPaced && (1...100_000).contains(plan.clients) && (0...plan.clients).contains(clients)
            && (0...plan.clients - clients).contains(firstClient) && (0...100_000).contains(subscribers)
            && times.contains(plan.duration) && times.contains(plan.drain)
    }

    /// The first moment after this time at which an input of these clients is due, both from the start; of those that are sent as soon as they
    /// may be, each second.
    public func nextDue(after time: Duration) -> Duration {
        guard case .rate(let rate) = plan.pace else { return time + .seconds(1) }
        // Inputs of all clients are due at whole beats, of each client at one in so many.
        var beat = Int((time / .seconds(1) * rate).rounded(.down)) + 1
        let place = beat % plan.clients
        if place < firstClient { beat += firstClient - place }
        if place >= firstClient + clients { beat += plan.clients - place + firstClient }
        return .seconds(Double(beat) / rate)
    }
}

/// When one client's inputs are due: a function of their number alone, so nothing that happens can move it. An input that is sent late is
/// measured from when it was due; this is what keeps the measurement free of coordinated omission.
public struct SendSchedule: Equatable, Sendable {
    /// Of this client among all.
    let client: Int
    let clients: Int
    /// Of all clients, per second.
    let rate: Double
    /// How many of this client's inputs are due in the whole test.
    public let count: Int

    /// - Parameter duration: in microseconds.
    public init(client: Int, of clients: Int, rate: Double, duration: Int64) {
        self.client = client
        self.clients = clients
        self.rate = rate
        let all = Int((rate * Double(duration) / 1_000_000).rounded(.up))
        count = all > client ? (all - client - 1) / clients + 1 : 0
    }

    /// Microseconds after the start, of this client's input `index`, from 0. Clients take turns, so that they do not send in bursts.
    public func due(_ index: Int) -> Int64 { Int64(Double(index * clients + client) * 1_000_000 / rate) }
}

/// Which process dies when: the roles in turn, one every interval, and none when the test is over.
public struct KillPlan: Codable, Equatable, Sendable {
    public enum Role: String, Codable, CaseIterable, Sendable {
        case store, worker
    }

    public var roles: [Role]
    /// Microseconds between two deaths.
    public var interval: Int64

    public init(roles: [Role], interval: Int64) {
        self.roles = roles
        self.interval = interval
    }

    /// When death number `index` is due, from 0, in microseconds after the start; nil if the test is over then.
    public func due(_ index: Int, within duration: Int64) -> Int64? {
        guard !roles.isEmpty else { return nil }
        let (time, isBeyond) = interval.multipliedReportingOverflow(by: Int64(index + 1))
        return !isBeyond && time < duration ? time : nil
    }

    public func role(_ index: Int) -> Role { roles[index % roles.count] }
}
