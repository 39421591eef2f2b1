import MessagePack
import SamovarCore

/// Entries in a file, one after the other: the length of the body in 4 bytes, a checksum over it in 8, and the body, a
/// MessagePack array, with a proof behind it if a WELCOME brought one. Numbers of the frame are big-endian.
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
        case .welcomed(let timeline, let head, let proof):
            writer.writeArrayHeader(3)
            writer.write(2)
            writer.write(timeline)
            writer.write(head)
            // Behind the array, where earlier builds do not look.
            proof?.write(to: &writer)
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
        return Self.bytes(of: UInt64(body.count), 4) + Self.bytes(of: Self.checksum(body[...]), 8) + body
    }

    private init(from body: ArraySlice<UInt8>) throws {
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
            self = .welcomed(timeline, head: head, proof: reader.isAtEnd ? nil : try TurnProof(from: &reader))
        case (3, 4):
            self = .input(
                Submission(
                    sequence: try reader.readCount(), instance: try reader.readInstance(), input: try reader.readBinary()))
        case (4, 2): self = .seen(sequence: try reader.readCount())
        default: throw WireError.malformed("unknown entry \(kind) of \(fields) fields")
        }
    }

    private static func bytes(of number: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> (8 * UInt64(count - 1 - $0))) }
    }

    private static func checksum(_ body: ArraySlice<UInt8>) -> UInt64 {
        var hash = KeyedHash(Secret(high: 0x6f75_7462, low: 0x6f78))
        hash.combine(Array(body))
        return hash.finish()
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }

    /// Reads the entries of a file.
    ///
    /// The last write before a crash may be there in part: what is cut off at the end, or zero to the end, was never relied on and
    /// is left out.
    ///
    /// - Returns: the outbox, and how many bytes of the file are good; nil for a file without a whole entry.
    /// - Throws: `WireError` if an entry that is whole cannot be read.
    static func read(_ bytes: [UInt8]) throws -> (outbox: ClientOutbox, good: Int)? {
        var outbox: ClientOutbox?
        var place = 0
        while bytes.count - place >= headerBytes {
            let length = Int(number(bytes[place..<place + 4]))
            let end = place + headerBytes + length
            if length == 0 || end > bytes.count { break }
            let body = bytes[place + headerBytes..<end]
            guard checksum(body) == number(bytes[place + 4..<place + headerBytes]) else {
                if end == bytes.count { break }
                throw WireError.malformed("the entry at byte \(place) is damaged")
            }
            let entry = try OutboxEntry(from: body)
            if case .opened(let session, let openings, let next) = entry {
                outbox = ClientOutbox(session: session, openings: openings, next: next)
            } else if outbox == nil {
                throw WireError.malformed("it does not begin like an outbox")
            } else {
                try outbox?.add(entry)
            }
            place = end
        }
        guard bytes[place...].count < headerBytes || outbox != nil || bytes[place...].allSatisfy({ $0 == 0 }) else {
            throw WireError.malformed("it does not begin like an outbox")
        }
        return outbox.map { ($0, place) }
    }
}

extension ClientOutbox {
    /// The outbox of a file; nil if there is nothing in it.
    ///
    /// - Throws: an error that says where the file is damaged.
    public init?(file bytes: [UInt8]) throws {
        guard let read = try OutboxEntry.read(bytes) else { return nil }
        self = read.outbox
    }
}
