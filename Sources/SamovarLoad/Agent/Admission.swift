/// Lets the clients and subscribers of an agent connect a few at a time.
///
/// The idea: a thousand that greet the store together all wait for the last of them, give up, and greet again; and an agent that opens a
/// thousand sockets in one go says nothing meanwhile, so that it is taken for dead. Each WELCOME makes room for the next, so the store sets
/// the pace. Rejected: a pause between two of them, which is too short for a busy machine and too long for an idle one.
///
/// Limits: 64 that greet at a time, 16 more in a round of the host's loop.
public struct Admission: Equatable, Sendable {
    static let greeting = 64
    static let inRound = 16

    private let total: Int
    /// How many may connect: the first of them, in their order.
    public private(set) var count = 0

    public init(of total: Int) {
        self.total = total
    }

    /// To be called in each round with how many the store has welcomed, until these are all.
    public mutating func advance(connected: Int) {
        count = max(count, min(total, count + Self.inRound, connected + Self.greeting))
    }
}
