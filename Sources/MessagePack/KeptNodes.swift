/// The coder of one value, which can be used for another one after it.
protocol KeptNode: AnyObject {
    /// The node of the value that contains this one; of a finished node another one that is.
    var above: Unmanaged<Self>? { get set }
    /// How many bytes it keeps for itself.
    var capacity: Int { get }
    /// Counts a reference to the node above, which until now was known to outlive this one.
    func holdAbove()
}

/// The nodes of one session. They are held here and nowhere else, but by a value that keeps the coder it was given.
struct KeptNodes<Node: KeptNode> {
    private var all: [Node] = []
    /// Those that are finished, linked by `above`: a list of structs is coded by one node.
    private var free: Unmanaged<Node>?
    private var hasEnded = false
    /// Whether nothing speaks against using them again: no value holds one, and none has much memory.
    private(set) var areReusable = true

    private static var largestCount: Int { 64 }
    private static var largestCapacity: Int { 64 << 10 }

    mutating func take(_ make: () -> Node) -> Unmanaged<Node> {
        if let node = free {
            free = node.with { $0.above }
            return node
        }
        let node = make()
        all.append(node)
        return Unmanaged.passUnretained(node)
    }

    /// Ends the use of a node, and keeps it for another unless the value it was given to still holds it.
    mutating func giveBack(_ node: Unmanaged<Node>) {
        guard !hasEnded, node.isHeldOnce else { return abandon(node) }
        node.with { node in
            if node.capacity > Self.largestCapacity || all.count > Self.largestCount { forgo() }
            node.above = free
        }
        free = node
    }

    private mutating func abandon(_ node: Unmanaged<Node>) {
        forgo()
        node.with { $0.holdAbove() }
        // A value that uses its coder so late must not make a cycle again.
        if hasEnded { all.removeAll { $0 === node.takeUnretainedValue() } }
    }

    /// Notes that no later call may use them.
    mutating func forgo() { areReusable = false }

    /// Lets go of the nodes, which hold their session.
    mutating func end() {
        hasEnded = true
        free = nil
        all = []
    }
}
