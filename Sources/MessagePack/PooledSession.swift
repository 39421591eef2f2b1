import Synchronization

/// What the nodes of one call share, and which a later call may use again.
protocol CodingSession: AnyObject {
    /// Whether nothing speaks against it: no value has kept a node, which could use the session while another call does, and there are few.
    var isReusable: Bool { get }
}

/// A place for one session between two calls. Who comes while it is in use, as a second thread does, makes a session of its own.
///
/// `@unchecked`: only who has set `isInUse` reaches the session.
final class PooledSession<Session: CodingSession>: @unchecked Sendable {
    private let isInUse = Atomic(false)
    private let place = Cell<Session?>(nil)

    /// Calls `body` with the session that is kept, or a new one, and keeps it afterwards unless something speaks against it.
    @inline(__always)
    func with<Result>(_ make: () -> Session, _ body: (Session) throws -> Result) rethrows -> Result {
        guard isInUse.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged else {
            return try body(make())
        }
        defer { isInUse.store(false, ordering: .releasing) }
        var taken: Session?
        swap(&taken, &place.value)
        let session = taken.take() ?? make()
        defer { if session.isReusable { place.value = session } }
        return try body(session)
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
