/// What the nodes of one call to the encoder share.
final class EncodingSession {
    let isCanonical: Bool
    let limits: MessagePackLimits
    /// Finished nodes, linked by `parent`: a list of structs is encoded by one node.
    private var free: EncodingNode?

    /// The type met last which encodes itself through `Codable`: asking a type for its conformances takes a while.
    private var plainType: (any Any.Type)?

    init(isCanonical: Bool, limits: MessagePackLimits) {
        self.isCanonical = isCanonical
        self.limits = limits
    }

    func isPlain(_ type: any Any.Type) -> Bool { plainType == type }
    func notePlain(_ type: any Any.Type) { plainType = type }

    func node(below parent: EncodingNode, at step: PathStep) -> EncodingNode {
        let node = free ?? EncodingNode(session: self)
        free = free?.parent
        node.begin(below: parent, at: step)
        return node
    }

    /// Ends the use of a node, and keeps it for another unless the value it was given to still holds it.
    func recycle(_ node: inout EncodingNode) {
        node.recycleChildren()
        guard isKnownUniquelyReferenced(&node) else { return }
        node.parent = free
        free = node
    }

    /// Releases the finished nodes, which hold this session, one by one: as a whole a long list is released by recursion.
    func end() {
        while let node = free {
            free = node.parent
            node.parent = nil
        }
    }
}
