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
