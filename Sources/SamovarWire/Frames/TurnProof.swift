package import MessagePack
package import SamovarCore

/// Proves to a store that it has told of a turn: a code that only who knows the timeline's secret can make.
///
/// A peer keeps the newest one it was given and shows it in HELLO. A store whose journal ends before that turn has lost its tail. The
/// bare number would let whoever reaches a socket end the store.
public struct TurnProof: Equatable, Sendable {
    public let turn: Int
    /// A keyed hash over timeline and turn.
    public let code: UInt64

    /// A proof as a peer has it.
    public init(turn: Int, code: UInt64) {
        self.turn = turn
        self.code = code
    }

    /// The proof that a store gives.
    package init(of turn: Int, in timeline: Timeline, _ secret: Secret) {
        var hash = KeyedHash(secret)
        // Tokens of jobs are made with the same secret, and begin with the timeline.
        hash.combine(Self.domain)
        hash.combine(timeline.high)
        hash.combine(timeline.low)
        hash.combine(turn)
        self.init(turn: turn, code: hash.finish())
    }

    /// “turnseen”.
    private static let domain: UInt64 = 0x7475_726e_7365_656e
}

extension FrameKind {
    /// A proof may be the last value of the body, for a peer that takes proofs.
    var mayHaveProof: Bool {
        switch self {
        case .welcome, .receipt, .acknowledge, .pong: true
        default: false
        }
    }
}

extension TurnProof {
    /// More than it takes in a body.
    package static let bytes = 20

    /// One value.
    package func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(turn)
        writer.write(code)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(2, of: "the proof of a turn")
        turn = try reader.readInt()
        code = try reader.readUInt64()
    }
}

extension TurnProof? {
    /// Keeps the newer of the two.
    package mutating func keep(_ other: TurnProof?) {
        guard let other, other.turn >= (self?.turn ?? .min) else { return }
        self = other
    }
}
