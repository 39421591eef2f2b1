/// What the nodes of one call to the decoder share. When the call is over, another one may use it.
///
/// `unchecked`: as with its nodes.
final class DecodingSession: CodingSession {
    /// How the values of a type are read.
    enum Form {
        /// As they ask for it through `Codable`'s containers.
        case plain
        /// By themselves.
        case packable(any MessagePackable.Type)
        case dictionary(any DecodableDictionary.Type)
    }

    /// Those of the reader, as of each later one.
    let limits: MessagePackLimits
    let isLenient: Bool

    /// Moved to wherever a value is read; after a read it stands at the end of the value.
    var reader: MessagePackReader {
        @inline(__always) _read { yield place.pointee }
        @inline(__always) _modify { yield &place.pointee }
    }
    /// Where the reader is: nothing but this session's nodes ever reaches it, so no access needs the check at run time.
    private let place: UnsafeMutablePointer<MessagePackReader>
    /// Finished nodes, linked by `parent`: a list of structs is decoded by one node.
    @exclusivity(unchecked) private var free: DecodingNode?
    @exclusivity(unchecked) private var root: DecodingNode?
    @exclusivity(unchecked) private var forms = TypeTable<Form>()
    @exclusivity(unchecked) private var keys = TypeTable<KnownKeys>()
    let containers = KeptContainers<DecodingNode>()
    /// For who decodes values of one type only.
    let recent: RecentValues?
    /// Whether nothing speaks against using it again: no value holds a node, and none has much memory.
    @exclusivity(unchecked) private(set) var isReusable = true
    @exclusivity(unchecked) private var nodeCount = 0

    private static let largestNodeCount = 64
    private static let largestCapacity = 64 << 10

    init(_ reader: MessagePackReader, recent: consuming RecentValues? = nil) {
        self.recent = recent
        limits = reader.limits
        isLenient = reader.isLenient
        place = .allocate(capacity: 1)
        place.initialize(to: reader)
    }

    deinit {
        place.deinitialize(count: 1)
        place.deallocate()
    }

    /// Decodes one value from all the bytes.
    func decode<T: Decodable>(_ type: T.Type) throws -> T {
        let offset = reader.next
        let root = root ?? DecodingNode(session: self, offset: offset, subject: type)
        self.root = root
        root.begin(at: offset, subject: type)
        let value = try root.decode(type, .same)
        guard reader.isAtEnd else {
            let count = reader.bytes.endIndex - reader.next
            throw MessagePackError(.trailingBytes, "\(count) bytes follow the value", offset: reader.position)
        }
        return value
    }

    func form(of type: any Any.Type) -> Form {
        forms.finding(about: type) {
            if let packable = type as? any MessagePackable.Type { return .packable(packable) }
            if let dictionary = type as? any DecodableDictionary.Type { return .dictionary(dictionary) }
            return .plain
        }
    }

    /// The keys of this type that have been met.
    func knownKeys(of type: any CodingKey.Type) -> KnownKeys {
        keys.finding(about: type) { KnownKeys() }
    }

    func node(
        below parent: DecodingNode, at offset: Int, step: PathStep, subject: any Any.Type, isNested: Bool = false,
        isKey: Bool = false
    ) -> DecodingNode {
        let node: DecodingNode
        if let kept = free.take() {
            node = kept
            free = kept.parent.take()
        } else {
            node = DecodingNode(session: self, offset: offset, subject: subject)
            nodeCount += 1
        }
        node.begin(below: parent, at: offset, step: step, subject: subject, isNested: isNested, isKey: isKey)
        return node
    }

    /// Ends the use of a node, and keeps it for another unless the value it was given to still holds it.
    func recycle(_ node: inout DecodingNode) {
        node.recycleNested()
        node.takeBackContainers()
        guard node.session === self else {
            // A bare word's, which was its own alone.
            node.session.end()
            return forgo()
        }
        guard isKnownUniquelyReferenced(&node) else { return forgo() }
        if node.capacity > Self.largestCapacity || nodeCount > Self.largestNodeCount { forgo() }
        node.end(before: free.take())
        free = node
    }

    /// Notes that no later call may use this session.
    func forgo() { isReusable = false }

    /// Releases the finished nodes, which hold this session, one by one: as a whole a long list is released by recursion.
    func end() {
        root = nil
        while let node = free {
            free = node.parent
            node.parent = nil
        }
    }
}
