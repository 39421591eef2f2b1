/// What the nodes of one call to the encoder share. When the call is over, another one may use it.
/// No code of a value runs during an access to what it holds, so none is checked at run time for overlapping another.
final class EncodingSession: CodingSession {
    /// The form that the values of a type have.
    enum Form {
        /// What they ask for through `Codable`'s containers.
        case plain
        /// Their own.
        case packable(any MessagePackable.Type)
        case dictionary(any EncodableDictionary.Type)
        case set
    }

    let isCanonical: Bool
    let limits: MessagePackLimits
    /// Finished nodes, linked by `parent`: a list of structs is encoded by one node.
    @exclusivity(unchecked) private var free: EncodingNode?
    @exclusivity(unchecked) private var root: EncodingNode?
    @exclusivity(unchecked) private var forms = TypeTable<Form>()
    let containers = KeptContainers<EncodingNode>()
    /// For who encodes values of one type only.
    let recent: RecentValues?
    /// Whether nothing speaks against using it again: no value holds a node, and none has much memory.
    @exclusivity(unchecked) private(set) var isReusable = true
    @exclusivity(unchecked) private var nodeCount = 0
    /// The order of sorted elements, for as long as they are written.
    @exclusivity(unchecked) var order: [Range<Int>] = []

    private static let largestNodeCount = 64
    private static let largestCapacity = 64 << 10

    init(isCanonical: Bool, limits: MessagePackLimits, recent: consuming RecentValues? = nil) {
        self.recent = recent
        self.isCanonical = isCanonical
        self.limits = limits
    }

    /// Appends one encoded value, or nothing if it throws.
    func encode<T: Encodable>(_ value: T, into writer: inout MessagePackWriter) throws {
        let root = root ?? EncodingNode(session: self)
        self.root = root
        root.exchangeBody(&writer)
        defer { root.exchangeBody(&writer) }
        try root.appendRoot(value)
    }

    func form(of type: any Any.Type) -> Form {
        forms.finding(about: type) {
            if let packable = type as? any MessagePackable.Type { return .packable(packable) }
            if let dictionary = type as? any EncodableDictionary.Type { return .dictionary(dictionary) }
            if isCanonical, type is any UnorderedElements.Type { return .set }
            return .plain
        }
    }

    func node(below parent: EncodingNode, at step: PathStep) -> EncodingNode {
        let node: EncodingNode
        if let kept = free.take() {
            node = kept
            free = kept.parent.take()
        } else {
            node = EncodingNode(session: self)
            nodeCount += 1
        }
        node.begin(below: parent, at: step)
        return node
    }

    /// Ends the use of a node, and keeps it for another unless the value it was given to still holds it.
    func recycle(_ node: inout EncodingNode) {
        node.recycleChildren()
        node.takeBackContainers()
        guard isKnownUniquelyReferenced(&node) else {
            isReusable = false
            return
        }
        if node.capacity > Self.largestCapacity || nodeCount > Self.largestNodeCount { isReusable = false }
        node.end(before: free.take())
        free = node
    }

    /// Releases the finished nodes, which hold this session, one by one: as a whole a long list is released by recursion.
    func end() {
        root = nil
        while let node = free {
            free = node.parent
            node.parent = nil
        }
    }
}
