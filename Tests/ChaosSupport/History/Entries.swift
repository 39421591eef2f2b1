/// What a client did, one line of its history. Every call has an entry when it begins and one when it ends.
public struct Call: Codable, Sendable, Equatable {
    public enum Step: String, Codable, Sendable {
        case called
        /// With its turn.
        case applied, refused
        case rejected, unknown
    }

    /// Milliseconds of the machine's clock since its start.
    public var at: Int
    public var line: Slate.Line
    public var step: Step
    public var turn: Int?
    /// Why, for what is rejected or unknown.
    public var reason: String?

    public init(at: Int, line: Slate.Line, step: Step, turn: Int? = nil, reason: String? = nil) {
        self.at = at
        self.line = line
        self.step = step
        self.turn = turn
        self.reason = reason
    }
}

/// What a worker did, one line of its log. An attempt has an entry when it starts and, unless its worker dies, one when it ends.
public struct Attempt: Codable, Sendable, Equatable {
    public enum Step: String, Codable, Sendable {
        case started, answered, failed
    }

    public var at: Int
    /// The idempotency key: `timeline/turn/ordinal`.
    public var key: String
    public var attempt: Int
    public var job: String
    public var step: Step

    public init(at: Int, key: String, attempt: Int, job: String, step: Step) {
        self.at = at
        self.key = key
        self.attempt = attempt
        self.job = job
        self.step = step
    }
}

/// What a subscriber was shown.
public struct Sighting: Codable, Sendable, Equatable {
    public var at: Int
    public var timeline: String
    public var turn: Int
    public var view: Slate.ViewState

    public init(at: Int, timeline: String, turn: Int, view: Slate.ViewState) {
        self.at = at
        self.timeline = timeline
        self.turn = turn
        self.view = view
    }
}

/// What a crowd of subscribers shows.
public struct CrowdReport: Codable, Sendable, Equatable {
    public let members: Int
    /// How many show the newest view that any of them shows.
    public let showing: Int
    public let view: Slate.ViewState

    public init(members: Int, showing: Int, view: Slate.ViewState) {
        self.members = members
        self.showing = showing
        self.view = view
    }
}

/// How many of a crowd of clients with keys are in.
public struct KeyedCrowdReport: Codable, Sendable, Equatable {
    public let members: Int
    /// How many are welcomed and hear views.
    public let inside: Int
    /// Of those, since when the one is in that came first, by the clock of the machine; 0 if nobody is.
    public let since: Int
    /// Connections that were begun, all together.
    public let attempts: Int
    /// How many of them the store has refused because of their key.
    public let refusals: Int

    public init(members: Int, inside: Int, since: Int, attempts: Int, refusals: Int) {
        self.members = members
        self.inside = inside
        self.since = since
        self.attempts = attempts
        self.refusals = refusals
    }
}
