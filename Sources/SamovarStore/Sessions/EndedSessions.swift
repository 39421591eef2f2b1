import DequeModule
import MessagePack
import SamovarCore
import SamovarWire

/// How a session ended, as its client is told when it comes back.
enum SessionEnd {
    case expired
    case closed
    /// It ended with an input, and so many have since that this one is not known.
    case forgotten

    var text: String {
        switch self {
        case .expired: "this session was silent for too long and has expired; what it has sent may have been applied or not"
        case .closed: "this session was ended by its client; what it sends now is not taken"
        case .forgotten: "this session may have ended too long ago; what it has sent may have been applied or not"
        }
    }
}

/// Sessions that are over, the newest of them: their clients may come back.
struct EndedSessions: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        let id: SessionID
        let turn: Int
        /// The input of that turn, with which it ended; 0 if it ended otherwise.
        let last: Int
        /// The key whose session it was, by its name; only where it ended with an input.
        let owner: KeyName?
    }

    /// Oldest first.
    private(set) var newest: Deque<Entry> = []
    private var entries: [SessionID: Entry] = [:]
    /// Up to this turn, sessions ended that are not remembered one by one any more.
    private(set) var forgottenTurn = 0

    static let limit = 100_000

    var ids: Set<SessionID> { Set(entries.keys) }

    subscript(id: SessionID) -> Entry? { entries[id] }

    mutating func append(_ id: SessionID, at turn: Int, last: Int = 0, owner: KeyName? = nil) {
        guard entries[id] == nil else { return }
        let entry = Entry(id: id, turn: turn, last: last, owner: owner)
        entries[id] = entry
        newest.append(entry)
        guard newest.count > Self.limit, let oldest = newest.popFirst() else { return }
        entries[oldest.id] = nil
        forgottenTurn = max(forgottenTurn, oldest.turn)
    }
}

extension EndedSessions {
    /// One value in a snapshot.
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(forgottenTurn)
        writer.writeList(Array(newest)) { entry, writer in
            writer.writeArrayHeader(entry.owner != nil ? 4 : entry.last > 0 ? 3 : 2)
            writer.write(entry.id)
            writer.write(entry.turn)
            if entry.last > 0 { writer.write(entry.last) }
            if let owner = entry.owner { writer.write(owner.description) }
        }
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(2, of: "the ended sessions")
        forgottenTurn = try reader.readCount()
        _ = try reader.readList { reader in
            let fields = try reader.readArrayHeader()
            guard (2...4).contains(fields) else { throw WireError.malformed("an ended session has 2 to 4 fields, not \(fields)") }
            append(
                try reader.readID(), at: try reader.readCount(), last: fields > 2 ? try reader.readCount() : 0,
                owner: fields > 3 ? try reader.readKeyName() : nil)
        }
    }
}
