/// The coder of one value, which can be used for another one after it.
protocol PooledNode: AnyObject {
    /// The node of the value that contains this one; of a finished node the next one that is.
    var above: Self? { get set }
    /// How many bytes it keeps for itself.
    var capacity: Int { get }
}

/// The finished nodes of one session: a list of structs is coded by one node.
struct NodePool<Node: PooledNode> {
    private var first: Node?
    private var count = 0
    /// Whether no value holds a node, which could use the session while another call does.
    private(set) var areReusable = true

    private static var largestCount: Int { 64 }
    private static var largestCapacity: Int { 64 << 10 }

    mutating func take() -> Node? {
        guard let node = first else { return nil }
        first = node.above.take()
        count -= 1
        return node
    }

    /// Ends the use of a node, and keeps it for another unless the value it was given to still holds it, or it is large.
    mutating func giveBack(_ node: inout Node) {
        guard isKnownUniquelyReferenced(&node) else { return forgo() }
        guard node.capacity <= Self.largestCapacity, count < Self.largestCount else { return }
        node.above = first.take()
        first = node
        count += 1
    }

    /// Notes that no later call may use them.
    mutating func forgo() { areReusable = false }

    /// Lets go of the nodes, which hold their session.
    mutating func end() {
        while let node = first { first = node.above.take() }
    }
}
