public import SamovarWire

/// What a client was told of its inputs, as a few bytes for each: the evidence of a session.
///
/// An entry is two numbers of variable length: the step of the sequence number with the verdict, and the step of the turn. Both steps are
/// small as long as the store keeps its promises, and any value when it does not.
public struct SessionLedger: Equatable, Sendable {
    /// What an input came to.
    public enum Verdict: UInt8, Sendable {
        case applied, refused, rejected
        /// The client was told that nobody can know.
        case unknown

        public init(_ verdict: Outcome.Verdict) {
            switch verdict {
            case .applied: self = .applied
            case .refused: self = .refused
            case .rejected: self = .rejected
            }
        }
    }

    public struct Entry: Equatable, Sendable {
        public let sequence: Int
        public let turn: Int
        public let verdict: Verdict
    }

    public private(set) var bytes: [UInt8] = []
    private var sequence = 0
    private var turn = 0

    public init() {}

    public mutating func append(_ sequence: Int, turn: Int, _ verdict: Verdict) {
        write(Self.folded(sequence - self.sequence - 1) << 2 | UInt64(verdict.rawValue))
        write(Self.folded(turn - self.turn))
        self.sequence = sequence
        self.turn = turn
    }

    private mutating func write(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    /// Small numbers of either sign become small numbers.
    private static func folded(_ number: Int) -> UInt64 {
        UInt64(bitPattern: Int64(number << 1 ^ number >> (Int.bitWidth - 1)))
    }

    private static func unfolded(_ number: UInt64) -> Int {
        Int(truncatingIfNeeded: number >> 1) ^ -Int(truncatingIfNeeded: number & 1)
    }

    /// Bytes that no ledger has written.
    public struct Malformed: Error, Equatable, Sendable, CustomStringConvertible {
        public var description: String { "an agent's account of a session is malformed" }
    }

    /// Hands over the entries in the order in which the client was told.
    public static func read(_ bytes: [UInt8], _ body: (Entry) throws -> Void) throws {
        var rest = bytes[...]
        var sequence = 0
        var turn = 0
        while !rest.isEmpty {
            let first = try number(&rest)
            guard let verdict = Verdict(rawValue: UInt8(first & 3)) else { throw Malformed() }
            sequence = try sum(sequence, unfolded(first >> 2), 1)
            turn = try sum(turn, unfolded(try number(&rest)))
            try body(Entry(sequence: sequence, turn: turn, verdict: verdict))
        }
    }

    private static func sum(_ numbers: Int...) throws(Malformed) -> Int {
        var sum = 0
        for number in numbers {
            let (next, overflow) = sum.addingReportingOverflow(number)
            guard !overflow else { throw Malformed() }
            sum = next
        }
        return sum
    }

    private static func number(_ rest: inout ArraySlice<UInt8>) throws(Malformed) -> UInt64 {
        var result: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = rest.popFirst() else { throw Malformed() }
            result |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return result }
        }
        throw Malformed()
    }
}
