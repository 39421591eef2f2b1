import DequeModule
import MessagePack
import SamovarCore

/// How a session ended, as its client is told when it comes back.
enum SessionEnd {
    case expired
    case closed

    var text: String {
        switch self {
        case .expired: "this session was silent for too long and has expired; what it has sent may have been applied or not"
        case .closed: "this session was ended by its client; what it sends now is not taken"
        }
    }
}

/// Sessions that are over, the newest of them: their clients may come back.
struct EndedSessions: Equatable, Sendable {
    struct Entry: Equatable, Sendable {
        let id: SessionID
        /// The turn of its end.
        let turn: Int
    }

    /// Oldest first.
    private(set) var newest: Deque<Entry> = []
    private(set) var ids: Set<SessionID> = []
    /// Up to this turn, sessions ended that are not remembered one by one any more.
    private(set) var forgottenTurn = 0

    static let limit = 100_000

    mutating func append(_ id: SessionID, at turn: Int) {
        guard ids.insert(id).inserted else { return }
        newest.append(Entry(id: id, turn: turn))
        guard newest.count > Self.limit, let oldest = newest.popFirst() else { return }
        ids.remove(oldest.id)
        forgottenTurn = max(forgottenTurn, oldest.turn)
    }
}

extension EndedSessions {
    /// One value in a snapshot.
    func write(to writer: inout MessagePackWriter) {
        writer.writeArrayHeader(2)
        writer.write(forgottenTurn)
        writer.writeList(Array(newest)) { entry, writer in
            writer.writeArrayHeader(2)
            writer.write(entry.id)
            writer.write(entry.turn)
        }
    }

    init(from reader: inout MessagePackReader) throws {
        try reader.readFields(2, of: "the ended sessions")
        forgottenTurn = try reader.readCount()
        _ = try reader.readList { reader in
            try reader.readFields(2, of: "an ended session")
            append(try reader.readID(), at: try reader.readCount())
        }
    }
}
