public import MessagePack
public import SamovarCore
import SamovarWire

/// What somebody asks who reads the journal of a running store: the batches behind a turn, or where to begin.
public struct HistoryRequest: Equatable, Sendable {
    /// The newest turn that the asker has, and of which timeline; nil for one that has none.
    public struct Place: Equatable, Sendable {
        public var timeline: Timeline
        public var turn: Int

        public init(timeline: Timeline, turn: Int) {
            (self.timeline, self.turn) = (timeline, turn)
        }
    }

    public var after: Place?
    /// Of one who follows, and compares: the newest digest with which it has compared its state, 0 for none. Nil of one who only reads.
    public var compared: Int?

    public init(after: Place? = nil, compared: Int? = nil) {
        (self.after, self.compared) = (after, compared)
    }

    package static let verb = "history"
    static let arguments = ["timeline", "after", "compared"]

    /// As arguments of a request.
    public var value: MessagePackValue {
        var value: MessagePackValue = [:]
        value["timeline"] = after.map { .string("\($0.timeline)") }
        value["after"] = after.map { .number($0.turn) }
        value["compared"] = compared.map { .number($0) }
        return value == [:] ? .nil : value
    }

    init(_ value: MessagePackValue) throws(AdminRefusal) {
        let misfit = AdminRefusal(
            text: "history takes a timeline and after, a turn of it, or neither, and compared, a turn, or not")
        let compared = value.natural("compared")
        guard compared != nil || value["compared"] == nil else { throw misfit }
        guard value["timeline"] != nil || value["after"] != nil else {
            self.init(compared: compared)
            return
        }
        guard case .string(let text)? = value["timeline"], let timeline = Timeline(text), let turn = value.natural("after") else {
            throw misfit
        }
        self.init(after: Place(timeline: timeline, turn: turn), compared: compared)
    }
}

/// A batch of the journal, as it is on disk.
public struct HistoryBatch: Equatable, Sendable {
    public var first: Int
    public var last: Int
    public var bytes: [UInt8]

    public init(first: Int, last: Int, bytes: [UInt8]) {
        (self.first, self.last, self.bytes) = (first, last, bytes)
    }
}

/// Where a reader can begin: with one of the snapshots, or with turn 1 if the journal has it.
public struct HistoryBeginning: Equatable, Sendable {
    /// The identity of the journal, which its snapshots name.
    public var journal: UniqueID
    /// The first turn that is kept.
    public var first: Int
    /// Their turns, newest first.
    public var snapshots: [Int]
    /// Which turn of which timeline this one goes on from, for a person.
    public var ancestor: String?
    /// The digest to which the first batch that is kept is chained.
    public var anchor: [UInt8]
    /// Of the timeline, in MessagePack.
    public var seed: [UInt8]?

    public init(
        journal: UniqueID, first: Int, snapshots: [Int], ancestor: String? = nil, anchor: [UInt8] = [], seed: [UInt8]? = nil
    ) {
        (self.journal, self.first, self.snapshots) = (journal, first, snapshots)
        (self.ancestor, self.anchor, self.seed) = (ancestor, anchor, seed)
    }
}

/// What a store says of its journal.
public struct HistoryReply: Equatable, Sendable {
    public enum Content: Equatable, Sendable {
        /// Begin here, with the program and the secret of the timeline.
        case beginning(HistoryBeginning, schema: Schema, secret: Secret)
        /// At least one, if there is one.
        case batches([HistoryBatch])
        /// What the asker has leads nowhere: begin anew.
        case anew(Reason)
        /// What follows is not what was written, or cannot be read, and why.
        case damaged(String)
    }

    /// Why a reader has to begin anew.
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
        var value: MessagePackValue = ["timeline": .string("\(timeline)"), "build": .string(build), "turn": .number(head)]
        switch content {
        case .beginning(let beginning, let schema, let secret):
            value["program"] = .string(schema.name)
            value["schema"] = .number(schema.version)
            value["secret"] = .string("\(UniqueID(high: secret.high, low: secret.low))")
            value["journal"] = .string("\(beginning.journal)")
            value["first"] = .number(beginning.first)
            value["snapshots"] = .array(beginning.snapshots.map { .number($0) })
            value["anchor"] = .binary(beginning.anchor)
            value["seed"] = beginning.seed.map { .binary($0) }
            value["ancestor"] = beginning.ancestor.map { .string($0) }
        case .batches(let batches):
            value["batches"] = .array(batches.map { .array([.number($0.first), .number($0.last), .binary($0.bytes)]) })
        case .anew(let reason): value["anew"] = .string(reason.rawValue)
        case .damaged(let why): value["damaged"] = .string(why)
        }
        return value
    }

    /// Nil for what is no such reply.
    public init?(_ value: MessagePackValue) {
        guard let timeline = value.id("timeline"), case .string(let build)? = value["build"], let head = value.natural("turn"),
            let content = Content(value)
        else { return nil }
        self.init(timeline: timeline, build: build, head: head, content)
    }
}

extension HistoryReply.Content {
    fileprivate init?(_ value: MessagePackValue) {
        if case .string(let text)? = value["anew"] {
            guard let reason = HistoryReply.Reason(rawValue: text) else { return nil }
            self = .anew(reason)
        } else if case .string(let why)? = value["damaged"] {
            self = .damaged(why)
        } else if case .array(let list)? = value["batches"] {
            var batches: [HistoryBatch] = []
            for case .array(let parts) in list {
                guard parts.count == 3, let first = parts[0].natural, let last = parts[1].natural, first > 0, last >= first,
                    case .binary(let bytes) = parts[2]
                else { return nil }
                batches.append(HistoryBatch(first: first, last: last, bytes: bytes))
            }
            guard batches.count == list.count else { return nil }
            self = .batches(batches)
        } else {
            guard case .string(let program)? = value["program"], let version = value.natural("schema"),
                let key = value.id("secret"), let journal = value.id("journal"), let first = value.natural("first"),
                case .array(let turns)? = value["snapshots"], case .binary(let anchor)? = value["anchor"]
            else { return nil }
            let snapshots = turns.compactMap(\.natural)
            guard snapshots.count == turns.count else { return nil }
            var seed: [UInt8]?
            if case .binary(let bytes)? = value["seed"] { seed = bytes }
            self = .beginning(
                HistoryBeginning(
                    journal: journal, first: first, snapshots: snapshots, ancestor: value.text("ancestor"), anchor: anchor,
                    seed: seed),
                schema: Schema(name: program, version: version), secret: Secret(high: key.high, low: key.low))
        }
    }
}

extension MessagePackValue {
    fileprivate var natural: Int? {
        guard case .int(let number) = self, number >= 0 else { return nil }
        return Int(number)
    }

    func natural(_ key: String) -> Int? { self[key]?.natural }

    func text(_ key: String) -> String? { if case .string(let text)? = self[key] { text } else { nil } }

    fileprivate func id(_ key: String) -> UniqueID? { text(key).flatMap { UniqueID($0) } }
}
