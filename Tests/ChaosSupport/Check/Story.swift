import Journal
import JournalChain
import MessagePack
package import PostgreSQLJournal
import SQLiteJournal
public import SamovarCore
public import SamovarWire

/// The journal, which says what happened and in which order: all else is compared with it.
public struct Story: Sendable {
    public var timeline: Timeline
    public var secret: Secret
    public var records: [Record]
    /// Whether the number of a start is an epoch: a store that takes a journal and dies at once leaves a gap.
    public var startsMayHaveGaps = false

    public init(timeline: Timeline, secret: Secret, records: [Record]) {
        self.timeline = timeline
        self.secret = secret
        self.records = records
    }

    /// Reads the journal of a store that is not running, and verifies its chain.
    public init(dataFolder: String) throws {
        let journal = try SQLiteJournal(at: dataFolder, access: .readOnly)
        try self.init(journal)
        try journal.close()
    }

    /// Reads a journal in PostgreSQL, and verifies its chain.
    package init(at place: PostgreSQLPlace) throws {
        let journal = try PostgreSQLJournal(at: place, access: .readOnly)
        try self.init(journal)
        startsMayHaveGaps = true
        try journal.close()
    }

    private init(_ journal: some Journal) throws {
        timeline = UniqueID(try Self.words(journal, "timeline"))
        secret = Secret(try Self.words(journal, "secret"))
        records = []
        var read: [Record] = []
        try journal.read(from: 1) { batch in
            try RecordBatch.read(first: batch.first, last: batch.last, bytes: batch.bytes) { read.append($0) }
        }
        records = read
    }

    public struct Unreadable: Error, CustomStringConvertible {
        public let description: String
    }

    private static func words(_ journal: some Journal, _ fact: String) throws -> (UInt64, UInt64) {
        guard let bytes = try journal.fact(fact), bytes.count == 16 else {
            throw Unreadable(description: "the journal has no \(fact)")
        }
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return (word(bytes[..<8]), word(bytes[8...]))
    }
}

extension UniqueID {
    fileprivate init(_ words: (UInt64, UInt64)) { self.init(high: words.0, low: words.1) }
}

extension Secret {
    fileprivate init(_ words: (UInt64, UInt64)) { self.init(high: words.0, low: words.1) }
}

/// What the checker needs to know of a story: computed by calling the program alone, with nothing of the store but its records.
public struct Plot: Sendable {
    public struct Written: Sendable {
        public let turn: Int
        public let line: Slate.Line
    }

    public struct Order: Sendable {
        public let effect: EffectID
        public let job: String
        /// The turns of the records that closed it.
        public var closings: [Int] = []
        /// What its worker answered, in turns.
        public var answers: [Int] = []
        public var isDead = false
        public var endedBy = ""
    }

    /// Every line that was applied, in order.
    public var written: [Written] = []
    /// The turns of inputs that were refused, with their session.
    public var refused: [Int: SessionID] = [:]
    public var orders: [EffectID: Order] = [:]
    /// The numbers of each session, in the order of the journal.
    public var sequences: [SessionID: [Int]] = [:]
    /// The session that wrote a column.
    public var sessions: [String: Set<SessionID>] = [:]
    public var starts: [Int] = []
    /// The leases under which answers came, with the number of the start in which they did.
    public var leases: [(lease: Lease, effect: EffectID, start: Int)] = []
    /// The views at the turns that were asked for, and at the last.
    public var views: [Int: Slate.ViewState] = [:]
    public var state = Slate.State()
    public var head = 0
    /// Records that tell of nothing that was ever ordered, in words.
    public var strays: [String] = []

    /// - Throws: what the decoding of a message throws.
    public init(_ story: Story, viewsAt turns: Set<Int>) throws {
        for record in story.records {
            if record.turn != head + 1 { strays.append("turn \(record.turn) comes after turn \(head)") }
            head = record.turn
            try take(record, story.secret)
            if turns.contains(head) { views[head] = Slate.view(state).bare }
        }
        views[head] = Slate.view(state).bare
    }

    private mutating func take(_ record: Record, _ secret: Secret) throws {
        if case .client(let session, let sequence) = record.origin, !record.endsSession {
            sequences[session, default: []].append(sequence)
        }
        switch record.event {
        case .started(let number, _, _, _): starts.append(number)
        case .applied(let bytes, _, let closes):
            let message = try MessagePackDecoder().decode(Slate.Message.self, from: bytes)
            let turn = Turn(number: record.turn, now: record.time, origin: record.origin, secret: secret)
            let command = Slate.update(&state, message, turn)
            note(message, of: record)
            note(command, at: record.turn)
            noteOrigin(of: record, closes: closes)
        case .refused:
            if case .client(let session, _) = record.origin { refused[record.turn] = session }
        case .done(let effect): close(effect, at: record.turn, by: "done")
        case .dead(let effect, let failure):
            close(effect, at: record.turn, by: "dead: \(failure)")
            orders[effect]?.isDead = true
        case .dropped(let effect): close(effect, at: record.turn, by: "dropped")
        // A kind of record that the torment does not cause, or that says nothing about lines and jobs.
        default: break
        }
    }

    private mutating func note(_ message: Slate.Message, of record: Record) {
        guard case .written(let line) = message else { return }
        written.append(Written(turn: record.turn, line: line.bare))
        guard case .client(let session, _) = record.origin else {
            strays.append("turn \(record.turn) writes \(line.name) and came from no client")
            return
        }
        sessions[line.column, default: []].insert(session)
    }

    private mutating func note(_ command: Command<Slate>, at turn: Int) {
        for (ordinal, order) in command.enumerated() {
            guard case .run(.run(let job, _), _) = order else { continue }
            let effect = EffectID(turn: turn, ordinal: ordinal)
            orders[effect] = Order(effect: effect, job: job)
        }
    }

    private mutating func noteOrigin(of record: Record, closes: Bool) {
        switch record.origin {
        case .effect(let effect, let lease, _):
            leases.append((lease, effect, starts.last ?? 0))
            orders[effect]?.answers.append(record.turn)
            if closes { close(effect, at: record.turn, by: "answered") }
        case .failure(let effect): close(effect, at: record.turn, by: "failed")
        default: break
        }
    }

    private mutating func close(_ effect: EffectID, at turn: Int, by what: String) {
        guard orders[effect] != nil else {
            strays.append("turn \(turn) closes effect \(effect), which nobody ordered (\(what))")
            return
        }
        orders[effect]?.closings.append(turn)
        orders[effect]?.endedBy = what
    }
}

extension Record {
    /// A client has said goodbye: the number is that of its last input, which has a record of its own.
    fileprivate var endsSession: Bool {
        if case .sessionExpired = event { true } else { false }
    }
}
