public import MessagePack
public import SamovarCore

/// An attempt as a store remembers it, from its answer to `attempts`.
public struct RememberedAttempt: Equatable, Sendable {
    public var effect: EffectID
    /// Among those that count; 255 stands for all beyond.
    public var number: Int
    /// Nil if it is not known any more.
    public var worker: String?
    public var handedOut: Timestamp
    /// When the job told of itself first: it had begun by then.
    public var startedBy: Timestamp?
    /// Nil while it runs.
    public var ended: Timestamp?
    /// How it ended, or `running`.
    public var how = "running"
}

extension RememberedAttempt {
    /// A row of an answer about all effects; nil if it is none.
    public init?(_ row: MessagePackValue) {
        guard case .string(let name)? = row["effect"], let effect = EffectID(named: name), let number = row.natural("attempt"),
            let handedOut = row["handedOut"]?.moment, case .string(let how)? = row["how"]
        else { return nil }
        self.init(
            effect: effect, number: number, worker: row.text("worker"), handedOut: handedOut, startedBy: row["startedBy"]?.moment,
            ended: row["ended"]?.moment, how: how)
    }

    /// Whether it came to nothing that was not wanted.
    public var isFailure: Bool { ["failed", "timed_out", "lost"].contains(how) }
}

extension EffectID {
    /// What is named as `turn/ordinal`; nil if the text is no name.
    package init?(named text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let turn = Int(parts[0]), let ordinal = Int(parts[1]) else { return nil }
        self.init(turn: turn, ordinal: ordinal)
    }
}

extension MessagePackValue {
    /// The time of a timestamp of MessagePack, in its form of eight bytes.
    fileprivate var moment: Timestamp? {
        guard case .extension(type: -1, let bytes) = self, bytes.count == 8 else { return nil }
        let word = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Timestamp(microseconds: Int64(word & (1 << 34 - 1)) * 1_000_000 + Int64(word >> 34) / 1_000)
    }
}
