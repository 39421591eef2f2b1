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
    @exclusivity(unchecked) private var nodes = NodePool<EncodingNode>()
    private var root: EncodingNode?
    @exclusivity(unchecked) private var forms = TypeTable<Form>()
    let containers = ContainerPool<EncodingNode>()
    var isReusable: Bool { nodes.areReusable }
    /// The order of sorted elements, for as long as they are written.
    @exclusivity(unchecked) var order: [Range<Int>] = []

    /// Whether keyed containers are references, which is the condition for keeping them.
    static let canKeepContainers = {
        let node = EncodingNode(session: EncodingSession(isCanonical: false, limits: .default))
        return isReference(KeyedEncodingContainer(KeyedEncoding<SuperKey>(place: ContainerPlace(node))))
    }()

    init(isCanonical: Bool, limits: MessagePackLimits) {
        self.isCanonical = isCanonical
        self.limits = limits
    }

    /// Appends one encoded value, or nothing if it throws.
    func encode<T: Encodable>(_ value: T, into writer: inout MessagePackWriter) throws {
        let root = root ?? makeRoot()
        root.exchangeBody(&writer)
        defer { root.exchangeBody(&writer) }
        try root.appendRoot(value)
    }

    private func makeRoot() -> EncodingNode {
        let node = EncodingNode(session: self)
        root = node
        return node
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
        let node = nodes.take() ?? EncodingNode(session: self)
        node.begin(below: parent, at: step)
        return node
    }

    func recycle(_ node: inout EncodingNode) {
        node.close()
        nodes.giveBack(&node)
    }

    func end() {
        root = nil
        nodes.end()
    }
}
