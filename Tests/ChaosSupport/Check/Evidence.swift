/// All that is known after the torment, from everybody who took part.
public struct Evidence: Sendable {
    public var story: Story
    /// By client; the lives of one client follow each other.
    public var calls: [String: [Call]] = [:]
    public var attempts: [Attempt] = []
    /// By the life of a subscriber.
    public var sightings: [String: [Sighting]] = [:]
    /// The lives of subscribers that were there at the end.
    public var lastSubscribers: Set<String> = []
    /// Lives of clients that were killed: the last call in each of their columns may have no end.
    public var killedLives: Set<String> = []
    /// What others say that the view at the head is: the store before it stopped, and replays of the journal.
    public var heads: [(who: String, view: Slate.ViewState)] = []
    /// What did not end after the faults had stopped, in words.
    public var unfinished: [String] = []
    /// Ends of processes that nobody had caused, in words.
    public var unexpectedEnds: [String] = []
    /// Limits that were passed, in words.
    public var excesses: [String] = []

    public init(story: Story) {
        self.story = story
    }
}

/// The invariants of RELIABILITY that a torment can show to be broken.
public enum Invariant: String, CaseIterable, Sendable, CustomStringConvertible {
    case lost = "I1"
    case phantom = "I2"
    case order = "I3"
    case replay = "I4"
    case early = "I5"
    case completion = "I6"
    case views = "I7"
    case fencing = "I8"
    case liveness = "I9"
    case bounds = "I10"
    case honesty = "I12"
    case restart = "I13"

    public var description: String { rawValue }

    public var sentence: String {
        switch self {
        case .lost: "every answer that a client had is in the journal, at its turn"
        case .phantom: "nothing is in the journal that nobody sent"
        case .order: "each session is in the journal once, in order, without a hole"
        case .replay: "store, replay and the program alone have one state"
        case .early: "no effect ran before its record was durable"
        case .completion: "each effect ran, and was completed once or is dead"
        case .views: "views increase, are those of their turn, and reach the head"
        case .fencing: "starts count up, and no lease is used twice"
        case .liveness: "all work ends when the faults have stopped"
        case .bounds: "memory stays within its limit"
        case .honesty: "no client is told that an outcome is unknown"
        case .restart: "no process ended but by the torment"
        }
    }
}

/// An invariant that does not hold, with what shows it.
public struct Violation: Error, Equatable, Sendable, CustomStringConvertible {
    public let invariant: Invariant
    public let evidence: String

    public var description: String { "\(invariant) \(evidence)" }
}
