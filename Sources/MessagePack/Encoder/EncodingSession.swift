/// What the nodes of one call to the encoder share. When the call is over, another one may use it.
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

    let encoder: MessagePackEncoder
    let limits: MessagePackLimits
    private let nodes = Cell(NodePool<EncodingNode>())
    private let root: EncodingNode.Slot
    private let forms = Cell(TypeTable<Form>())
    private let lastSeen = Cell(LastSeen())
    /// What the last value became, if it came at least twice.
    private let last = Cell<[UInt8]?>(nil)
    /// The order of sorted elements, for as long as they are written.
    let order = Cell<[Range<Int>]>([])

    /// Whether keyed containers are references, which is the condition for keeping them.
    private static let areContainersReferences = {
        let session = EncodingSession(MessagePackEncoder())
        let place = EncodingNode.Place(session, session.root, isKept: true)
        return withExtendedLifetime(session) { isReference(KeyedEncodingContainer(KeyedEncoding<PathKey>(place: place))) }
    }()

    init(_ encoder: MessagePackEncoder) {
        self.encoder = encoder
        limits = encoder.limits
        root = nodes.value.take { EncodingNode(encoder) }
    }

    var isReusable: Bool { nodes.value.areReusable }

    /// Appends one encoded value, or nothing if it throws.
    func encode<T: Encodable>(_ value: T, into writer: inout MessagePackWriter) throws {
        swap(&root.pointee.body, &writer)
        defer { swap(&root.pointee.body, &writer) }
        let start = root.pointee.body.count
        do {
            try append(value, to: root, at: .same)
            let count = root.pointee.body.count - start
            guard count <= limits.maximumBytes else { throw tooLarge(count) }
        } catch {
            root.pointee.body.storage.removeSubrange(start...)
            throw error
        }
    }

    /// Appends one encoded value, where all are of one type, or what the last one became if it is the same and nothing but bits.
    func encodeOrRepeat<T: Encodable>(_ value: T, into writer: inout MessagePackWriter) throws {
        guard _isPOD(T.self) else { return try encode(value, into: &writer) }
        let isRepeated = withUnsafeBytes(of: value) { lastSeen.value.isRepeated($0) }
        if isRepeated, let bytes = last.value { return writer.writeRaw(bytes) }
        let start = writer.count
        do {
            try encode(value, into: &writer)
        } catch {
            lastSeen.value.forget()
            throw error
        }
        if isRepeated { last.value = Array(writer.storage[start...]) } else if last.value != nil { last.value = nil }
    }

    private func form(of type: any Any.Type) -> Form {
        forms.value.finding(about: type) {
            if let packable = type as? any MessagePackable.Type { return .packable(packable) }
            if let dictionary = type as? any EncodableDictionary.Type { return .dictionary(dictionary) }
            if encoder.isCanonical, type is any UnorderedElements.Type { return .set }
            return .plain
        }
    }

    // MARK: Nodes

    private func node(below parent: EncodingNode.Slot, at step: PathStep) -> EncodingNode.Slot {
        let node = nodes.value.take { EncodingNode(encoder) }
        node.pointee.begin(below: parent, at: step)
        return node
    }

    /// Begins a node whose bytes come after those appended so far, however late it is filled.
    func appendChild(to parent: EncodingNode.Slot, at step: PathStep) -> EncodingNode.Slot {
        let node = node(below: parent, at: step)
        if parent.pointee.loans.isActive {
            parent.pointee.children.append(.init(offset: parent.pointee.body.count, count: parent.pointee.count, node: node))
        } else {
            // Its bytes come nowhere, since the parent is written: it only belongs to who asks for it.
            node.pointee.loans.isActive = false
            node.pointee.loans.isKept = true
        }
        return node
    }

    /// Begins the next pair of a map, whose value a node of its own collects.
    func appendChild(to parent: EncodingNode.Slot, at name: String, _ keyType: any CodingKey.Type) -> EncodingNode.Slot {
        let start = parent.pointee.body.count
        parent.pointee.beginPair(name)
        return appendChild(to: parent, at: .key(keyType, at: start))
    }

    /// Takes back a node and what it has handed out, which the value may still have.
    private func recycle(_ node: EncodingNode.Slot) {
        node.pointee.loans.isActive = false
        if !node.pointee.children.isEmpty { recycleChildren(of: node) }
        nodes.value.giveBack(node)
    }

    private func recycleChildren(of node: EncodingNode.Slot) {
        while let child = node.pointee.children.popLast() { recycle(child.node) }
    }

    func place(of node: EncodingNode.Slot) -> EncodingNode.Place { NodePool.place(of: node, in: self) }

    func keyedContainer<Key: CodingKey>(_ type: Key.Type, _ node: EncodingNode.Slot) -> KeyedEncodingContainer<Key> {
        nodes.value.container(for: type, of: node) { newContainer(type, node) }
    }

    @inline(never)
    private func newContainer<Key: CodingKey>(_ type: Key.Type, _ node: EncodingNode.Slot) -> KeyedEncodingContainer<Key> {
        nodes.value.newContainer(for: type, of: node, in: self, areReferences: Self.areContainersReferences) {
            KeyedEncodingContainer(KeyedEncoding<Key>(place: $0))
        }
    }

    // MARK: Values

    func appendPair<Key: Encodable, Value: Encodable>(_ key: Key, _ value: Value, to node: EncodingNode.Slot) throws {
        let start = node.pointee.body.count
        node.pointee.beginElement()
        if !node.pointee.appendScalar(key) { try appendElement(key, to: node, from: start, at: .same) }
        node.pointee.noteKey(from: start)
        if !node.pointee.appendScalar(value) { try appendElement(value, to: node, from: start, at: .entry(start)) }
    }

    /// Appends a value that is no scalar as what an element consists of, or takes the element back if it throws: who wanted to encode it
    /// may catch the error and go on.
    func appendElement<T: Encodable>(_ value: T, to node: EncodingNode.Slot, from start: Int, at step: PathStep) throws {
        do {
            try appendComposite(value, to: node, at: step)
        } catch {
            node.pointee.removeElement(from: start)
            throw error
        }
    }

    /// Appends a value in the form its type has here, or else in the one it asks for.
    func append<T: Encodable>(_ value: T, to node: EncodingNode.Slot, at step: PathStep) throws {
        if !node.pointee.appendScalar(value) { try appendComposite(value, to: node, at: step) }
    }

    @inline(__always)
    private func appendComposite<T: Encodable>(_ value: T, to node: EncodingNode.Slot, at step: PathStep) throws {
        // By the type of the value, which for an object may be a subclass.
        let form = form(of: Swift.type(of: value))
        if case .packable(let type) = form { return write(value, as: type, to: node) }

        let child = self.node(below: node, at: step)
        defer { recycle(child) }
        guard child.pointee.level <= limits.maximumLevel else { throw tooDeep(child) }
        switch form {
        case .plain, .packable:
            try value.encode(to: place(of: child))
        case .dictionary(let type):
            try encodePairs(of: value, as: type, to: child)
        case .set:
            child.pointee.begin(.set)
            try value.encode(to: place(of: child))
        }
        if child.pointee.needsCheck(limits) { try check(child) }
        write(child, to: &node.pointee.body)
    }

    private func write<T, Packable: MessagePackable>(_ value: T, as type: Packable.Type, to node: EncodingNode.Slot) {
        var writer = node.pointee.takeBody()
        writer.writing(floats: encoder.floats) { known(value, as: type).write(to: &$0) }
        swap(&node.pointee.body, &writer)
    }

    private func encodePairs<T, Dictionary: EncodableDictionary>(
        of value: T, as type: Dictionary.Type, to node: EncodingNode.Slot
    ) throws {
        node.pointee.begin(.dictionary)
        try known(value, as: type).encodePairs(to: node, of: self)
    }
}
