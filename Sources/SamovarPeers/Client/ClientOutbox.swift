import DequeModule
import MessagePack
public import SamovarCore
public import SamovarWire

/// What a durable client keeps over its own death: its session, and the inputs whose outcome nobody has seen yet.
///
/// It is the sum of its entries. A host writes each entry to a file before it lets anybody rely on it, and adds them up again at
/// the next start. Rejected: a file of the state as a whole, which would be written anew for each input.
public struct ClientOutbox: Equatable, Sendable {
    public private(set) var session: SessionID
    /// How many processes have used this session.
    public private(set) var openings: Int
    /// The timeline that its numbers belong to; zero before the first WELCOME.
    public private(set) var timeline = Timeline.zero
    /// The newest turn that it was told of, there.
    public private(set) var witness = 0
    /// The newest turn that it can prove to have been told of, there.
    public private(set) var proof: TurnProof?
    /// The greatest start number of a store that has welcomed it, there; 0 if none has said one.
    public private(set) var start = 0
    private var oldest: Int
    /// The inputs from the oldest unseen one on; nil for one that was seen, of which nobody needs more than its number.
    private var kept: Deque<Submission?> = []

    public init(session: SessionID, openings: Int = 1, next: Int = 1) {
        self.session = session
        self.openings = openings
        oldest = next
    }

    /// The number of the next input.
    public var next: Int { oldest + kept.count }
    /// Inputs without an outcome that was seen, in order.
    public var inputs: [Submission] { kept.compactMap { $0 } }
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
        case .welcomed(let timeline, let head, let proof, let start):
            if self.timeline != .zero, self.timeline != timeline { self = ClientOutbox(session: session, openings: openings) }
            self.timeline = timeline
            witness = max(witness, head)
            self.proof.keep(proof)
            self.start = max(self.start, start)
        case .input(let input):
            guard input.sequence == next else { throw WireError.malformed("input \(input.sequence) where \(next) is next") }
            kept.append(input)
        case .seen(let sequence):
            guard sequence >= oldest, sequence < next else { return }
            kept[sequence - oldest] = nil
            while !kept.isEmpty, kept[0] == nil {
                kept.removeFirst()
                oldest += 1
            }
        }
    }

    /// The fewest entries that add up to this. Numbers have no holes, so an input that was seen stands there without its bytes.
    public var entries: [OutboxEntry] {
        var entries = [OutboxEntry.opened(session: session, openings: openings, next: oldest)]
        if timeline != .zero { entries.append(.welcomed(timeline, head: witness, proof: proof, start: start)) }
        entries += kept.enumerated().map { .input($1 ?? Submission(sequence: oldest + $0, input: [])) }
        entries += kept.indices.filter { kept[$0] == nil }.map { .seen(sequence: oldest + $0) }
        return entries
    }
}

/// One step of an outbox.
public enum OutboxEntry: Equatable, Sendable {
    /// A process opened it, with nothing but what follows.
    case opened(session: SessionID, openings: Int, next: Int)
    /// The store said WELCOME. Another timeline than before voids all inputs.
    case welcomed(Timeline, head: Int, proof: TurnProof? = nil, start: Int = 0)
    /// An input was accepted; from here on it will be sent.
    case input(Submission)
    /// The outcome of this input was seen by whoever sent it.
    case seen(sequence: Int)
}

/// Entries in a file, one after the other: the length of the body in 4 bytes, a checksum over it in 8, and the body, a
/// MessagePack array; behind that of a WELCOME the proof that it brought, and behind a proof the start number. Numbers of the frame are big-endian.
extension OutboxEntry {
    static let format = 1
    static let headerBytes = 12

    /// The entry as it is written.
    public var bytes: [UInt8] {
        var writer = MessagePackWriter()
        switch self {
        case .opened(let session, let openings, let next):
            writer.writeArrayHeader(5)
            writer.write(1)
            writer.write(Self.format)
            writer.write(session)
            writer.write(openings)
            writer.write(next)
        case .welcomed(let timeline, let head, let proof, let start):
            writer.writeArrayHeader(3)
            writer.write(2)
            writer.write(timeline)
            writer.write(head)
            // Behind the array, where earlier builds do not look.
            if let proof {
                proof.write(to: &writer)
                if start != 0 { writer.write(start) }
            }
        case .input(let input):
            writer.writeArrayHeader(4)
            writer.write(3)
            writer.write(input.sequence)
            writer.write(input.instance)
            writer.writeBinary(input.input)
        case .seen(let sequence):
            writer.writeArrayHeader(2)
            writer.write(4)
            writer.write(sequence)
        }
        let body = writer.bytes
        var bytes: [UInt8] = []
        bytes.append(bigEndian: UInt32(truncatingIfNeeded: body.count))
        bytes.append(bigEndian: Self.checksum(body[...]))
        return bytes + body
    }

    fileprivate init(from body: ArraySlice<UInt8>) throws {
        var reader = MessagePackReader(Array(body))
        let fields = try reader.readArrayHeader()
        let kind = try reader.readInt()
        switch (kind, fields) {
        case (1, 5):
            let format = try reader.readInt()
            guard format == Self.format else { throw WireError.malformed("an outbox of format \(format)") }
            self = .opened(session: try reader.readID(), openings: try reader.readCount(), next: try reader.readCount())
        case (2, 3):
            let (timeline, head) = (try reader.readID(), try reader.readCount())
            let proof = reader.isAtEnd ? nil : try TurnProof(from: &reader)
            self = .welcomed(timeline, head: head, proof: proof, start: reader.isAtEnd ? 0 : try reader.readCount())
        case (3, 4):
            self = .input(
                Submission(
                    sequence: try reader.readCount(), instance: try reader.readInstance(), input: try reader.readBinary()))
        case (4, 2): self = .seen(sequence: try reader.readCount())
        default: throw WireError.malformed("unknown entry \(kind) of \(fields) fields")
        }
    }

    fileprivate static func checksum(_ body: ArraySlice<UInt8>) -> UInt64 {
        var hash = KeyedHash(Secret(high: 0x6f75_7462, low: 0x6f78))
        hash.combine(Array(body))
        return hash.finish()
    }
}

extension ClientOutbox {
    /// The outbox of a file; nil if there is no whole entry in it.
    ///
    /// The last write before a crash may be there in part: what is cut off at the end, or zero to the end, was never relied on and
    /// is left out.
    ///
    /// - Throws: `WireError` if an entry that is whole cannot be read; it says where the file is damaged.
    public init?(file bytes: [UInt8]) throws {
        var outbox: ClientOutbox?
        var place = 0
        while bytes.count - place >= OutboxEntry.headerBytes {
            let length = Int(bytes[place..<place + 4].bigEndian)
            let end = place + OutboxEntry.headerBytes + length
            if length == 0 || end > bytes.count { break }
            let body = bytes[place + OutboxEntry.headerBytes..<end]
            guard OutboxEntry.checksum(body) == bytes[place + 4..<place + OutboxEntry.headerBytes].bigEndian else {
                if end == bytes.count { break }
                throw WireError.malformed("the entry at byte \(place) is damaged")
            }
            let entry = try OutboxEntry(from: body)
            if outbox == nil {
                guard case .opened(let session, _, _) = entry else { throw Self.noBeginning }
                outbox = ClientOutbox(session: session)
            }
            try outbox?.add(entry)
            place = end
        }
        guard let outbox else {
            // A whole entry is there before the file has its name. What is in any other one is somebody else's.
            guard bytes.allSatisfy({ $0 == 0 }) else { throw Self.noBeginning }
            return nil
        }
        self = outbox
    }

    private static var noBeginning: WireError { .malformed("it does not begin like an outbox") }
}
