/// What `Codable`'s containers, and a value that is coded, have of a node: the node and its session.
///
/// A session keeps its places, so a place does not count its session. Where somebody still has a place when its node is given back, the
/// session leaves it to them, and it counts the session from then on: what no value should do does no harm.
final class NodePlace<Session: AnyObject, Node: ~Copyable> {
    typealias Slot = UnsafeMutablePointer<Node>

    private let session: Uncounted<Session>
    private var counted: Session?
    private var node: Slot

    /// A place that its session keeps, or one that is left to whoever has it.
    init(_ session: Session, _ node: Slot, isKept: Bool) {
        self.session = Uncounted(session)
        self.node = node
        counted = isKept ? nil : session
    }

    @inline(__always)
    func with<Result>(_ body: (Session, Slot) throws -> Result) rethrows -> Result {
        try session.with { try body($0, node) }
    }

    /// Leaves the place to whoever has it.
    func leave() { counted = session.counted }

    func move(to node: Slot) { self.node = node }
}
