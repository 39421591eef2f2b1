import DequeModule
public import SamovarCore

/// What a durable client keeps over its own death: its session, and the inputs whose outcome nobody has seen yet.
///
/// It is the sum of its entries. A host writes each entry to a file before it lets anybody rely on it, and adds them up again at
/// the next start. Rejected: a file of the state as a whole, which would be written anew for each input.
public struct ClientOutbox: Equatable, Sendable {
    private struct Kept: Equatable {
        let input: Submission
        var isSeen = false
    }

    public private(set) var session: SessionID
    /// How many processes have used this session.
    public private(set) var openings: Int
    /// The timeline that its numbers belong to; zero before the first WELCOME.
    public private(set) var timeline = Timeline.zero
    /// The newest turn that it was told of, there.
    public private(set) var witness = 0
    /// The newest turn that it can prove to have been told of, there.
    public private(set) var proof: TurnProof?
    private var oldest: Int
    private var kept: Deque<Kept> = []

    public init(session: SessionID, openings: Int = 1, next: Int = 1) {
        self.session = session
        self.openings = openings
        oldest = next
    }

    /// The number of the next input.
    public var next: Int { oldest + kept.count }
    /// Inputs without an outcome that was seen, in order.
    public var inputs: [Submission] { kept.filter { !$0.isSeen }.map(\.input) }
    public var isEmpty: Bool { kept.isEmpty }

    /// For the next process: the same session if there is something left, else another one, because the old one may be over.
    public func reopened(as fresh: SessionID) -> ClientOutbox {
        guard !isEmpty else { return ClientOutbox(session: fresh) }
        var outbox = self
        outbox.openings += 1
        return outbox
    }

    /// Adds an entry.
    ///
    /// - Throws: `WireError` if it cannot follow those before.
    public mutating func add(_ entry: OutboxEntry) throws {
        switch entry {
        case .opened(let session, let openings, let next): self = ClientOutbox(session: session, openings: openings, next: next)
        case .welcomed(let timeline, let head, let proof):
            if self.timeline != .zero, self.timeline != timeline {
                kept.removeAll()
                oldest = 1
                witness = 0
                self.proof = nil
            }
            self.timeline = timeline
            witness = max(witness, head)
            self.proof.keep(proof)
        case .input(let input):
            guard input.sequence == next else { throw WireError.malformed("input \(input.sequence) where \(next) is next") }
            kept.append(Kept(input: input))
        case .seen(let sequence):
            guard sequence >= oldest, sequence < next else { return }
            kept[sequence - oldest].isSeen = true
            while kept.first?.isSeen == true {
                kept.removeFirst()
                oldest += 1
            }
        }
    }

    /// The fewest entries that add up to this.
    public var entries: [OutboxEntry] {
        var entries = [OutboxEntry.opened(session: session, openings: openings, next: oldest)]
        if timeline != .zero { entries.append(.welcomed(timeline, head: witness, proof: proof)) }
        entries += kept.map { .input($0.input) }
        entries += kept.filter(\.isSeen).map { .seen(sequence: $0.input.sequence) }
        return entries
    }
}

/// One step of an outbox.
public enum OutboxEntry: Equatable, Sendable {
    /// A process opened it, with nothing but what follows.
    case opened(session: SessionID, openings: Int, next: Int)
    /// The store said WELCOME. Another timeline than before voids all inputs.
    case welcomed(Timeline, head: Int, proof: TurnProof? = nil)
    /// An input was accepted; from here on it will be sent.
    case input(Submission)
    /// The outcome of this input was seen by whoever sent it.
    case seen(sequence: Int)
}
