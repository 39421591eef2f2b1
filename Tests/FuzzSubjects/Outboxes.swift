import MessagePack
import SamovarCore
import SamovarPeers
import SamovarWire

/// The file of a durable client. Its entries have a checksum, which no mutation would meet; so the input is the bodies of the
/// entries, each after its length in one byte, and the checksums are made here.
extension FuzzSubject {
    static let outboxes = FuzzSubject(name: "outboxes", isText: false) {
        let session = UniqueID(high: 1, low: 2)
        let entries: [OutboxEntry] = [
            .opened(session: session, openings: 2, next: 5), .welcomed(Timeline(high: 3, low: 4), head: 9),
            .input(Submission(sequence: 5, input: [0xc0])), .input(Submission(sequence: 6, input: [0x01, 0x02])),
            .seen(sequence: 5),
            .seen(sequence: 6),
        ]
        return [1, 3, 6].map { count in
            entries.prefix(count).flatMap { [UInt8($0.bytes.count - headerBytes)] + $0.bytes.dropFirst(headerBytes) }
        }
    } read: { bytes in
        // As it is, it is hardly ever a file, and must be refused as one.
        _ = try? ClientOutbox(file: bytes)
        let outbox: ClientOutbox
        do {
            guard let read = try ClientOutbox(file: file(of: bytes[...])) else { return false }
            outbox = read
        } catch {
            try require(error is WireError || error is MessagePackError, "an error of type \(type(of: error))")
            return false
        }
        let again = try ClientOutbox(file: outbox.entries.flatMap(\.bytes))
        try require(again == outbox, "an outbox is not read as it was written")
        return true
    }

    private static let headerBytes = 12

    private static func file(of bytes: ArraySlice<UInt8>) -> [UInt8] {
        var rest = bytes
        var file: [UInt8] = []
        while let length = rest.popFirst() {
            let body = Array(rest.prefix(Int(length)))
            rest = rest.dropFirst(Int(length))
            var hash = KeyedHash(Secret(high: 0x6f75_7462, low: 0x6f78))
            hash.combine(body)
            let checksum = hash.finish()
            file += [0, 0, 0, UInt8(body.count)] + (0..<8).map { UInt8(truncatingIfNeeded: checksum >> (56 - 8 * UInt64($0))) }
            file += body
        }
        return file
    }
}
