package import MessagePack
public import SamovarCore

/// One input of a client, with its number in the session.
public struct Submission: Equatable, Sendable {
    public var sequence: Int
    public var instance: Instance
    /// The input in MessagePack.
    public var input: [UInt8]
    /// If it is applied, the session ends with it; a flag of the header, for the last one of a frame.
    public var endsSession: Bool

    public init(sequence: Int, instance: Instance = .main, input: [UInt8], endsSession: Bool = false) {
        self.sequence = sequence
        self.instance = instance
        self.input = input
        self.endsSession = endsSession
    }

    package func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(3)
        writer.write(sequence)
        writer.write(instance)
        writer.writeBinary(input)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(3, of: "a submission")
        sequence = try reader.readInt()
        instance = try reader.readInstance()
        input = try reader.readBinary()
        endsSession = false
    }
}

/// What became of one input.
public struct Outcome: Equatable, Sendable {
    public enum Verdict: Equatable, Sendable {
        /// `update` was called; the turn is on disk.
        case applied
        /// `accept` refused it; the program's refusal in MessagePack, at most `refusalLimit` bytes.
        case refused([UInt8])
        /// It could not be read as an input of this program, or a gate rejected it: the reason in at most 1,000 characters.
        case rejected(String)

        /// The bytes of a program's refusal. It is kept until its client confirms it.
        public static let refusalLimit = 64 << 10
    }

    public var sequence: Int
    public var turn: Int
    public var verdict: Verdict

    public init(sequence: Int, turn: Int, verdict: Verdict) {
        self.sequence = sequence
        self.turn = turn
        self.verdict = verdict
    }

    package func write(to writer: inout MessagePackWriter) {
        writer.writeShort(3) {
            $0.writeArrayHeader(4)
            $0.write(sequence)
            $0.write(turn)
        }
        verdict.write(to: &writer)
    }

    package init(from reader: inout MessagePackReader) throws {
        try reader.readFields(4, of: "an outcome")
        sequence = try reader.readInt()
        turn = try reader.readInt()
        verdict = try Verdict(from: &reader)
    }
}

extension Outcome {
    /// The same with a bounded text.
    package var bounded: Self { Outcome(sequence: sequence, turn: turn, verdict: verdict.bounded) }
}

extension Outcome.Verdict {
    /// The same with a bounded text: it is kept until its client confirms it, and must not repeat the whole input.
    package var bounded: Self {
        if case .rejected(let text) = self { .rejected(text.bounded()) } else { self }
    }

    /// What becomes of an input that `accept` refuses with these bytes.
    package init(refusal bytes: [UInt8]) {
        let isShort = bytes.count <= Self.refusalLimit
        self = isShort ? .refused(bytes) : .rejected("refused, with a reason of \(bytes.count) bytes; \(Self.refusalLimit) at most")
    }

    /// Two values: a number for the case, and what belongs to it.
    func write(to writer: inout MessagePackWriter) {
        switch self {
        case .applied:
            writer.writeShort(2) {
                $0.write(0)
                $0.writeNil()
            }
        case .refused(let bytes):
            writer.write(1)
            writer.writeBinary(bytes)
        case .rejected(let text):
            writer.write(2)
            writer.write(text)
        }
    }

    package init(from reader: inout MessagePackReader) throws {
        let number = try reader.readInt()
        switch number {
        case 0:
            guard try reader.readNil() else { throw WireError.malformed("an applied outcome carries nothing") }
            self = .applied
        case 1: self = .refused(try reader.readBinary())
        case 2: self = .rejected(try reader.readString())
        default: throw WireError.malformed("unknown verdict \(number)")
        }
    }
}
