/// What the nodes of one call to the decoder share. When the call is over, another one may use it.
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
    let refusesUnknownFields: Bool

    /// Where the reader is, which is that of all nodes but those of words.
    private let reader: Cell<MessagePackReader>
    private let nodes = Cell(NodePool<DecodingNode>())
    private let root: DecodingNode.Slot
    private let forms = Cell(TypeTable<Form>())
    let knownKeys = Cell(KnownKeys())
    private let lastSeen = Cell(LastSeen())
    /// The last value, if it came at least twice.
    private let last = Cell(KeptValue())
    /// Whether keyed containers are references, which is the condition for keeping them.
    private static let areContainersReferences = {
        let session = DecodingSession(MessagePackDecoder())
        let place = DecodingNode.Place(session, session.root, isKept: true)
        return withExtendedLifetime(session) { isReference(KeyedDecodingContainer(KeyedDecoding<PathKey>(place: place))) }
    }()

    init(_ decoder: MessagePackDecoder) {
        limits = decoder.limits
        isLenient = decoder.isLenient
        refusesUnknownFields = decoder.refusesUnknownFields
        reader = Cell(MessagePackReader([], limits: limits, lenient: isLenient))
        let place = reader.address
        root = nodes.value.take { DecodingNode(place) }
    }

    var isReusable: Bool { nodes.value.areReusable }

    /// Decodes one value from all the bytes.
    func decode<T: Decodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        reader.value = MessagePackReader(bytes, limits: limits, lenient: isLenient)
        let offset = reader.value.next
        root.pointee.begin(at: offset, subject: type)
        let value = try decode(type, root, .same)
        guard reader.value.isAtEnd else {
            let count = reader.value.bytes.endIndex - reader.value.next
            throw MessagePackError(.trailingBytes, "\(count) bytes follow the value", offset: reader.value.position)
        }
        return value
    }

    func form(of type: any Any.Type) -> Form {
        forms.value.finding(about: type) {
            if let packable = type as? any MessagePackable.Type { return .packable(packable) }
            if let dictionary = type as? any DecodableDictionary.Type { return .dictionary(dictionary) }
            return .plain
        }
    }

    // MARK: Nodes

    func node(
        below parent: DecodingNode.Slot, at offset: Int, step: PathStep, subject: any Any.Type, isNested: Bool = false,
        isKey: Bool = false
    ) -> DecodingNode.Slot {
        let reader = reader.address
        let node = nodes.value.take { DecodingNode(reader) }
        node.pointee.begin(below: parent, at: offset, step: step, subject: subject, isNested: isNested, isKey: isKey)
        return node
    }

    /// Makes the node of a value which another one decodes by hand.
    func child(of parent: DecodingNode.Slot, at offset: Int, step: PathStep) -> DecodingNode.Slot {
        // Of many that are decoded one after the other, each is the node of the next.
        if let last = parent.pointee.nested, isFree(last) {
            parent.pointee.nested = last.pointee.nestedBefore
            recycle(last)
        }
        let node = node(below: parent, at: offset, step: step, subject: parent.pointee.subject, isNested: true)
        if parent.pointee.loans.isActive {
            node.pointee.nestedBefore = parent.pointee.nested
            parent.pointee.nested = node
        } else {
            // It only belongs to who asks for it.
            node.pointee.loans.isActive = false
            node.pointee.loans.isKept = true
        }
        return node
    }

    /// Whether nobody has anything of a node.
    private func isFree(_ node: DecodingNode.Slot) -> Bool {
        var nested = node.pointee.nested
        while let child = nested {
            guard isFree(child) else { return false }
            nested = child.pointee.nestedBefore
        }
        return nodes.value.isFree(node)
    }

    /// Takes back a node and what it has handed out, which the value may still have.
    func recycle(_ node: DecodingNode.Slot) {
        node.pointee.loans.isActive = false
        while let child = node.pointee.nested {
            node.pointee.nested = child.pointee.nestedBefore
            recycle(child)
        }
        nodes.value.giveBack(node)
    }

    func place(of node: DecodingNode.Slot) -> DecodingNode.Place { NodePool.place(of: node, in: self) }

    func keyedContainer<Key: CodingKey>(_ type: Key.Type, _ node: DecodingNode.Slot) -> KeyedDecodingContainer<Key> {
        nodes.value.container(for: type, of: node) { newContainer(type, node) }
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(_ type: Key.Type, _ node: DecodingNode.Slot) -> KeyedDecodingContainer<Key> {
        nodes.value.newContainer(for: type, of: node, in: self, areReferences: Self.areContainersReferences) {
            KeyedDecodingContainer(KeyedDecoding<Key>(place: $0))
        }
    }

    /// Opens a map, and notes which keys it may have.
    func openContainer<Key: CodingKey>(_ type: Key.Type, _ node: DecodingNode.Slot) throws -> KeyedDecodingContainer<Key> {
        try node.pointee.openMap()
        node.pointee.allow(type)
        return keyedContainer(type, node)
    }

    /// Opens a map that a value nests by hand.
    func openNested<Key: CodingKey>(_ type: Key.Type, _ node: DecodingNode.Slot) throws -> KeyedDecodingContainer<Key> {
        let container = try openContainer(type, node)
        if refusesUnknownFields { try refuseUnknownFields(node) }
        return container
    }

    // MARK: Values of one type

    /// Decodes one value, where all are of one type, or takes the last one if it has the same bytes and is nothing but bits: it then holds no
    /// reference, so nobody can tell it from one that was decoded. After an error no later call may use the session.
    func decodeOrRepeat<T: Decodable>(_ type: T.Type, from bytes: ArraySlice<UInt8>) throws -> T {
        let isRepeated = _isPOD(T.self) && bytes.withUnsafeBytes { lastSeen.value.isRepeated($0) }
        if isRepeated, last.value.isA(type) { return last.value.load(as: type) }
        do {
            let value = try decode(type, from: bytes)
            // Lets go of the bytes.
            reader.value = MessagePackReader([], limits: limits, lenient: isLenient)
            if isRepeated { last.value.keep(value) } else { last.value.forget() }
            return value
        } catch {
            nodes.value.forgo()
            throw error
        }
    }
}

/// Keeps a value that is nothing but bits.
private struct KeptValue: ~Copyable {
    private static var size: Int { 256 }
    private static var alignment: Int { 16 }

    private let place = UnsafeMutableRawPointer.allocate(byteCount: Self.size, alignment: Self.alignment)
    /// Nil if there is none.
    private var type: ObjectIdentifier?

    deinit { place.deallocate() }

    func isA(_ type: any Any.Type) -> Bool { ObjectIdentifier(type) == self.type }

    /// The value, which is of this type. Not asked for as an optional, whose type the runtime would have to look up.
    func load<Value>(as type: Value.Type) -> Value {
        precondition(isA(type))
        return place.load(as: type)
    }

    /// - Parameter value: not kept if it is too large.
    mutating func keep<Value>(_ value: Value) {
        guard MemoryLayout<Value>.size <= Self.size, MemoryLayout<Value>.alignment <= Self.alignment else { return forget() }
        place.initializeMemory(as: Value.self, to: value)
        type = ObjectIdentifier(Value.self)
    }

    mutating func forget() { type = nil }
}
