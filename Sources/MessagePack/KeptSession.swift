import Synchronization

/// What the nodes of one call share, and which a later call may use again.
protocol CodingSession: AnyObject {
    /// Whether nothing speaks against it.
    var isReusable: Bool { get }
    /// Breaks the cycles between the session and its nodes.
    func end()
}

/// A place for one session between two calls. Who finds it empty, as a second thread does, makes a session of its own.
final class KeptSession<Session: CodingSession>: Sendable {
    /// The address of the session, whose reference this holds; 0 if there is none.
    private let place = Atomic<UInt>(0)

    /// Calls `body` with the session that is kept, or else with a new one, and keeps it for a later call.
    func use<Result>(_ make: () -> Session, for body: (Session) throws -> Result) rethrows -> Result {
        let session = exchange(for: nil) ?? Unmanaged.passRetained(make())
        defer { if session.with({ $0.isReusable }) { end(exchange(for: session)) } else { end(session) } }
        return try session.with(body)
    }

    deinit { end(exchange(for: nil)) }

    /// Puts a session with its reference into the place, and hands out the one that was there with its own.
    private func exchange(for session: Unmanaged<Session>?) -> Unmanaged<Session>? {
        let address = UInt(bitPattern: session?.toOpaque())
        let found = place.exchange(address, ordering: .acquiringAndReleasing)
        guard let found = UnsafeRawPointer(bitPattern: found) else { return nil }
        return Unmanaged.fromOpaque(found)
    }

    private func end(_ session: Unmanaged<Session>?) {
        session?.takeRetainedValue().end()
    }
}

/// What was found out about types. Asking a type for its conformances takes longer than encoding a small value of it.
struct TypeTable<Finding> {
    private var rows: [(type: ObjectIdentifier, finding: Finding)?] = Array(repeating: nil, count: Self.size)
    private static var size: Int { 16 }

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
