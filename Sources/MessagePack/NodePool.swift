/// A node of a coder: a struct in an arena, of which a value may have something beyond its time.
protocol PooledNode: ~Copyable {
    associatedtype Session: AnyObject

    /// The node of the value that contains this one.
    var above: UnsafeMutablePointer<Self>? { get }
    var loans: NodeLoans<Session, Self> { get set }
    /// How many bytes it keeps for itself.
    var capacity: Int { get }
    /// Lets go of that memory.
    mutating func shrink()
}

/// What of a node was handed out.
struct NodeLoans<Session: AnyObject, Node: ~Copyable> {
    /// The keyed containers that it takes back.
    var containers: ContainerPool<Session, Node>.Reference?
    /// What `Encoder` or `Decoder`, and the other containers, refer to.
    var place: NodePlace<Session, Node>?
    /// Whether its value is being coded. Afterwards the value may still have it: what is handed out then, nobody takes back.
    var isActive = false
    /// Whether somebody still has it, or a node below it, so that it is not used again.
    var isKept = false
}

/// The nodes of one session, and what they hand out.
///
/// Nodes are structs that stay where they are for as long as the session lives, so that they can refer to each other without counting
/// references. A node that is given back is handed out again as it is, with the memory that it has; whoever takes it lets it begin anew.
struct NodePool<Node: PooledNode & ~Copyable>: ~Copyable {
    typealias Slot = UnsafeMutablePointer<Node>
    typealias Place = NodePlace<Node.Session, Node>

    /// Nodes are made so many at a time.
    private static var chunk: Int { 8 }

    private var chunks: [Slot] = []
    private var free: [Slot] = []
    /// How many there are, whether handed out or not.
    private var count = 0
    private let containers = ContainerPool<Node.Session, Node>()
    private var hasKept = false

    /// As many as a value that is nested as deep as it may be takes, and some.
    private static var largestCount: Int { 384 }
    private static var largestCapacity: Int { 64 << 10 }

    /// Whether a later call may use them: no value has kept one, which could use the session while another call does, and they are few.
    var areReusable: Bool { !hasKept && count <= Self.largestCount }

    /// Notes that no later call may use them.
    mutating func forgo() { hasKept = true }

    /// Hands out a node that nobody has.
    mutating func take(_ make: () -> Node) -> Slot {
        if let slot = free.popLast() { return slot }
        if count == chunks.count * Self.chunk { chunks.append(.allocate(capacity: Self.chunk)) }
        let slot = chunks[count / Self.chunk] + count % Self.chunk
        slot.initialize(to: make())
        count += 1
        return slot
    }

    deinit {
        for (index, chunk) in chunks.enumerated() {
            chunk.deinitialize(count: min(count - index * Self.chunk, Self.chunk))
            chunk.deallocate()
        }
    }

    /// Takes back a node that has no others below it any more, and what it has handed out. What somebody still has is left to them, with the
    /// nodes above, which its path leads to.
    mutating func giveBack(_ node: Slot) {
        if node.pointee.loans.containers != nil, containers.takeBack(&node.pointee.loans.containers) {
            node.pointee.loans.isKept = true
        }
        if node.pointee.loans.place != nil, !isKnownUniquelyReferenced(&node.pointee.loans.place) {
            node.pointee.loans.place.take()?.leave()
            node.pointee.loans.isKept = true
        }
        if node.pointee.loans.isKept {
            hasKept = true
            node.pointee.above?.pointee.loans.isKept = true
        } else {
            if node.pointee.capacity > Self.largestCapacity { node.pointee.shrink() }
            free.append(node)
        }
    }

    /// Whether nobody has anything of a node itself.
    func isFree(_ node: Slot) -> Bool {
        if node.pointee.loans.place != nil, !isKnownUniquelyReferenced(&node.pointee.loans.place) { return false }
        return containers.areAlone(node.pointee.loans.containers)
    }

    /// The place of a node, for who gets the node in some form.
    static func place(of node: Slot, in session: Node.Session) -> Place {
        if let place = node.pointee.loans.place { return place }
        let isActive = node.pointee.loans.isActive
        let place = Place(session, node, isKept: isActive)
        if isActive { node.pointee.loans.place = place }
        return place
    }

    /// A keyed container that was used before and that nobody has, or else a new one.
    @inline(__always)
    func container<Container>(for keys: any CodingKey.Type, of node: Slot, _ make: () -> Container) -> Container {
        guard node.pointee.loans.isActive, let used = containers.take(for: keys, node, &node.pointee.loans.containers) else {
            return make()
        }
        return used.with { unsafeDowncast($0, to: TypedContainer<Node.Session, Node, Container>.self).copy() }
    }

    /// A new keyed container, which is used again if such containers are references.
    func newContainer<Container>(
        for keys: any CodingKey.Type, of node: Slot, in session: Node.Session, areReferences: Bool, _ make: (Place) -> Container
    ) -> Container {
        guard node.pointee.loans.isActive, areReferences, containers.hasRoom(for: keys) else {
            return make(Self.place(of: node, in: session))
        }
        let place = Place(session, node, isKept: true)
        let container = make(place)
        containers.add(container, for: keys, place, &node.pointee.loans.containers)
        return container
    }
}
