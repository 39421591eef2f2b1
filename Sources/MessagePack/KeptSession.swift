import Synchronization

/// What the nodes of one call share, and which a later call may use again.
protocol CodingSession: AnyObject {
    /// Breaks the cycles between the session and its nodes.
    func end()
}

/// A place for one session between two calls. Who finds it empty, as a second thread does, makes a session of its own.
final class KeptSession<Session: CodingSession>: Sendable {
    /// The address of the session, whose reference this holds; 0 if there is none.
    private let place = Atomic<UInt>(0)

    func take() -> Session? {
        Self.session(at: place.exchange(0, ordering: .acquiring))
    }

    func keep(_ session: Session) {
        let address = UInt(bitPattern: Unmanaged.passRetained(session).toOpaque())
        Self.session(at: place.exchange(address, ordering: .acquiringAndReleasing))?.end()
    }

    deinit { take()?.end() }

    private static func session(at address: UInt) -> Session? {
        guard let place = UnsafeRawPointer(bitPattern: address) else { return nil }
        return Unmanaged<Session>.fromOpaque(place).takeRetainedValue()
    }
}

/// What was found out about types. Asking a type for its conformances takes longer than encoding a small value of it.
struct TypeTable<Finding> {
    private var rows: [(type: ObjectIdentifier, finding: Finding)?] = Array(repeating: nil, count: Self.size)
    private static var size: Int { 16 }

    /// A type whose row another one has is asked again.
    mutating func finding(about type: any Any.Type, _ find: () -> Finding) -> Finding {
        let id = ObjectIdentifier(type)
        let bits = UInt(bitPattern: id)
        let row = Int(bitPattern: (bits >> 4 ^ bits >> 9) & UInt(Self.size - 1))
        if let known = rows[row], known.type == id { return known.finding }
        let finding = find()
        rows[row] = (id, finding)
        return finding
    }
}
