import SamovarCore
public import SamovarStore

/// What agent and coordinator say to each other: one frame each, in MessagePack. Both are of one version of Samovar; another one is refused
/// when it joins.
public enum LoadProtocol {
    /// Raised whenever a message changes.
    public static let version = 3
    /// The bytes of a session's ledger that travel in one message.
    public static let pieceSize = 256 << 10
    /// How often an agent says something, in microseconds.
    public static let interval: Int64 = 1_000_000
    /// How long a coordinator waits for agents that people start on other machines. It says nothing to those that have joined meanwhile.
    public static let gathering = Duration.seconds(600)
}

/// Numbers of the HDR histograms: values in microseconds, and how often each was counted.
public struct Distribution: Codable, Equatable, Sendable {
    public var values: [UInt64]
    public var counts: [UInt64]

    public init(values: [UInt64] = [], counts: [UInt64] = []) {
        self.values = values
        self.counts = counts
    }
}

/// The latencies of one agent. Each is from when an input was due.
public struct Latencies<Series> {
    /// To its receipt: its turn is on disk.
    public var applied: Series
    /// To the news that no effect that it caused is open.
    public var settled: Series
    /// To the first view of its turn or a later one.
    public var view: Series

    public init(applied: Series, settled: Series, view: Series) {
        self.applied = applied
        self.settled = settled
        self.view = view
    }

    public func map<Other>(_ transform: (Series) throws -> Other) rethrows -> Latencies<Other> {
        Latencies<Other>(applied: try transform(applied), settled: try transform(settled), view: try transform(view))
    }
}

extension Latencies: Equatable where Series: Equatable {}
extension Latencies: Sendable where Series: Sendable {}
extension Latencies: Encodable where Series: Encodable {}
extension Latencies: Decodable where Series: Decodable {}

/// Bytes in frames of this agent, without what ZeroMQ adds.
public struct WireBytes: Codable, Equatable, Sendable {
    /// By the clients: inputs, requests, greetings.
    public var sent = 0
    /// To the clients: receipts and answers.
    public var received = 0
    /// To the subscribers: views and ticks.
    public var viewed = 0

    public init() {}

    public static func + (a: WireBytes, b: WireBytes) -> WireBytes {
        var sum = a
        sum.sent += b.sent
        sum.received += b.received
        sum.viewed += b.viewed
        return sum
    }
}

/// How far an agent is; numbers count from the beginning, distributions since the last report.
public struct AgentProgress: Codable, Equatable, Sendable {
    /// Microseconds since its start.
    public var elapsed: Int64
    public var counts: ClientCounts
    public var views: Int
    public var applied: Distribution
    public var process: ProcessSample

    public init(elapsed: Int64, counts: ClientCounts, views: Int, applied: Distribution, process: ProcessSample) {
        self.elapsed = elapsed
        self.counts = counts
        self.views = views
        self.applied = applied
        self.process = process
    }
}

/// What an agent knows at its end; the ledgers come before it, in pieces.
public struct AgentResult: Codable, Equatable, Sendable {
    public var counts: ClientCounts
    public var latencies: Latencies<Distribution>
    public var bytes: WireBytes
    public var views: Int
    /// Inputs whose view was never seen, for want of a later view or of memory.
    public var withoutView: Int
    /// Inputs that were chosen for send → settled, and whose end was never told.
    public var withoutEnd: Int
    /// Why clients sent nothing more, if there were such.
    public var problems: [String]
    /// Why an input was rejected, for example.
    public var rejection: String?

    public init(
        counts: ClientCounts, latencies: Latencies<Distribution>, bytes: WireBytes, views: Int, withoutView: Int,
        withoutEnd: Int, problems: [String], rejection: String?
    ) {
        self.counts = counts
        self.latencies = latencies
        self.bytes = bytes
        self.views = views
        self.withoutView = withoutView
        self.withoutEnd = withoutEnd
        self.problems = problems
        self.rejection = rejection
    }
}

public enum AgentMessage: Codable, Equatable, Sendable {
    /// With its name and its processors and system, for people.
    case join(version: Int, name: String, machine: String)
    /// So many clients and subscribers are connected, and not all yet.
    case connecting(count: Int)
    /// All clients are connected; with the store's timeline, in text.
    case ready(timeline: String)
    case progress(AgentProgress)
    /// Nothing is new, and the agent lives.
    case alive
    /// A piece of a session's ledger; `sent` is how many inputs that session sent.
    case ledger(session: String, sent: Int, piece: [UInt8])
    case result(AgentResult)
    /// It cannot go on, in words.
    case failed(String)
}

public enum CoordinatorMessage: Codable, Equatable, Sendable {
    case plan(LoadShare)
    /// Begin after so many microseconds.
    case start(in: Int64)
    /// No further input becomes due.
    case stop
    /// The result has arrived: end.
    case thanks
    /// The agent is not wanted, in words.
    case dismissed(String)
}

/// What became of inputs.
public struct ClientCounts: Codable, Equatable, Sendable {
    /// Those that were due by now; with `saturate`, those that were sent.
    public var due = 0
    public var sent = 0
    public var applied = 0
    /// The program said no.
    public var refused = 0
    /// A gate said no, or the input could not be read.
    public var rejected = 0
    /// The client was told that nobody can know.
    public var unknown = 0
    /// Two receipts of a client of which the later input has the earlier turn.
    public var outOfOrder = 0
    /// Effects that died among those whose end was asked for.
    public var dead = 0

    public init() {}

    public var answered: Int { applied + refused + rejected }
    /// Sent, and nothing was heard of it.
    public var unanswered: Int { sent - answered - unknown }

    public static func + (a: ClientCounts, b: ClientCounts) -> ClientCounts {
        all.reduce(into: a) { $0[keyPath: $1] += b[keyPath: $1] }
    }

    static var all: [WritableKeyPath<ClientCounts, Int>] {
        [\.due, \.sent, \.applied, \.refused, \.rejected, \.unknown, \.outOfOrder, \.dead]
    }
}

/// As a coordinator takes it: texts of an agent are kept, logged and shown, and are as long as it likes.
extension AgentMessage {
    var bounded: AgentMessage {
        switch self {
        case .join(let version, let name, let machine): .join(version: version, name: name.bounded(), machine: machine.bounded())
        case .ready(let timeline): .ready(timeline: timeline.bounded())
        case .ledger(let session, let sent, let piece): .ledger(session: session.bounded(), sent: sent, piece: piece)
        case .result(let result): .result(result.bounded)
        case .failed(let reason): .failed(reason.bounded())
        case .connecting, .progress, .alive: self
        }
    }
}

extension AgentResult {
    /// How many problems of an agent are told one by one.
    static let problemLimit = 10

    fileprivate var bounded: AgentResult {
        var result = self
        result.problems = problems.prefix(Self.problemLimit).map { $0.bounded() }
        if problems.count > Self.problemLimit { result.problems.append("and \(problems.count - Self.problemLimit) more") }
        result.rejection = rejection?.bounded()
        return result
    }
}

/// Whether what an agent said can be true at all. Sums and texts are made of it, and no peer shall end the coordinator with a number that
/// overflows or that is none.
extension AgentMessage {
    var isPlausible: Bool {
        switch self {
        case .join, .ready, .alive, .failed: true
        case .connecting(let count): isPlausibleCount(count)
        case .progress(let progress): progress.isPlausible
        case .ledger(_, let sent, _): isPlausibleCount(sent)
        case .result(let result):
            result.counts.isPlausible && result.bytes.isPlausible && isPlausibleCount(result.views)
                && isPlausibleCount(result.withoutView) && isPlausibleCount(result.withoutEnd)
                && result.latencies.applied.isPlausible
                && result.latencies.settled.isPlausible && result.latencies.view.isPlausible
        }
    }
}

/// More than any test counts: a thousand million a second for three days.
private func isPlausibleCount(_ number: Int) -> Bool { (0...1 << 48).contains(number) }

extension AgentProgress {
    fileprivate var isPlausible: Bool {
        isPlausibleCount(Int(elapsed)) && counts.isPlausible && isPlausibleCount(views) && applied.isPlausible
            && (0...1e12).contains(process.processorSeconds) && (0...1 << 60).contains(process.residentBytes)
    }
}

extension ClientCounts {
    fileprivate var isPlausible: Bool { Self.all.allSatisfy { isPlausibleCount(self[keyPath: $0]) } }
}

extension WireBytes {
    fileprivate var isPlausible: Bool { [sent, received, viewed].allSatisfy(isPlausibleCount) }
}

extension Distribution {
    fileprivate var isPlausible: Bool {
        // An HDR histogram of an hour has fewer buckets.
        values.count == counts.count && values.count <= 65_536 && counts.allSatisfy { $0 <= 1 << 32 }
    }
}
