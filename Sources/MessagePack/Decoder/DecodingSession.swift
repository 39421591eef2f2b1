/// What the nodes of one call to the decoder share. When the call is over, another one may use it.
///
/// `unchecked`: no code of a value runs during an access, so none can overlap another.
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

    /// Where the reader is: nothing but this session's nodes ever reaches it, so no access needs the check at run time.
    let reader: UnsafeMutablePointer<MessagePackReader>
    @exclusivity(unchecked) private var nodes = KeptNodes<DecodingNode>()
    @exclusivity(unchecked) private var root: Unmanaged<DecodingNode>?
    @exclusivity(unchecked) private var forms = TypeTable<Form>()
    @exclusivity(unchecked) var knownKeys = KnownKeys()
    let containers = KeptContainers<DecodingNode>()
    /// For who decodes values of one type only.
    @exclusivity(unchecked) var recent: RecentValues?
    var isReusable: Bool { nodes.areReusable }

    init(limits: MessagePackLimits, isLenient: Bool, recent: consuming RecentValues? = nil) {
        self.recent = recent
        self.limits = limits
        self.isLenient = isLenient
        reader = .allocate(capacity: 1)
        reader.initialize(to: MessagePackReader([], limits: limits, lenient: isLenient))
    }

    deinit {
        reader.deinitialize(count: 1)
        reader.deallocate()
    }

    /// Decodes one value from all the bytes.
    func decode<T: Decodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        reader.pointee = MessagePackReader(bytes, limits: limits, lenient: isLenient)
        let offset = reader.pointee.next
        let root = root ?? nodes.take { DecodingNode(session: self, offset: offset, subject: type) }
        self.root = root
        let value = try root.with { root in
            root.begin(at: offset, subject: type)
            return try root.decode(type, .same)
        }
        guard reader.pointee.isAtEnd else {
            let count = reader.pointee.bytes.endIndex - reader.pointee.next
            throw MessagePackError(.trailingBytes, "\(count) bytes follow the value", offset: reader.pointee.position)
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

    func node(
        below parent: DecodingNode, at offset: Int, step: PathStep, subject: any Any.Type, isNested: Bool = false,
        isKey: Bool = false
    ) -> Unmanaged<DecodingNode> {
        let node = nodes.take { DecodingNode(session: self, offset: offset, subject: subject) }
        node.with { $0.begin(below: parent, at: offset, step: step, subject: subject, isNested: isNested, isKey: isKey) }
        return node
    }

    func recycle(_ node: Unmanaged<DecodingNode>) {
        node.with { $0.close() }
        nodes.giveBack(node)
    }

    /// Notes that no later call may use this session.
    func forgo() { nodes.forgo() }

    /// Lets go of the bytes.
    func forgetBytes() { reader.pointee = MessagePackReader([], limits: limits, lenient: isLenient) }

    func end() {
        root = nil
        nodes.end()
    }
}
