public import MessagePack
public import SamovarCore

/// What a follower asks: the batches behind a turn, or where to begin.
public struct FollowRequest: Equatable, Sendable {
    /// The newest turn that the follower has, and of which timeline; nil for one that has none.
    public struct Place: Equatable, Sendable {
        public var timeline: Timeline
        public var turn: Int

        public init(timeline: Timeline, turn: Int) {
            (self.timeline, self.turn) = (timeline, turn)
        }
    }

    public var after: Place?
    /// The newest digest with which it has compared its state; 0 for none.
    public var compared: Int

    public init(after: Place? = nil, compared: Int = 0) {
        (self.after, self.compared) = (after, compared)
    }

    static let verb = "follow"
    static let arguments = ["timeline", "after", "compared"]

    /// As arguments of a request.
    public var value: MessagePackValue {
        guard let after else { return .nil }
        return ["timeline": .string("\(after.timeline)"), "after": .number(after.turn), "compared": .number(compared)]
    }

    init(_ value: MessagePackValue) throws(AdminRefusal) {
        guard value["timeline"] != nil || value["after"] != nil || value["compared"] != nil else {
            self.init()
            return
        }
        guard case .string(let text)? = value["timeline"], let timeline = Timeline(text), let turn = value.natural("after"),
            let compared = value.natural("compared") ?? (value["compared"] == nil ? 0 : nil)
        else { throw AdminRefusal(text: "follow takes nothing, or a timeline, after, a turn of it, and compared, another") }
        self.init(after: Place(timeline: timeline, turn: turn), compared: compared)
    }
}

/// A batch of the journal, as it is on disk.
public struct FollowedBatch: Equatable, Sendable {
    public var first: Int
    public var last: Int
    public var bytes: [UInt8]

    public init(first: Int, last: Int, bytes: [UInt8]) {
        (self.first, self.last, self.bytes) = (first, last, bytes)
    }
}

/// Where a follower can begin: with one of the snapshots, or with turn 1 if the journal has it.
public struct FollowBeginning: Equatable, Sendable {
    /// The identity of the journal, which its snapshots name.
    public var journal: UniqueID
    /// The first turn that is kept.
    public var first: Int
    /// Their turns, newest first.
    public var snapshots: [Int]

    public init(journal: UniqueID, first: Int, snapshots: [Int]) {
        (self.journal, self.first, self.snapshots) = (journal, first, snapshots)
    }
}

/// What the host of a store has found on disk for a follower.
public enum FollowAnswer: Equatable, Sendable {
    case beginning(FollowBeginning)
    /// At least one, if there is one.
    case batches([FollowedBatch])
    /// What follows that turn is not kept any more.
    case trimmed
    case failed(String)
}

/// What a store says to a follower.
public struct FollowReply: Equatable, Sendable {
    public enum Content: Equatable, Sendable {
        /// Begin here, with the program and the secret of the timeline.
        case beginning(FollowBeginning, schema: Schema, secret: Secret)
        case batches([FollowedBatch])
        /// What the follower has leads nowhere: begin anew.
        case anew(Reason)
    }

    /// Why a follower has to begin anew.
    public enum Reason: String, Sendable {
        /// The store has another timeline by now.
        case timeline
        /// What follows the turn is not kept any more.
        case trimmed
        /// The journal has no such turn.
        case ahead
    }

    public var timeline: Timeline
    /// Names the build of the store.
    public var build: String
    /// The newest turn on disk.
    public var head: Int
    public var content: Content

    public init(timeline: Timeline, build: String, head: Int, _ content: Content) {
        (self.timeline, self.build, self.head, self.content) = (timeline, build, head, content)
    }

    /// As the value of a reply.
    public var value: MessagePackValue {
        var pairs: [MessagePackPair] = [
            MessagePackPair("timeline", .string("\(timeline)")), MessagePackPair("build", .string(build)),
            MessagePackPair("turn", .number(head)),
        ]
        switch content {
        case .beginning(let beginning, let schema, let secret):
            pairs += [
                MessagePackPair("program", .string(schema.name)),
                MessagePackPair("schema", .number(schema.version)),
                MessagePackPair("secret", .string("\(UniqueID(high: secret.high, low: secret.low))")),
                MessagePackPair("journal", .string("\(beginning.journal)")),
                MessagePackPair("first", .number(beginning.first)),
                MessagePackPair("snapshots", .array(beginning.snapshots.map { .number($0) })),
            ]
        case .batches(let batches):
            let list = batches.map { MessagePackValue.array([.number($0.first), .number($0.last), .binary($0.bytes)]) }
            pairs.append(MessagePackPair("batches", .array(list)))
        case .anew(let reason): pairs.append(MessagePackPair("anew", .string(reason.rawValue)))
        }
        return .map(pairs)
    }

    /// Nil for what is no such reply.
    public init?(_ value: MessagePackValue) {
        guard let timeline = value.id("timeline"), case .string(let build)? = value["build"], let head = value.natural("turn"),
            let content = Content(value)
        else { return nil }
        self.init(timeline: timeline, build: build, head: head, content)
    }
}

extension FollowReply.Content {
    fileprivate init?(_ value: MessagePackValue) {
        if case .string(let text)? = value["anew"] {
            guard let reason = FollowReply.Reason(rawValue: text) else { return nil }
            self = .anew(reason)
        } else if case .array(let list)? = value["batches"] {
            var batches: [FollowedBatch] = []
            for case .array(let parts) in list {
                guard parts.count == 3, let first = parts[0].natural, let last = parts[1].natural, first > 0, last >= first,
                    case .binary(let bytes) = parts[2]
                else { return nil }
                batches.append(FollowedBatch(first: first, last: last, bytes: bytes))
            }
            guard batches.count == list.count else { return nil }
            self = .batches(batches)
        } else {
            guard case .string(let program)? = value["program"], let version = value.natural("schema"),
                let key = value.id("secret"), let journal = value.id("journal"), let first = value.natural("first"),
                case .array(let turns)? = value["snapshots"]
            else { return nil }
            let snapshots = turns.compactMap(\.natural)
            guard snapshots.count == turns.count else { return nil }
            self = .beginning(
                FollowBeginning(journal: journal, first: first, snapshots: snapshots),
                schema: Schema(name: program, version: version), secret: Secret(high: key.high, low: key.low))
        }
    }
}

extension MessagePackValue {
    fileprivate var natural: Int? {
        guard case .int(let number) = self, number >= 0 else { return nil }
        return Int(number)
    }

    fileprivate func natural(_ key: String) -> Int? { self[key]?.natural }

    fileprivate func id(_ key: String) -> UniqueID? {
        guard case .string(let text)? = self[key] else { return nil }
        return UniqueID(text)
    }
}
