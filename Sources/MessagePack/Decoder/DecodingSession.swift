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
    @exclusivity(unchecked) private var nodes = NodePool<DecodingNode>()
    private var root: DecodingNode?
    @exclusivity(unchecked) private var forms = TypeTable<Form>()
    @exclusivity(unchecked) var knownKeys = KnownKeys()
    let containers = ContainerPool<DecodingNode>()
    /// For who decodes values of one type only.
    private(set) var known: AnyObject?
    private var decodings = 0
    var isReusable: Bool { nodes.areReusable }

    /// Whether keyed containers are references, which is the condition for keeping them.
    static let canKeepContainers = {
        let session = DecodingSession(limits: .default, isLenient: false)
        let node = DecodingNode(session: session, offset: 0, subject: Never.self)
        return isReference(KeyedDecodingContainer(KeyedDecoding<SuperKey>(place: ContainerPlace(node))))
    }()

    init(limits: MessagePackLimits, isLenient: Bool) {
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
        let root = root ?? makeRoot()
        root.begin(at: offset, subject: type)
        let value = try root.decode(type, .same)
        guard reader.pointee.isAtEnd else {
            let count = reader.pointee.bytes.endIndex - reader.pointee.next
            throw MessagePackError(.trailingBytes, "\(count) bytes follow the value", offset: reader.pointee.position)
        }
        return value
    }

    private func makeRoot() -> DecodingNode {
        let node = DecodingNode(session: self, offset: 0, subject: Never.self)
        root = node
        return node
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
    ) -> DecodingNode {
        let node = nodes.take() ?? DecodingNode(session: self, offset: offset, subject: subject)
        node.begin(below: parent, at: offset, step: step, subject: subject, isNested: isNested, isKey: isKey)
        return node
    }

    func recycle(_ node: inout DecodingNode) {
        node.close()
        nodes.giveBack(&node)
    }

    /// Notes that no later call may use this session.
    func forgo() { nodes.forgo() }

    /// Remembers one of eight values beside its bytes, so that values that differ cost little more. Only those that are nothing but bits:
    /// they hold no reference, so nobody can tell one that is remembered from one that was decoded.
    func know<Value>(_ value: Value, of bytes: ArraySlice<UInt8>) {
        guard _isPOD(Value.self) else { return }
        decodings &+= 1
        if decodings & 7 == 0, bytes.count <= 64 { known = KnownValue(bytes: bytes, value: value) }
    }

    /// Lets go of the bytes.
    func forgetBytes() { reader.pointee = MessagePackReader([], limits: limits, lenient: isLenient) }

    func end() {
        root = nil
        nodes.end()
    }
}

/// A value beside its bytes: what a program is told is often what it was told before, as a tick or a vote is, and a replay is the faster for
/// it. To compare the bytes takes a tenth of decoding them.
final class KnownValue<Value> {
    let bytes: ArraySlice<UInt8>
    let value: Value

    init(bytes: ArraySlice<UInt8>, value: Value) {
        self.bytes = ArraySlice(Array(bytes))
        self.value = value
    }
}
