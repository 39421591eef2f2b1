import Synchronization

/// What the nodes of one call share, and which a later call may use again.
protocol CodingSession: AnyObject {
    /// Whether nothing speaks against it.
    var isReusable: Bool { get }
    /// Breaks the cycles between the session and its nodes.
    func end()
}

/// A place for one session between two calls. Who finds it empty, as a second thread does, makes a session of its own.
final class PooledSession<Session: CodingSession>: Sendable {
    private let place = Mutex(Held(session: nil))

    /// `@unchecked`: who takes a session out of its place is the only one to have it.
    private struct Held: @unchecked Sendable {
        let session: Session?
    }

    deinit { take()?.end() }

    /// The session that is kept, which is kept no longer.
    func take() -> Session? { exchange(for: nil) }

    /// Keeps a session, unless something speaks against it.
    func keep(_ session: Session) {
        if session.isReusable { exchange(for: session)?.end() } else { session.end() }
    }

    private func exchange(for session: Session?) -> Session? {
        var exchanged = Held(session: session)
        place.withLock { swap(&$0, &exchanged) }
        return exchanged.session
    }
}

/// What was found out about types. Asking a type for its conformances takes longer than encoding a small value of it.
struct TypeTable<Finding> {
    private var rows: [(type: ObjectIdentifier, finding: Finding)?] = Array(repeating: nil, count: Self.size)
    private static var size: Int { 32 }

    /// A type whose row another one has is asked again.
    mutating func finding(about type: any Any.Type, _ find: () -> Finding) -> Finding {
        let id = ObjectIdentifier(type)
        let row = id.place(of: Self.size)
        if let known = rows[row], known.type == id { return known.finding }
        let finding = find()
        rows[row] = (id, finding)
        return finding
    }
}

extension ObjectIdentifier {
    /// A place among so many, which are a power of two.
    func place(of count: Int) -> Int {
        let bits = UInt(bitPattern: self)
        return Int(bitPattern: (bits >> 4 ^ bits >> 9) & UInt(count - 1))
    }
}
